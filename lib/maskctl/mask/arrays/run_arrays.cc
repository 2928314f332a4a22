// The run form of a mask: for each row an offset, and the runs that the offsets point into.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/equal/shared_planes.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/rows.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(Errc::kFormat, message); }

/// Counts the runs of all rows; stops once there are more than `most`, because counting those of a
/// large mask without structure would take hours.
Index runs_in(const Plane& plane, Index most) {
  constexpr Index kRows = 128;
  Index total = 0;
  for (Index row = 0; row < plane.queries() && total <= most; row += kRows) {
    plane.rows({row, std::min(row + kRows, plane.queries())}, [&](Range equal, const Keys& keys) {
      total += equal.size() * (keys.is_words() ? count_runs(keys.words) : std::ssize(keys.runs));
    });
  }
  return total;
}

/// Appends the runs of one row after another to the arrays.
struct Writer {
  std::span<std::int64_t> indptr;
  std::span<std::int32_t> begin, end;
  std::size_t row = 0, run = 0;

  void append(std::span<const Run> runs) {
    for (const Run& r : runs) {
      begin[run] = r.begin;
      end[run] = r.end;
      ++run;
    }
    indptr[++row] = static_cast<std::int64_t>(run);
  }
};

/// Throws Error(kLimit) if the runs of `rows` rows take more than max_bytes. The error suggests the
/// dense form if that is small enough.
void check_limit(Index rows, Index keys, std::optional<Index> runs, Index max_bytes) {
  const auto run_bytes = runs ? checked_mul(*runs, 8) : std::nullopt;
  const auto row_bytes = checked_mul(rows, 8);
  const auto total = run_bytes && row_bytes ? checked_add(*run_bytes, *row_bytes) : std::nullopt;
  if (total && *total <= max_bytes) return;
  std::vector<Remedy> remedies{{Remedy::kRaiseMemoryLimit}};
  const auto cells = checked_mul(rows, keys);
  if (cells && *cells <= max_bytes) remedies.push_back({Remedy::kWriteAs, "dense"});
  throw Error(Errc::kLimit,
              fmt::format("the runs of {} rows take more than {} bytes", rows, max_bytes),
              std::move(remedies));
}

/// The arrays of a mask. The constructor checks all of them; plane() then builds one plane.
struct Reader {
  std::vector<std::int64_t> indptr;
  std::vector<std::int32_t> begin, end;
  Index batch = 0, heads = 0, queries = 0, keys = 0;

  explicit Reader(const RunArrays& arrays);
  std::span<const std::int64_t> rows_of(Index plane) const {
    return std::span(indptr).subspan(as_size(plane * queries), as_size(queries + 1));
  }
  std::uint64_t hash(Index plane) const;
  bool same(Index a, Index b) const;
  void check_runs(Index row) const;
  PlanePtr plane(Index number) const;
};

template <typename F>
auto integers(const Tensor& array, const char* what, const F& convert) {
  if (array.rank() != 1 || !is_integer(array.dtype())) {
    refuse(fmt::format("the array {} of a run file is {} of {}; expected one axis of integers",
                       what, shape_text(array.shape()), name(array.dtype())));
  }
  try {
    return convert(array, what);
  } catch (const Error& error) {
    refuse(error.what());
  }
}

Reader::Reader(const RunArrays& arrays)
    : indptr(integers(arrays.indptr, "indptr", as_int64)),
      begin(integers(arrays.begin, "begin", as_int32)),
      end(integers(arrays.end, "end", as_int32)) {
  const auto shape = integers(arrays.shape, "shape", as_int64);
  constexpr Index kMost = std::numeric_limits<std::int32_t>::max();
  const auto in_range = [](Index extent) { return extent >= 0 && extent <= kMost; };
  if (shape.size() != 4 || !std::ranges::all_of(shape, in_range)) {
    refuse(
        fmt::format("the array shape of a run file is {}; expected B, H, Q, K", shape_text(shape)));
  }
  batch = shape[0], heads = shape[1], queries = shape[2], keys = shape[3];
  try {
    check_empty_extents(std::span(shape).first(2), std::ssize(indptr));
  } catch (const Error& error) {
    refuse(error.what());
  }
  const auto rows = checked_product(std::span(shape).first(3));
  if (!rows || std::ssize(indptr) - 1 != *rows) {
    refuse(fmt::format("indptr has {} entries; expected {} for the shape {}", indptr.size(),
                       rows ? fmt::format("{}", *rows + 1) : "B*H*Q + 1", shape_text(shape)));
  }
  if (begin.size() != end.size()) {
    refuse(fmt::format("{} begins and {} ends of runs; expected the same number", begin.size(),
                       end.size()));
  }
  if (indptr.front() != 0 || indptr.back() != std::ssize(begin)) {
    refuse(fmt::format("indptr goes from {} to {}; expected 0 to {}, the number of runs",
                       indptr.front(), indptr.back(), begin.size()));
  }
  for (std::size_t r = 1; r < indptr.size(); ++r) {
    if (indptr[r] >= indptr[r - 1]) continue;
    refuse(fmt::format("indptr falls from {} to {} at entry {}", indptr[r - 1], indptr[r], r));
  }
  for (Index r = 0; r < *rows; ++r) check_runs(r);
}

