#include "maskctl/mask/arrays/slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

struct Slice {
  Range q, k;
  bool ends_rise = false, begins_rise = false;  // causal, inverse causal

  Range keys_at(Index query) const {
    return {k.begin + (begins_rise ? query - q.begin : 0),
            k.end - (ends_rise ? q.end - 1 - query : 0)};
  }
  Band band() const {
    return {begins_rise ? k.begin - q.begin : k.begin, ends_rise ? k.end - (q.end - 1) : k.end,
            begins_rise, ends_rise};
  }
  /// The number of cells of some of its rows.
  Index cells(Range rows) const {
    const Range first = keys_at(rows.begin), last = keys_at(rows.end - 1);
    const Index steps = (ends_rise ? 1 : 0) - (begins_rise ? 1 : 0);
    if (steps == 0) return rows.size() * first.size();
    // Sizes change by one from row to row, and are 0 where they would be negative: the sum of all
    // whole numbers from the least to the most, of which 0 counts for nothing.
    const Index least = std::min(first.size(), last.size());
    const Index most = std::max(first.size(), last.size());
    return (most - least + 1) * (most + least) / 2;
  }
};

Range range_at(std::span<const std::int64_t> pairs, std::size_t i, std::optional<Index> extent,
               const char* name) {
  constexpr Index kMost = std::numeric_limits<std::int32_t>::max();
  const Range range{pairs[2 * i], pairs[2 * i + 1]};
  const Index most = std::min(extent.value_or(kMost), kMost);
  if (range.begin >= 0 && range.begin <= range.end && range.end <= most) return range;
  throw Error(Errc::kFormat, fmt::format("{}, slice {}: {} to {}; expected 0 <= start <= end <= {}",
                                         name, i, range.begin, range.end, most));
}

std::vector<std::int64_t> pairs_in(const Tensor& array, const char* name) {
  if (array.rank() == 2 && array.extent(1) == 2) return as_int64(array, name);
  throw Error(Errc::kShape,
              fmt::format("{} has the shape {}; expected (N, 2)", name, shape_text(array.shape())));
}

std::vector<Slice> slices_in(const SliceArrays& arrays, std::optional<Index> queries,
                             std::optional<Index> keys) {
  const auto q = pairs_in(arrays.q, "q_ranges"), k = pairs_in(arrays.k, "k_ranges");
  const std::size_t count = q.size() / 2;
  const auto types =
      arrays.types ? as_int64(*arrays.types, "attn_type_map") : std::vector<std::int64_t>(count);
  const bool one_axis = !arrays.types || arrays.types->rank() == 1;
  if (k.size() != q.size() || types.size() != count || !one_axis) {
    throw Error(
        Errc::kShape,
        fmt::format("q_ranges has {} slices, k_ranges {}, attn_type_map {}; expected as many",
                    count, k.size() / 2,
                    arrays.types ? shape_text(arrays.types->shape()) : "none"));
  }
  std::vector<Slice> out;
  out.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (types[i] < 0 || types[i] > 3) {
      throw Error(Errc::kFormat,
                  fmt::format("attn_type_map, slice {}: {}; expected 0 (full), 1 (causal), 2 "
                              "(inverse causal) or 3 (both)",
                              i, types[i]));
    }
    out.push_back({range_at(q, i, queries, "q_ranges"), range_at(k, i, keys, "k_ranges"),
                   (types[i] & 1) != 0, (types[i] & 2) != 0});
  }
  return out;
}

/// Ranges of queries, each with the numbers of the slices that have all of it.
struct SliceRows {
  Range q;
  std::vector<std::uint32_t> slices;
};

