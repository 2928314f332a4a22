#include "maskctl/inspect/check/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "maskctl/inspect/check/exceptions.h"
#include "maskctl/inspect/recognise/scopes.h"
#include "maskctl/inspect/why/why.h"
#include "maskctl/mask/steps/at.h"
#include "maskctl/mask/steps/guess.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/tree.h"

namespace maskctl {
namespace {

/// A step of such a rule, and the cell as it sees it.
struct OfFamily {
  const Step* step = nullptr;
  MaskShape shape;
  Cell cell;
};

/// The last step of such a rule that is applied to a cell, also inside scopes.
template <typename IsOne>
std::optional<OfFamily> last_step(const Chain& chain, const MaskShape& shape, const Cell& cell,
                                  const IsOne& is_one) {
  std::optional<OfFamily> out;
  for (const Step& step : chain) {
    const RuleInfo& row = step.row();
    if (is_one(step)) out = {&step, shape, cell};
    const auto part = row.scope ? row.inside(step, shape, cell) : std::nullopt;
    if (!part) continue;
    if (auto its = last_step(*chain_of(step), part->shape, part->cell, is_one)) out = its;
  }
  return out;
}
std::optional<OfFamily> family_of(const Chain& chain, const MaskShape& shape, const Cell& cell) {
  return last_step(chain, shape, cell, [](const Step& step) {
    return step.row().guesses != nullptr || step.is<step::At>();
  });
}

/// Whether all cells that a chain leaves are open, and hidden from their queries by its rules.
bool are_hidden(const Mask& mask, const Chain& chain, const Residue& residue) {
  const auto hides = [](const Step& step) { return step.row().hides != nullptr; };
  const Cell& any = residue.first.front();
  if (!last_step(chain, shape_of(mask), any, hides)) return false;
  const Mask leaked = zip(Op::kSub, mask, maskctl::apply(full_like(mask), chain));
  if (leaked.count() != residue.cells) return false;
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) {
      const PlanePtr& cells = leaked.plane(b, h);
      if (cells->count() == 0) continue;
      const auto rule = last_step(chain, shape_of(mask), {b, h, 0, 0}, hides);
      if (!rule) return false;
      const Mask hidden = rule->step->row().hides(*rule->step, rule->shape);
      if (combine(Op::kSub, cells, hidden.plane(0, 0))->count() > 0) return false;
    }
  }
  return true;
}

/// The chain of a rule that makes a plane but for cells that it hides; empty if there is none.
Chain with_hidden(const PlanePtr& plane) {
  const MaskShape shape{1, 1, plane->queries(), plane->keys()};
  const SampledRows rows(plane);
  for (const StepInfo& info : step_infos()) {
    const RuleInfo& rule = info.make().row();
    if (!rule.hides || !rule.guesses || rule.names.front().name != info.name) continue;
    for (Chain& chain : rule.guesses(rows)) {
      const PlanePtr made =
          maskctl::apply(full_mask(1, 1, shape.queries, shape.keys), chain).plane(0, 0);
      const PlanePtr off = combine(Op::kXor, plane, made),
                     hidden = rule.hides(chain.front(), shape).plane(0, 0);
      if (combine(Op::kSub, off, hidden)->count() == 0) return std::move(chain);
    }
  }
  return {};
}

/// The stretches from the root to that of a token, as numbers in lens=: "0-2"; "...-4-7" where
/// there are many. Empty for a token past the last stretch.
std::string branch_text(const step::Tree& tree, Index token) {
  constexpr int kShown = 6;
  std::size_t at = 0;
  for (Index end = 0; at < tree.lens.size(); ++at) {
    end += tree.lens[at];
    if (token < end) break;
  }
  if (at == tree.lens.size()) return {};
  std::string out = std::to_string(at);
  for (int n = 1; as_size(tree.after[at]) != at; ++n) {
    at = as_size(tree.after[at]);
    if (n == kShown) return "...-" + out;
    out = fmt::format("{}-{}", at, out);
  }
  return out;
}

}  // namespace

bool are_off_family(const Mask& mask, const Chain& chain, const Residue& residue) {
  // Of the cells that the rule opens in a plane; more may be another rule of the same kind. The
  // paths of a tree all hang together, so that no other rule makes most of them.
  constexpr Index kMostShare = 12, kFew = 4, kMostOfMany = 64, kMostShareOfTree = 6;
  if (residue.cells == 0) return false;
  if (are_hidden(mask, chain, residue)) return true;
  std::optional<Mask> off;
  const auto off_in_plane_of = [&](const Cell& cell) {
    if (mask.batch() * mask.heads() == 1) return residue.cells;
    if (!off) off = zip(Op::kXor, mask, maskctl::apply(full_like(mask), chain));
    return off->plane(cell.batch, cell.head)->count();
  };
  return std::ranges::all_of(residue.first, [&](const Cell& cell) {
    const auto family = family_of(chain, shape_of(mask), cell);
    const PlanePtr& plane = mask.plane(cell.batch, cell.head);
    if (!family || is_in_group(plane, cell.query, cell.key)) return false;
    const Index cells = off_in_plane_of(cell), open = plane->count();
    if (family->step->is<step::Tree>()) return kMostShareOfTree * cells <= open;
    return kMostShare * cells <= open && cells <= std::max(kFew, open / kMostOfMany);
  });
}

std::optional<Recognised> leaked_by_rules(const Mask& mask) {
  constexpr std::size_t kMostPlanes = 64;
  if (mask.distinct().size() > kMostPlanes) return std::nullopt;
  std::vector<Chain> chains;
  for (const PlanePtr& plane : mask.distinct()) {
    chains.push_back(with_hidden(plane));
    if (chains.back().empty()) return std::nullopt;
  }
  std::vector<std::uint32_t> of;
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) of.push_back(mask.index_of(b, h));
  }
  Recognised out;
  out.chain = recognition::scoped(std::move(chains), of, mask.batch(), mask.heads(),
                                  {mask.queries(), mask.keys()});
  out.residue = residue_of(mask, maskctl::apply(full_like(mask), out.chain));
  return out;
}

std::optional<std::string> off_family_text(const Mask& mask, const Chain& chain, const Cell& cell) {
  const auto family = family_of(chain, shape_of(mask), cell);
  if (!family) return std::nullopt;
  if (const auto* tree = family->step->get_if<step::Tree>(); tree && !tree->lens.empty()) {
    const Index token = cell.query + shift_of(shape_of(mask), tree->align);
    const std::string query = branch_text(*tree, token), key = branch_text(*tree, cell.key);
    if (query.empty() || key.empty()) return std::nullopt;
    return fmt::format("token {} of branch {} {} token {} of branch {}", token, query,
                       is_open(mask, cell) ? "sees" : "does not see", cell.key, key);
  }
  return family->step->row().reason(*family->step, family->shape, family->cell).words;
}

}  // namespace maskctl