/// Throws unless the runs of the row are in range, ascending, not empty and not touching.
void Reader::check_runs(Index row) const {
  Index least = 0;
  for (std::size_t i = as_size(indptr[as_size(row)]); i < as_size(indptr[as_size(row) + 1]); ++i) {
    if (begin[i] < least || begin[i] >= end[i] || end[i] > keys) {
      refuse(
          fmt::format("run {} of row {} is keys {} to {}; expected a run that is not empty, ends "
                      "by {} and starts at {} or later",
                      i - as_size(indptr[as_size(row)]), row, begin[i], end[i], keys, least));
    }
    least = Index{end[i]} + 1;
  }
}

std::uint64_t Reader::hash(Index plane) const {
  const auto rows = rows_of(plane);
  const auto first = as_size(rows[0]);
  const auto count = as_size(rows.back() - rows[0]);
  const auto of = [&](const std::vector<std::int32_t>& values) {
    const auto* data = reinterpret_cast<const char*>(values.data() + first);
    return std::hash<std::string_view>{}({data, count * sizeof(std::int32_t)});
  };
  return count == 0 ? 0 : of(begin) * 0x9e3779b97f4a7c15u + of(end);
}

bool Reader::same(Index a, Index b) const {
  const auto rows_a = rows_of(a);
  const auto rows_b = rows_of(b);
  const auto shift = rows_b[0] - rows_a[0];
  for (std::size_t r = 0; r < rows_a.size(); ++r) {
    if (rows_a[r] + shift != rows_b[r]) return false;
  }
  const auto equal = [&](const std::vector<std::int32_t>& values) {
    const auto at = values.begin();
    return std::equal(at + rows_a[0], at + rows_a.back(), at + rows_b[0]);
  };
  return equal(begin) && equal(end);
}

PlanePtr Reader::plane(Index number) const {
  const auto rows = rows_of(number);
  const Index width = words_for(keys);
  const auto add_runs = [&](Index row, std::vector<Run>& runs) {
    for (auto i = as_size(rows[as_size(row)]); i < as_size(rows[as_size(row) + 1]); ++i) {
      runs.push_back({begin[i], end[i]});
    }
  };
  if (rows.back() - rows[0] <= queries * width) {
    constexpr Index kInMemory = std::numeric_limits<Index>::max();
    return filled_lists(queries, keys, 1, {kInMemory, rows.back() - rows[0]}, add_runs);
  }
  // Bits take less than runs of 8 bytes.
  return stored_rows(queries, keys, false, [&](Range q, std::span<std::uint64_t> words) {
    std::vector<Run> runs;
    for (Index row = q.begin; row < q.end; ++row) {
      runs.clear();
      add_runs(row, runs);
      runs_to_words(runs, words.subspan(as_size((row - q.begin) * width), as_size(width)));
    }
  });
}

}  // namespace

RunArrays runs_from_mask(const Mask& mask, Index max_bytes) {
  const Index planes = mask.batch() * mask.heads();
  const Index rows = planes * mask.queries();
  check_limit(rows, mask.keys(), 0, max_bytes);
  std::vector<Index> counts;
  for (const PlanePtr& plane : mask.distinct()) counts.push_back(runs_in(*plane, max_bytes / 8));
  std::optional<Index> total = 0;
  for (Index p = 0; p < planes && total; ++p) {
    total = checked_add(*total, counts[mask.index_of(p / mask.heads(), p % mask.heads())]);
  }
  check_limit(rows, mask.keys(), total, max_bytes);
  RunArrays out{Tensor(DType::kInt64, {rows + 1}), Tensor::unwritten(DType::kInt32, {*total}),
                Tensor::unwritten(DType::kInt32, {*total}), Tensor(DType::kInt64, {4})};
  std::ranges::copy(std::vector{mask.batch(), mask.heads(), mask.queries(), mask.keys()},
                    out.shape.as<std::int64_t>().begin());
  Writer writer{out.indptr.as<std::int64_t>(), out.begin.as<std::int32_t>(),
                out.end.as<std::int32_t>()};
  std::vector<Run> scratch;
  for (Index p = 0; p < planes; ++p) {
    const Plane& plane = *mask.plane(p / mask.heads(), p % mask.heads());
    plane.rows({0, plane.queries()}, [&](Range equal, const Keys& keys) {
      const std::span<const Run> runs = as_runs(keys, scratch);
      for (Index row = equal.begin; row < equal.end; ++row) writer.append(runs);
    });
  }
  return out;
}

Mask mask_from_runs(const RunArrays& arrays) {
  const Reader reader(arrays);
  std::unordered_multimap<std::uint64_t, std::pair<Index, PlanePtr>> seen;
  return Mask::make(reader.batch, reader.heads, reader.queries, reader.keys, [&](Index b, Index h) {
    const Index number = b * reader.heads + h;
    const std::uint64_t hash = reader.hash(number);
    const auto [first, last] = seen.equal_range(hash);
    for (auto it = first; it != last; ++it) {
      if (reader.same(it->second.first, number)) return it->second.second;
    }
    return seen.emplace(hash, std::pair(number, reader.plane(number)))->second.second;
  });
}

}  // namespace maskctl