std::vector<SliceRows> rows_of(const std::vector<Slice>& slices, Index max_bytes) {
  struct Edge {
    Index at;
    std::uint32_t slice;
  };
  std::vector<Edge> begins, ends;
  for (std::uint32_t i = 0; i < slices.size(); ++i) {
    if (slices[i].q.empty() || slices[i].k.empty()) continue;
    begins.push_back({slices[i].q.begin, i});
    ends.push_back({slices[i].q.end, i});
  }
  std::ranges::stable_sort(begins, {}, &Edge::at);
  std::ranges::stable_sort(ends, {}, &Edge::at);
  std::vector<SliceRows> out;
  std::vector<std::uint32_t> now;
  Index bytes = 0;
  std::size_t b = 0, e = 0;
  while (e < ends.size()) {
    const Index at = b < begins.size() ? std::min(begins[b].at, ends[e].at) : ends[e].at;
    for (; e < ends.size() && ends[e].at == at; ++e) std::erase(now, ends[e].slice);
    for (; b < begins.size() && begins[b].at == at; ++b) now.push_back(begins[b].slice);
    if (now.empty()) continue;
    bytes += std::ssize(now) * static_cast<Index>(sizeof(Band));
    if (bytes > max_bytes) {
      throw Error(Errc::kLimit,
                  fmt::format("the rows of nested slices take more than {} bytes", max_bytes),
                  {{Remedy::kRaiseMemoryLimit}});
    }
    const Index next = b < begins.size() ? std::min(begins[b].at, ends[e].at) : ends[e].at;
    out.push_back({{at, next}, now});
  }
  return out;
}

Index cells_of_rows(const std::vector<Slice>& slices, const SliceRows& rows, Range q) {
  Index sum = 0;
  for (const std::uint32_t i : rows.slices) sum += slices[i].cells(q);
  return sum;
}

/// The first key of a query that is in two slices.
Index first_shared_key(const std::vector<Slice>& slices, const SliceRows& rows, Index query) {
  std::vector<Range> keys;
  for (const std::uint32_t i : rows.slices) {
    if (const Range range = slices[i].keys_at(query); !range.empty()) keys.push_back(range);
  }
  std::ranges::sort(keys, {}, &Range::begin);
  Index end = 0;
  for (const Range& range : keys) {
    if (range.begin < end) return range.begin;
    end = range.end;
  }
  return -1;
}

void note_overlaps(const std::vector<Slice>& slices, const std::vector<SliceRows>& all,
                   const Plane& plane, ArrayFacts& facts) {
  FactSeen seen{ArrayFact::kSlicesOverlap, 0, {}};
  for (const SliceRows& rows : all) {
    if (rows.slices.size() < 2) continue;
    const auto excess = [&](Range q) {
      return cells_of_rows(slices, rows, q) - plane.count(q, {0, plane.keys()});
    };
    const Index here = excess(rows.q);
    if (here > 0 && seen.count == 0) {
      Range q = rows.q;  // the first row with a shared cell is in it
      while (q.size() > 1) {
        const Index middle = q.begin + q.size() / 2;
        (excess({q.begin, middle}) > 0 ? q.end : q.begin) = middle;
      }
      seen.first = {0, 0, q.begin, first_shared_key(slices, rows, q.begin)};
    }
    seen.count += here;
  }
  if (seen.count > 0) facts.push_back(seen);
}

Index last_end(const std::vector<Slice>& slices, Range Slice::*side) {
  Index out = 0;
  for (const Slice& slice : slices) out = std::max(out, (slice.*side).end);
  return out;
}

}  // namespace

Mask mask_from_slices(const SliceArrays& arrays, std::optional<Index> queries,
                      std::optional<Index> keys, Index max_bytes, ArrayFacts& facts) {
  const std::vector<Slice> slices = slices_in(arrays, queries, keys);
  const std::vector<SliceRows> rows = rows_of(slices, max_bytes);
  std::vector<Slab> slabs;
  slabs.reserve(rows.size());
  for (const SliceRows& one : rows) {
    slabs.push_back({one.q, {}});
    for (const std::uint32_t i : one.slices) slabs.back().bands.push_back(slices[i].band());
  }
  const PlanePtr plane = bands(queries.value_or(last_end(slices, &Slice::q)),
                               keys.value_or(last_end(slices, &Slice::k)), slabs);
  note_overlaps(slices, rows, *plane, facts);
  return Mask(plane);
}

}  // namespace maskctl
