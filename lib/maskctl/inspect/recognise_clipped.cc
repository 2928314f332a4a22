#include "maskctl/inspect/recognise_clipped.h"

#include <algorithm>

#include "maskctl/inspect/recognise_cells.h"
#include "maskctl/mask/bands.h"
#include "maskctl/mask/clipped_classes.h"

namespace maskctl::recognising {
namespace {

using Ids = std::vector<std::int32_t>;

/// Ids by first appearance among the queries; -1 for classes that have no query or no key.
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

/// Whether the ids are 0, 1, ..., stride - 1, 0, 1, ...
bool takes_turns(const Ids& ids, Index stride) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != static_cast<Index>(i) % stride) return false;
  }
  return true;
}

NamedArray array_of(const Ids& ids) {
  Tensor tensor(DType::kInt32, {static_cast<Index>(ids.size())});
  std::copy(ids.begin(), ids.end(), tensor.as<std::int32_t>().begin());
  return {std::move(tensor), ""};
}

Step step_of(const ClippedClasses& classes) {
  const Index stride = classes.count;
  if (stride > 1 && takes_turns(classes.q, stride) && takes_turns(classes.k, stride)) {
    return {step::Dilated{stride}};
  }
  step::Document rule;
  rule.q = array_of(classes.q);
  rule.shared = classes.q == classes.k;
  if (!rule.shared) rule.kv = array_of(classes.k);
  return {rule};
}

}  // namespace

std::optional<ClippedSplit> split_classes(const Plane& plane) {
  auto classes = clipped_classes(plane);
  if (!classes) return std::nullopt;
  renumber(*classes);
  ClippedSplit out{step_of(*classes), nullptr};
  classes->q.assign(classes->q.size(), 0);
  classes->k.assign(classes->k.size(), 0);
  classes->count = 1;
  out.lines = compacted(plane_of(*classes), 0);
  if (!slabs_of(*out.lines)) return std::nullopt;
  return out;
}

}  // namespace maskctl::recognising
