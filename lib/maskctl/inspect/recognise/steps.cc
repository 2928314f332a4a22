#include "maskctl/inspect/recognise/steps.h"

#include <algorithm>
#include <cstdlib>

#include "maskctl/mask/steps/block.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/global.h"
#include "maskctl/mask/steps/pad.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/tokens.h"
#include "maskctl/mask/steps/window.h"

namespace maskctl::recognition {
namespace {

NamedArray ids_array(const std::vector<ClassRun>& runs, Index size, std::int32_t first,
                     std::int32_t none) {
  Tensor tensor = Tensor::unwritten(DType::kInt32, {size});
  write_ids(runs, first, none, tensor.as<std::int32_t>());
  return {std::move(tensor), ""};
}
NamedArray array_of(Index value) {
  Tensor tensor(DType::kInt64, {1});
  tensor.as<std::int64_t>().front() = value;
  return {std::move(tensor), ""};
}

/// The alignment for which `diagonal` (key - query) has the smaller offset; sets `offset`.
Align align_for(const Extent& extent, Index diagonal, Index& offset) {
  const Index shift = extent.keys - extent.queries;
  const bool bottom = std::abs(diagonal - shift) < std::abs(diagonal);
  offset = bottom ? diagonal - shift : diagonal;
  if (extent.square()) return Align::kUnset;
  return bottom ? Align::kBottomRight : Align::kTopLeft;
}

Step types(const Classes& classes, const Extent& extent) {
  step::Tokens rule;
  rule.q = ids_array(classes.q, extent.queries, 1, 0);
  rule.shared = classes.shared;
  if (!classes.shared) rule.kv = ids_array(classes.k, extent.keys, 1, 0);
  return {std::move(rule)};
}

Step block(const BlockGrid& grid) {
  step::Block rule;
  rule.map.array = Tensor(DType::kBool, {grid.rows, grid.columns});
  std::copy(grid.map.begin(), grid.map.end(), rule.map.array.as<std::uint8_t>().begin());
  rule.q_size = grid.q_size;
  rule.k_size = grid.k_size;
  return {std::move(rule)};
}

}  // namespace

Step causal(const Extent& extent, Index high) {
  Index offset = 0;
  step::Causal rule;
  rule.align = align_for(extent, high, offset);
  if (offset != 0) rule.offsets = array_of(offset);
  return {std::move(rule)};
}

Step window(const Extent& extent, std::optional<Index> low, std::optional<Index> high) {
  using Spelling = step::Window::Spelling;
  const Index shift = extent.keys - extent.queries;
  step::Window rule;
  Index centre = 0;
  const auto inside = [&](Index d) { return (!low || *low <= d) && (!high || d <= *high); };
  if (inside(0) && !(high && *high == shift)) {
    rule.align = extent.square() ? Align::kUnset : Align::kTopLeft;
  } else if (inside(shift)) {
    rule.align = extent.square() ? Align::kUnset : Align::kBottomRight;
    centre = shift;
  } else {
    centre = high ? *high : *low;
    rule.align = align_for(extent, centre, rule.offset);
  }
  if (low) rule.left = centre - *low;
  if (high) rule.right = *high - centre;
  if (rule.left && rule.right == Index{0}) {
    rule.spelling = Spelling::kKeys;
  } else if (rule.left && rule.left == rule.right) {
    rule.spelling = Spelling::kBoth;
  }
  return {std::move(rule)};
}

Step pad(Index length, bool left, bool both) {
  step::Pad rule;
  rule.valid = array_of(length);
  rule.is_lengths = true;
  rule.left = left;
  rule.both = both;
  return {std::move(rule)};
}

std::optional<Chain> as_padding(const Step& step, Index keys) {
  if (!keeps_diagonals(step)) return std::nullopt;
  const auto kept = step.row().diagonal(step, {1, 1, 1, keys});
  if (!kept) return std::nullopt;
  const Index first = std::max<Index>(kept->low, 0), last = std::min(kept->high, keys - 1);
  if (first > last) return std::nullopt;
  Chain out;
  if (first > 0) out.push_back(pad(keys - first, true, false));
  if (last + 1 < keys) out.push_back(pad(last + 1, false, false));
  return out;
}

Step document(const Classes& classes, const Extent& extent) {
  step::Document rule;
  rule.q = ids_array(classes.q, extent.queries, 0, -1);
  rule.shared = classes.shared;
  if (!classes.shared) rule.kv = ids_array(classes.k, extent.keys, 0, -1);
  return {std::move(rule)};
}

Step literal(const Move& move, const Extent& extent) {
  struct Visitor {
    const Extent& extent;
    Step operator()(const Diagonals& span) const { return window(extent, span.low, span.high); }
    Step operator()(const Classes& classes) const { return document(classes, extent); }
    Step operator()(const BlockGrid& grid) const { return block(grid); }
    Step operator()(const FirstKeys& first) const { return {step::Prefix{first.n}}; }
    Step operator()(const OpenTokens& open) const { return {step::Global{open.tokens}}; }
    Step operator()(const Types& found) const { return types(found.classes, extent); }
  };
  return std::visit(Visitor{extent}, move.rule);
}

bool has_arrays(const Chain& chain) {
  return std::any_of(chain.begin(), chain.end(), [](const Step& step) {
    return step.is<step::Document>() || step.is<step::Tokens>() || step.is<step::Block>();
  });
}

}  // namespace maskctl::recognition
