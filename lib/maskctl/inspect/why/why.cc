#include "maskctl/inspect/why/why.h"

#include <fmt/format.h>

#include "maskctl/base/error.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl {
namespace {

/// A copy of a step with the same checks and shapes that reads no mask and draws no random numbers.
Step hollow(const Step& step) {
  const RuleInfo& rule = step.row();
  Step out = rule.hollow ? rule.hollow(step) : step;
  if (const auto chain = info_of(out).chain) {
    for (Step& inner : *chain(out)) inner = hollow(inner);
  }
  return out;
}

/// The shapes before each step, and after the last one. They are found by applying the steps to
/// masks without open cells, which costs nothing.
std::vector<MaskShape> shapes_along(const MaskShape& source, const Chain& chain) {
  std::vector<MaskShape> out = {source};
  for (const Step& step : chain) {
    out.push_back(shape_of(apply(closed_mask(out.back()), hollow(step))));
  }
  return out;
}

void require(Index i, Index extent, const char* axis, const MaskShape& mask) {
  if (i >= 0 && i < extent) return;
  throw Error(
      Errc::kInvalidArgument,
      fmt::format("{} {} is outside of the mask {}: expected {}", axis, i, shape_text(mask),
                  extent == 0 ? "a mask that is not empty" : fmt::format("0 to {}", extent - 1)));
}

void require_inside(const MaskShape& mask, const Cell& cell) {
  require(cell.batch, mask.batch, "batch", mask);
  require(cell.head, mask.heads, "head", mask);
  require(cell.query, mask.queries, "query", mask);
  require(cell.key, mask.keys, "key", mask);
}

/// The new position after a step that re-bases indices, as in ", now query 5, key 3"; empty if it
/// is the same.
std::string moved_text(const Cell& from, const Cell& to) {
  if (from.query == to.query && from.key == to.key) return "";
  return fmt::format(", now query {}, key {}", to.query, to.key);
}

class Walk {
 public:
  explicit Walk(const StepName& name) : name_(name) {}

  /// Follows the pair through the chain. Returns whether it is open at the end.
  bool follow(const MaskShape& source, const Chain& chain, const Cell& end, int depth,
              const std::function<bool(const Cell&)>& open_at);

  std::vector<WhyStep> steps;
  Cell start;

 private:
  bool follow_inside(const Inside& part, const Chain& chain, std::size_t at, int depth);

  const StepName& name_;
};

bool Walk::follow(const MaskShape& source, const Chain& chain, const Cell& end, int depth,
                  const std::function<bool(const Cell&)>& open_at) {
  const std::vector<MaskShape> shapes = shapes_along(source, chain);
  require_inside(shapes.back(), end);
  std::vector<Cell> cells(chain.size() + 1, end);
  for (std::size_t i = chain.size(); i-- > 0;) {
    cells[i] = cell_before_step(chain[i], shapes[i], cells[i + 1]);
  }
  if (depth == 0) start = cells.front();
  bool open = open_at(cells.front());
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Step& step = chain[i];
    const Verdict verdict =
        verdict_of(step, shapes[i], asked_cell(step, shapes[i], cells[i + 1]), open);
    const std::size_t at = steps.size();
    steps.push_back({name_(step), verdict.reason + moved_text(cells[i], cells[i + 1]), open,
                     verdict.after, cells[i], cells[i + 1], depth});
    open = verdict.after;
    const auto part =
        step.row().inside ? step.row().inside(step, shapes[i], cells[i]) : std::nullopt;
    if (part) open = follow_inside(*part, part->chain.value_or(*chain_of(step)), at, depth);
  }
  return open;
}

bool Walk::follow_inside(const Inside& part, const Chain& chain, std::size_t at, int depth) {
  const bool before = steps[at].before;
  const bool after =
      follow(part.shape, chain, part.cell, depth + 1, [before](const Cell&) { return before; });
  steps[at].after = after;
  return after;
}

}  // namespace

bool is_open(const Mask& mask, const Cell& cell) {
  require_inside(shape_of(mask), cell);
  return mask.plane(cell.batch, cell.head)
             ->count({cell.query, cell.query + 1}, {cell.key, cell.key + 1}) > 0;
}

std::optional<std::size_t> deciding_step(const std::vector<WhyStep>& steps) {
  std::optional<std::size_t> out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].before != steps[i].after)
      // Steps inside heads: or batch: are listed after it, so that the inner step is found.
      out = i;
  }
  return out;
}

Why why(const Mask& source, const Chain& chain, const Cell& cell, const StepName& name) {
  Walk walk(name);
  Why out;
  out.cell = cell;
  out.open = walk.follow(shape_of(source), chain, cell, 0, [&](const Cell& start) {
    out.source_open = is_open(source, start);
    return out.source_open;
  });
  out.source = walk.start;
  out.steps = std::move(walk.steps);
  out.decided_by = deciding_step(out.steps);
  return out;
}

}  // namespace maskctl
