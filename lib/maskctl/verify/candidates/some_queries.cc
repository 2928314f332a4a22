#include "maskctl/verify/candidates/some_queries.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "maskctl/attention/arrays/slices.h"
#include "maskctl/attention/calls/axes.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/verify/key_side.h"

namespace maskctl::attention {
namespace {

constexpr Index kMostQueries = 64;

/// The range of `count` queries whose rows of `given` are farthest from those of `declared`.
Range farthest(const Tensor& given, const Tensor& declared, Index axis, Index count) {
  const Index queries = given.extent(axis);
  std::vector<double> apart(as_size(queries), 0);
  Index inner = 1;
  for (Index n = axis + 1; n < given.rank(); ++n) inner *= given.extent(n);
  const auto a = given.as<float>(), b = declared.as<float>();
  for (Index e = 0; e < given.elements(); ++e) {
    const double distance = static_cast<double>(a[as_size(e)]) - b[as_size(e)];
    if (std::isfinite(distance)) apart[as_size(e / inner % queries)] += distance * distance;
  }
  double sum = 0, most = -1;
  Index first = 0;
  for (Index end = 0; end < queries; ++end) {
    sum += apart[as_size(end)];
    if (end >= count) sum -= apart[as_size(end - count)];
    if (end + 1 >= count && sum > most) most = sum, first = end + 1 - count;
  }
  return {first, first + count};
}

}  // namespace

std::optional<SomeQueries> SomeQueries::of(const CallVariants& call, const NamedResults& declared,
                                           const NamedResults& given, Index most) {
  constexpr std::array<std::string_view, 5> kKnown{"query", "key", "value", "bias", "softmax_aux"};
  const NamedArguments& whole = call.arguments();
  const bool known = std::ranges::all_of(whole.arrays, [&](const auto& array) {
    return std::ranges::find(kKnown, array.first) != kKnown.end();
  });
  const auto out = given.find("out");
  if (!known || !call.mask() || call.gradients() || out == given.end()) return {};
  if (out->second.rank() != 4 || !is_floating(out->second.dtype())) return {};
  if (!whole.arrays.contains("query") || !whole.arrays.contains("key")) return {};
  const ProbeShape shape = shape_of_call(call.operation(), whole);
  const Index of_a_query = std::max<Index>(shape.batch * shape.heads * shape.keys, 1);
  const Index count =
      std::min({shape.queries, kMostQueries, std::max<Index>(most / of_a_query, 1)});
  const Index axis = call.operation().heads_first() ? 2 : 1;
  SomeQueries some;
  const Tensor all = astype(out->second, DType::kFloat32);
  const Range queries = farthest(all, declared.at("out"), axis, count);
  some.given_ = slice_of(all, axis, queries);
  some.declared_ = slice_of(declared.at("out"), axis, queries);
  some.arguments_ = whole;
  some.arguments_.mask = whole.mask->map([&](const PlanePtr& plane) {
    return plane->sliced(queries, {0, plane->keys()});
  });
  for (auto& [name, array] : some.arguments_.arrays) {
    const Field* field = call.operation().find(name, true);
    const auto axes = axes_of_rank(field->axes, array.shape().size());
    if (!axes) return {};
    const auto at = std::ranges::find(*axes, "Tq", &Axis::name);
    if (at == axes->end()) continue;
    const Index number = at - axes->begin();
    if (array.extent(number) != 1) array = slice_of(array, number, queries);
  }
  return some;
}

double SomeQueries::distance(const Tensor& other) const {
  double sum = 0;
  const auto a = given_.as<float>(), b = other.as<float>();
  for (std::size_t e = 0; e < a.size(); ++e) {
    const double apart = static_cast<double>(a[e]) - b[e];
    if (std::isfinite(apart)) sum += apart * apart;
  }
  return sum;
}

double SomeQueries::distance_in_part(const Tensor& other) const {
  double sum = 0;
  const auto a = given_.as<float>(), d = declared_.as<float>(), x = other.as<float>();
  const std::size_t length = as_size(given_.shape().back());
  for (std::size_t from = 0; from < a.size(); from += length) {
    double before = 0, after = 0;
    for (std::size_t e = from; e < from + length; ++e) {
      const double of_declared = static_cast<double>(a[e]) - d[e];
      const double of_other = static_cast<double>(a[e]) - x[e];
      if (std::isfinite(of_declared)) before += of_declared * of_declared;
      if (std::isfinite(of_other)) after += of_other * of_other;
    }
    sum += std::min(before, after);
  }
  return sum;
}

}  // namespace maskctl::attention
