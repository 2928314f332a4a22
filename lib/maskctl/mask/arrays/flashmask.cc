#include "maskctl/mask/arrays/flashmask.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/equal/shared_planes.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/rows.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

/// The closed queries of a key: from `low.begin` on, below the diagonal as a rule, and others
/// before them.
struct ClosedQueries {
  Range low, up;
};

void check_limits_shape(const Tensor& limits, bool causal, Index queries) {
  const auto& shape = limits.shape();
  const Index columns = shape.size() == 4 ? shape[3] : 0;
  if (columns != 2 && columns != (causal ? 1 : 4)) {
    throw Error(Errc::kShape,
                fmt::format("the shape {} is not limits of rows; expected (B, H, K, {} or 2){}",
                            shape_text(shape), causal ? 1 : 4,
                            causal ? ", as they are with causal=True" : ""));
  }
  if (!causal || shape[2] == queries) return;
  throw Error(Errc::kShape,
              fmt::format("{} queries and {} keys; expected as many, for which causal limits are "
                          "defined",
                          queries, shape[2]));
}

ClosedQueries closed_by(std::span<const std::int32_t> limits, bool causal, Index key,
                        Index queries) {
  const auto at = [&](std::size_t i) { return std::min<Index>(limits[i], queries); };
  const bool pairs = limits.size() == 4 || (causal && limits.size() == 2);
  const Range low{at(0), pairs ? at(1) : queries};
  if (causal) return {low, {0, std::min(key, queries)}};
  return {low, limits.size() == 4 ? Range{at(2), at(3)} : Range{0, at(1)}};
}

/// Appends the queries outside both ranges.
void add_open(const ClosedQueries& closed, Index queries, std::vector<Run>& runs) {
  std::array<Range, 2> order{closed.up, closed.low};
  if (order[1].begin < order[0].begin) std::swap(order[0], order[1]);
  Index next = 0;
  const auto add_until = [&](Index end) {
    if (next < end)
      runs.push_back({static_cast<std::int32_t>(next), static_cast<std::int32_t>(end)});
  };
  for (const Range& range : order) {
    if (range.end <= range.begin) continue;
    add_until(range.begin);
    next = std::max(next, range.end);
  }
  add_until(queries);
}

/// The ranges of queries that do not see a key, before which `from` queries are closed anyway.
std::vector<Range> closed_ranges(std::span<const Run> open, Index from, Index queries) {
  std::vector<Range> out;
  Index next = from;
  for (const Run& run : open) {
    if (run.begin > next) out.push_back({next, run.begin});
    next = std::max<Index>(next, run.end);
  }
  if (next < queries) out.push_back({next, queries});
  return out;
}

/// The longest of these ranges, as many as the limits hold.
ClosedQueries longest(std::vector<Range> ranges, bool causal, Index queries) {
  ClosedQueries out{{queries, queries}, {0, 0}};
  std::ranges::stable_sort(ranges, std::ranges::greater{}, &Range::size);
  ranges.resize(std::min<std::size_t>(ranges.size(), causal ? 1 : 2));
  std::ranges::sort(ranges, {}, &Range::begin);
  if (ranges.empty()) return out;
  const bool before =
      !causal && (ranges.size() == 2 || (ranges[0].begin == 0 && ranges[0].end < queries));
  if (before) out.up = ranges.front();
  if (!before || ranges.size() == 2) out.low = ranges.back();
  return out;
}

std::vector<ClosedQueries> closed_in(const Plane& plane, bool causal) {
  std::vector<ClosedQueries> out;
  out.reserve(as_size(plane.keys()));
  std::vector<Run> scratch;
  const PlanePtr by_key = plane.transposed();
  by_key->rows({0, plane.keys()}, [&](Range equal, const Keys& open) {
    const std::span<const Run> runs = as_runs(open, scratch);
    for (Index key = equal.begin; key < equal.end; ++key) {
      out.push_back(
          longest(closed_ranges(runs, causal ? key : 0, plane.queries()), causal, plane.queries()));
    }
  });
  return out;
}

}  // namespace

Mask mask_from_flashmask(const Tensor& limits, bool causal, Index queries, Index max_bytes) {
  check_limits_shape(limits, causal, queries);
  const auto& shape = limits.shape();
  const Index planes = shape[0] * shape[1], keys = shape[2], columns = shape[3];
  check_empty_extents(std::span(shape).first(3), limits.elements());
  const Int32Elements all(limits, "startend_row_indices");
  const auto below = std::ranges::find_if(all.values(), [](auto limit) { return limit < 0; });
  if (below != all.values().end()) {
    const Index at = below - all.values().begin();
    throw Error(Errc::kFormat,
                fmt::format("batch {}, head {}, key {}: the limit {}; expected 0 or more",
                            at / columns / keys / shape[1], at / columns / keys % shape[1],
                            at / columns % keys, *below));
  }
  const DistinctRows distinct = distinct_rows(std::as_bytes(all.values()), planes);
  std::vector<PlanePtr> made;
  for (const Index plane : distinct.first) {
    const auto fill = [&](Index key, std::vector<Run>& runs) {
      const auto of_key =
          all.part({(plane * keys + key) * columns, (plane * keys + key + 1) * columns});
      add_open(closed_by(of_key, causal, key, queries), queries, runs);
    };
    made.push_back(filled_lists(keys, queries, 1, {max_bytes, keys}, fill)->transposed());
  }
  return Mask::make(shape[0], shape[1], queries, keys, [&](Index b, Index h) {
    return made[distinct.which[as_size(b * shape[1] + h)]];
  });
}

Nearest nearest_flashmask(const Mask& mask, bool causal, Index max_bytes) {
  const Index queries = mask.queries(), keys = mask.keys(), planes = mask.batch() * mask.heads();
  std::vector<std::vector<ClosedQueries>> closed;
  for (const PlanePtr& plane : mask.distinct()) closed.push_back(closed_in(*plane, causal));
  bool ends = false;  // whether ranges end before the last query, or start after the first
  for (const auto& of_plane : closed)
    for (const ClosedQueries& one : of_plane)
      ends |= (one.low.size() > 0 && one.low.end < queries) || one.up.begin > 0;
  const Index columns = causal ? (ends ? 2 : 1) : (ends ? 4 : 2);
  Nearest out;
  const auto elements = checked_product(std::array{planes, keys, columns});
  if (!elements || *elements > max_bytes / 4) {
    throw Error(Errc::kLimit,
                fmt::format("limits of {} keys in {} planes take more than {} bytes", keys, planes,
                            max_bytes),
                {{Remedy::kRaiseMemoryLimit}});
  }
  out.q = Tensor::unwritten(DType::kInt32, {mask.batch(), mask.heads(), keys, columns});
  auto next = out.q.as<std::int32_t>().begin();
  const auto put = [&](Index value) { *next++ = static_cast<std::int32_t>(value); };
  for (Index p = 0; p < planes; ++p) {
    for (const ClosedQueries& one : closed[mask.index_of(p / mask.heads(), p % mask.heads())]) {
      put(one.low.begin);
      if (ends) put(one.low.end);
      if (!causal && ends) put(one.up.begin);
      if (!causal) put(one.up.end);
    }
  }
  out.kv = out.q;
  out.mask = mask_from_flashmask(out.q, causal, queries, max_bytes);
  out.changed = differing_cells(mask, out.mask);
  return out;
}

}  // namespace maskctl
