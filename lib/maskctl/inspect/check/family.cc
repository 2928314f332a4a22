#include "maskctl/inspect/check/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "maskctl/inspect/check/exceptions.h"
#include "maskctl/inspect/why/why.h"
#include "maskctl/mask/steps/at.h"
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

/// The last such step that is applied to a cell, also inside scopes.
std::optional<OfFamily> family_of(const Chain& chain, const MaskShape& shape, const Cell& cell) {
  std::optional<OfFamily> out;
  for (const Step& step : chain) {
    const RuleInfo& row = step.row();
    if (row.guesses || step.is<step::At>()) out = {&step, shape, cell};
    const auto part = row.scope ? row.inside(step, shape, cell) : std::nullopt;
    if (!part) continue;
    if (auto its = family_of(*chain_of(step), part->shape, part->cell)) out = its;
  }
  return out;
}

/// The number of a step's argument.
Index number_of(const Step& step, std::string_view name) {
  const Field* field = find_field(step, name);
  const FieldValue value = field ? field->get(step) : FieldValue{};
  const auto* number = std::get_if<Index>(&value);
  return number ? *number : 0;
}

/// Whether block diffusion makes a plane, but all noised tokens see the clean tokens of their own
/// block, which they are to predict.
bool are_answers(const Mask& mask, const Chain& chain, const Residue& residue) {
  if (chain.size() != 1 || info_of(chain.front()).name != "block-diffusion") return false;
  const Index n = mask.keys() / 2, size = number_of(chain.front(), "size");
  Index all = 0;
  for (Index first = 0; first < n; first += size) {
    all += std::min(size, n - first) * std::min(size, n - first);
  }
  const Index planes = mask.batch() * mask.heads();
  return residue.cells == all * planes && std::ranges::all_of(residue.first, [&](const Cell& cell) {
           return cell.query < n && cell.key >= n && cell.query / size == (cell.key - n) / size;
         });
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
  if (are_answers(mask, chain, residue)) return true;
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
