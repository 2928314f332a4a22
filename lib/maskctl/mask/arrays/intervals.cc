#include "maskctl/mask/arrays/intervals.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/rows.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

void check_ends_shape(const Tensor& ends, Index batch, Index queries) {
  const auto& shape = ends.shape();
  const auto rows = checked_mul(batch, queries);
  if (shape.size() == 3 && shape[1] % 2 == 1 && rows && shape[2] == *rows) return;
  throw Error(
      Errc::kShape,
      fmt::format("the shape {} is not endpoints of intervals; expected (H, N, {}), with N "
                  "odd, for {} batch entries of {} queries",
                  shape_text(shape), rows ? fmt::format("{}", *rows) : "B * Q", batch, queries));
}

/// Sorts the runs from `from` on, and joins those that overlap or touch.
void join_runs(std::size_t from, std::vector<Run>& runs) {
  const auto first = runs.begin() + static_cast<std::ptrdiff_t>(from);
  std::sort(first, runs.end(), [](const Run& a, const Run& b) { return a.begin < b.begin; });
  std::size_t kept = from;
  for (std::size_t i = from; i < runs.size(); ++i) {
    const Run run = runs[i];
    if (kept > from && run.begin <= runs[kept - 1].end) {
      runs[kept - 1].end = std::max(runs[kept - 1].end, run.end);
    } else {
      runs[kept++] = run;
    }
  }
  runs.resize(kept);
}

}  // namespace

Mask mask_from_intervals(const Tensor& ends, Index batch, Index queries, Index keys,
                         Index max_bytes) {
  check_ends_shape(ends, batch, queries);
  const Index heads = ends.extent(0), count = ends.extent(1), rows = ends.extent(2);
  const Int32Elements all(ends, "endpoints of intervals");
  return Mask::make(batch, heads, queries, keys, [&](Index b, Index h) {
    return filled_lists(queries, keys, 1, {max_bytes}, [&](Index q, std::vector<Run>& runs) {
      const auto end = [&](Index i) {
        const std::int32_t value = all[(h * count + i) * rows + b * queries + q];
        if (value >= 0 && value <= keys) return value;
        throw Error(Errc::kFormat,
                    fmt::format("batch {}, head {}, query {}, endpoint {}: {}; expected 0 to {}, "
                                "the number of keys",
                                b, h, q, i, value, keys));
      };
      const std::size_t from = runs.size();
      if (end(0) > 0) runs.push_back({0, end(0)});
      for (Index i = 1; i < count; i += 2) {
        if (end(i) < end(i + 1)) runs.push_back({end(i), end(i + 1)});
      }
      join_runs(from, runs);
    });
  });
}

Tensor intervals_from_mask(const Mask& mask, Index max_bytes) {
  Index most = 0;  // of the runs of a row that do not start at key 0
  std::vector<Run> scratch;
  const auto each_row = [&](const Plane& plane, const auto& take) {
    plane.rows({0, plane.queries()}, [&](Range equal, const Keys& keys) {
      const std::span<const Run> runs = as_runs(keys, scratch);
      const bool first = !runs.empty() && runs[0].begin == 0;
      take(equal, first ? runs[0].end : 0, runs.subspan(first ? 1 : 0));
    });
  };
  for (const PlanePtr& plane : mask.distinct()) {
    each_row(*plane, [&](Range, std::int32_t, std::span<const Run> others) {
      most = std::max<Index>(most, std::ssize(others));
    });
  }
  const Index count = 1 + 2 * most, queries = mask.queries(), rows = mask.batch() * queries;
  const auto elements = checked_product(std::array{mask.heads(), count, rows});
  if (!elements || *elements > max_bytes / 4) {
    throw Error(Errc::kLimit,
                fmt::format("{} endpoints for each of {} queries take more than {} bytes", count,
                            rows, max_bytes),
                {{Remedy::kRaiseMemoryLimit}, {Remedy::kSliceMask}});
  }
  Tensor out(DType::kInt32, {mask.heads(), count, rows});
  const auto ends = out.as<std::int32_t>();
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) {
      each_row(*mask.plane(b, h),
               [&](Range equal, std::int32_t first, std::span<const Run> others) {
                 for (Index q = equal.begin; q < equal.end; ++q) {
                   const auto put = [&](Index i, std::int32_t value) {
                     ends[as_size((h * count + i) * rows + b * queries + q)] = value;
                   };
                   put(0, first);
                   for (Index i = 0; i < std::ssize(others); ++i) {
                     put(2 * i + 1, others[as_size(i)].begin);
                     put(2 * i + 2, others[as_size(i)].end);
                   }
                 }
               });
    }
  }
  return out;
}

}  // namespace maskctl
