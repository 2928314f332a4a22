#include "maskctl/inspect/why/why.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/combine.h"
#include "maskctl/mask/steps/random.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/scoped.h"
#include "maskctl/mask/steps/within.h"

namespace maskctl {
namespace {

/// A mask of the same extents without open cells, which carries shapes through apply() at no cost.
Mask hollow(const Mask& mask) {
  const PlanePtr plane = empty_plane(mask.queries(), mask.keys());
  return Mask::make(mask.batch(), mask.heads(), mask.queries(), mask.keys(),
                    [&](Index, Index) { return plane; });
}

/// A step with the same checks and shapes as the given one, but one that reads no mask and draws
/// nothing.
Step hollow(const Step& step) {
  if (const auto* combine = step.get_if<step::Combine>()) {
    return {step::Combine{combine->op, hollow(combine->mask), combine->text}};
  }
  if (const auto* random = step.get_if<step::Random>()) {
    step::Random out = *random;
    if (out.seed <= 0xffffffffU) out.stream = step::Random::Stream::kJax;
    out.max_bytes = 0;  // a seed outside numpy's range is still refused
    return {out};
  }
  if (const auto* scoped = step.get_if<step::Scoped>()) {
    step::Scoped out{scoped->axis, scoped->members, {}};
    for (const Step& inner : scoped->chain) out.chain.push_back(hollow(inner));
    return {std::move(out)};
  }
  if (const auto* within = step.get_if<step::Within>()) {
    step::Within out = *within;
    for (Step& inner : out.chain) inner = hollow(inner);
    return {std::move(out)};
  }
  return step;
}

/// The shapes before each step, and after the last.
std::vector<Mask> hollow_masks(const Mask& source, const Chain& chain) {
  std::vector<Mask> out = {hollow(source)};
  // Emptied again after each step, because a lazy node would grow with each.
  for (const Step& step : chain) out.push_back(hollow(apply(out.back(), hollow(step))));
  return out;
}

void require(Index i, Index extent, const char* axis, const Mask& mask) {
  if (i >= 0 && i < extent) return;
  throw Error(
      Errc::kInvalidArgument,
      fmt::format("{} {} is outside of the mask {}: expected {}", axis, i, shape_text(mask),
                  extent == 0 ? "a mask that is not empty" : fmt::format("0 to {}", extent - 1)));
}

void require_inside(const Mask& mask, const Cell& cell) {
  require(cell.batch, mask.batch(), "batch", mask);
  require(cell.head, mask.heads(), "head", mask);
  require(cell.query, mask.queries(), "query", mask);
  require(cell.key, mask.keys(), "key", mask);
}

/// The index of i among the members, counted as in apply(): each member once, in the given order.
std::optional<Index> place_of(const std::vector<Range>& members, Index i) {
  std::vector<Index> seen;
  for (const Range& range : members) {
    for (Index member = range.begin; member < range.end; ++member) {
      if (member == i) return static_cast<Index>(seen.size());
      if (std::ranges::find(seen, member) == seen.end()) seen.push_back(member);
    }
  }
  return std::nullopt;
}

Index count_members(const std::vector<Range>& members) {
  std::vector<Index> all;
  for (const Range& range : members) {
    for (Index member = range.begin; member < range.end; ++member) all.push_back(member);
  }
  std::ranges::sort(all);
  return std::ranges::unique(all).begin() - all.begin();
}

/// ", now query 5, key 3", after a step that re-bases indices.
std::string moved_text(const Cell& from, const Cell& to) {
  if (from.query == to.query && from.key == to.key) return "";
  return fmt::format(", now query {}, key {}", to.query, to.key);
}

class Walk {
 public:
  explicit Walk(const StepName& name) : name_(name) {}

  /// Follows the pair through the chain; returns whether it ends open.
  bool follow(const Mask& source, const Chain& chain, const Cell& end, int depth,
              const std::function<bool(const Cell&)>& open_at);

  std::vector<WhyStep> steps;
  Cell start;

 private:
  bool follow_scope(const step::Scoped& scope, const Mask& mask, std::size_t at, int depth);
  bool follow_document(const step::Within& within, const Mask& mask, std::size_t at, int depth);

