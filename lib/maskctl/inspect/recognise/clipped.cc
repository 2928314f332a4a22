#include "maskctl/inspect/recognise/clipped.h"

#include <algorithm>

#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/row_lists/clipped_classes.h"
#include "maskctl/mask/planes/row_lists/clipped_grid.h"
#include "maskctl/mask/steps/block.h"
#include "maskctl/mask/steps/dilated.h"
#include "maskctl/mask/steps/document.h"

namespace maskctl::recognition {
namespace {

using Ids = std::vector<std::int32_t>;

/// Renumbers ids in the order in which the queries first use them; classes without queries or
/// without keys become -1.
void renumber(ClippedClasses& classes) {
  Ids number(static_cast<std::size_t>(classes.count), -2);
  for (const std::int32_t id : classes.k) {
    if (id >= 0) number[static_cast<std::size_t>(id)] = -1;
  }
  std::int32_t count = 0;
  for (std::int32_t& id : classes.q) {
    if (id < 0) continue;
    std::int32_t& its = number[static_cast<std::size_t>(id)];
    if (its == -1) its = count++;
    id = std::max(its, -1);
  }
  for (std::int32_t& id : classes.k) {
    if (id >= 0) id = std::max(number[static_cast<std::size_t>(id)], -1);
  }
  classes.count = count;
}

/// True when the ids are 0, 1, ..., stride - 1, 0, 1, ...
bool takes_turns(const Ids& ids, std::int32_t stride) {
  std::int32_t turn = 0;
  for (const std::int32_t id : ids) {
    if (id != turn) return false;
    if (++turn == stride) turn = 0;
  }
  return true;
}

NamedArray array_of(const Ids& ids) {
  Tensor tensor(DType::kInt32, {static_cast<Index>(ids.size())});
  std::copy(ids.begin(), ids.end(), tensor.as<std::int32_t>().begin());
  return {std::move(tensor), ""};
}

Step step_of(const ClippedClasses& classes) {
  const std::int32_t stride = classes.count;
  if (stride > 1 && takes_turns(classes.q, stride) && takes_turns(classes.k, stride)) {
    return {step::Dilated{stride}};
  }
  step::Document rule;
  rule.q = array_of(classes.q);
  rule.shared = classes.q == classes.k;
  if (!rule.shared) rule.kv = array_of(classes.k);
  return {rule};
}

Step step_of(const ClippedGrid& grid) {
  step::Block rule;
  rule.map.array = Tensor(DType::kBool, {grid.rows, grid.columns});
  std::ranges::copy(grid.map, rule.map.array.as<std::uint8_t>().begin());
  rule.q_size = grid.q_size;
  rule.k_size = grid.k_size;
  return {rule};
}

}  // namespace

bool is_clipped(const Plane& plane) {
  return has_clipped_classes(plane) || clipped_grid(plane).has_value();
}

std::optional<ClippedSplit> split_clipped(const Plane& plane, bool grids) {
  std::vector<Run> clip;
  std::optional<Step> shared;
  if (auto classes = clipped_classes(plane)) {
    renumber(*classes);
    shared = step_of(*classes);
    clip = std::move(classes->clip);
  } else if (auto grid = grids ? clipped_grid(plane) : std::nullopt) {
    shared = step_of(*grid);
    clip = std::move(grid->clip);
  } else {
    return std::nullopt;
  }
  PlanePtr lines = bounding_lines(clip, plane.keys());
  if (!lines) return std::nullopt;
  return ClippedSplit{std::move(*shared), std::move(lines)};
}

}  // namespace maskctl::recognition