  const StepName& name_;
};

bool Walk::follow(const Mask& source, const Chain& chain, const Cell& end, int depth,
                  const std::function<bool(const Cell&)>& open_at) {
  const std::vector<Mask> masks = hollow_masks(source, chain);
  require_inside(masks.back(), end);
  std::vector<Cell> cells(chain.size() + 1, end);
  for (std::size_t i = chain.size(); i-- > 0;) {
    cells[i] = cell_before_step(chain[i], shape_of(masks[i]), cells[i + 1]);
  }
  if (depth == 0) start = cells.front();
  bool open = open_at(cells.front());
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const MaskShape shape = shape_of(masks[i]);
    const Verdict verdict = judge(chain[i], shape, asked_cell(chain[i], shape, cells[i + 1]), open);
    const std::size_t at = steps.size();
    steps.push_back({name_(chain[i]), verdict.reason + moved_text(cells[i], cells[i + 1]), open,
                     verdict.after, cells[i], cells[i + 1], depth});
    open = verdict.after;
    if (const auto* scope = chain[i].get_if<step::Scoped>()) {
      open = follow_scope(*scope, masks[i], at, depth);
    } else if (const auto* within = chain[i].get_if<step::Within>()) {
      open = follow_document(*within, masks[i], at, depth);
    }
  }
  return open;
}

bool Walk::follow_scope(const step::Scoped& scope, const Mask& mask, std::size_t at, int depth) {
  const bool on_heads = scope.axis == step::Scoped::Axis::kHeads;
  const Cell cell = steps[at].from;
  const Index member = on_heads ? cell.head : cell.batch;
  const auto place = place_of(scope.members, member);
  const bool before = steps[at].before;
  steps[at].reason = fmt::format("{} {} is {} of them", on_heads ? "head" : "batch", member,
                                 place ? "one" : "none");
  if (!place) return before;
  const Index members = count_members(scope.members);
  const PlanePtr plane = mask.plane(0, 0);
  const Mask part = Mask::make(on_heads ? mask.batch() : members, on_heads ? members : mask.heads(),
                               mask.queries(), mask.keys(), [&](Index, Index) { return plane; });
  Cell inner = cell;
  (on_heads ? inner.head : inner.batch) = *place;
  const bool after =
      follow(part, scope.chain, inner, depth + 1, [&](const Cell&) { return before; });
  steps[at].after = after;
  return after;
}

bool Walk::follow_document(const step::Within& within, const Mask& mask, std::size_t at,
                           int depth) {
  const Cell cell = steps[at].from;
  const bool before = steps[at].before;
  const auto documents = document_ranges(within, mask, cell.batch);
  const auto own = std::ranges::find_if(
      documents, [&](const DocumentRanges& one) { return one.q.contains(cell.query); });
  steps[at].after = false;
  if (own == documents.end()) {
    steps[at].reason = fmt::format("query {} is in no document", cell.query);
    return false;
  }
  steps[at].reason = fmt::format("query {} is in document {}, keys [{}, {}): key {} is {}",
                                 cell.query, own - documents.begin(), own->k.begin, own->k.end,
                                 cell.key, own->k.contains(cell.key) ? "one of them" : "none");
  if (!own->k.contains(cell.key)) return false;
  const bool shared = shares_documents(within);
  const Range batches = shared ? Range{0, mask.batch()} : Range{cell.batch, cell.batch + 1};
  const Mask part = sliced(mask, batches, {0, mask.heads()}, own->q, own->k);
  const Cell inner{shared ? cell.batch : 0, cell.head, cell.query - own->q.begin,
                   cell.key - own->k.begin};
  const bool after =
      follow(part, within.chain, inner, depth + 1, [&](const Cell&) { return before; });
  steps[at].after = after;
  return after;
}

}  // namespace

bool is_open(const Mask& mask, const Cell& cell) {
  require_inside(mask, cell);
  return mask.plane(cell.batch, cell.head)
             ->count({cell.query, cell.query + 1}, {cell.key, cell.key + 1}) > 0;
}

std::optional<std::size_t> deciding_step(const std::vector<WhyStep>& steps) {
  std::optional<std::size_t> out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].before != steps[i].after)
      out = i;  // for a scope, the step inside it, which comes later
  }
  return out;
}

Why why(const Mask& source, const Chain& chain, const Cell& cell, const StepName& name) {
  Walk walk(name);
  Why out;
  out.cell = cell;
  out.open = walk.follow(source, chain, cell, 0, [&](const Cell& start) {
    out.source_open = is_open(source, start);
    return out.source_open;
  });
  out.source = walk.start;
  out.steps = std::move(walk.steps);
  out.decided_by = deciding_step(out.steps);
  return out;
}

}  // namespace maskctl
