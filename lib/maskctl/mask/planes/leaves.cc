#include "maskctl/mask/planes/leaves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "maskctl/base/error.h"
#include "maskctl/base/huge_pages.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/rows.h"

namespace maskctl {
namespace {

constexpr std::size_t kBandsPerSlab = 16;  // for planes of more bands, run lists are cheaper
constexpr Index kComputedCells = Index{1}
                                 << 28;  // the most cells of a dilated plane without run lists
constexpr Index kListedTokens = Index{1} << 23;

class Dilated final : public Plane {
 public:
  Dilated(Index queries, Index keys, Index stride, Index phase)
      : Plane(queries, keys), stride_(stride), phase_(phase) {}

  void rows(Range q, const RowSink& sink) const override {
    std::vector<std::uint64_t> words(static_cast<std::size_t>(words_for(keys())));
    std::vector<Run> runs;
    const StopPoll poll;
    for (Index row = q.begin; row < q.end; ++row) {
      poll();
      const Index first = first_key(row, 0);
      if (stride_ >= 64) {
        runs.clear();
        for (Index k = first; k < keys(); k += stride_) {
          runs.push_back({static_cast<std::int32_t>(k), static_cast<std::int32_t>(k + 1)});
        }
        sink({row, row + 1}, {runs, {}});
      } else {
        std::fill(words.begin(), words.end(), 0);
        for (Index k = first; k < keys(); k += stride_) {
          words[static_cast<std::size_t>(k / 64)] |= std::uint64_t{1} << (k % 64);
        }
        sink({row, row + 1}, {{}, words});
      }
    }
  }
  Index count(Range q, Range k) const override {
    Index open = 0;
    for (Index row = q.begin; row < q.end; ++row) {
      const Index first = first_key(row, k.begin);
      if (first < k.end) open += (k.end - 1 - first) / stride_ + 1;
    }
    return open;
  }
  PlanePtr transposed() const override { return dilated(keys(), queries(), stride_, -phase_); }
  PlanePtr sliced(Range q, Range k) const override {
    return dilated(q.size(), k.size(), stride_, phase_ + q.begin - k.begin);
  }
  bool computed() const override { return true; }
  Index bytes() const override { return sizeof(*this); }

 private:
  /// The first open key k >= from of the row; may be past the last key.
  Index first_key(Index row, Index from) const {
    const Index distance = row + phase_ - from;
    return from + distance - floor_div(distance, stride_) * stride_;
  }
  Index stride_, phase_;
};

class RandomPlane final : public Plane {
 public:
  RandomPlane(Index queries, Index keys, ThreefryKey key, std::uint64_t first_cell, float p)
      : Plane(queries, keys),
        key_(key),
        first_cell_(first_cell),
        // uniform = m * 2^-23, where m is the high 23 bits, so uniform < p exactly when m < p *
        // 2^23.
        threshold_(static_cast<std::uint32_t>(
            std::ceil(std::clamp(static_cast<double>(p), 0.0, 1.0) * 0x1p23))) {}

  void rows(Range q, const RowSink& sink) const override {
    const auto size = static_cast<std::size_t>(keys());
    std::vector<std::uint32_t> bits(size);
    std::vector<std::uint8_t> flags(size);
    std::vector<std::uint64_t> words(static_cast<std::size_t>(words_for(keys())));
    const StopPoll poll;
    for (Index row = q.begin; row < q.end; ++row) {
      poll();
      random_bits(key_, first_cell_ + static_cast<std::uint64_t>(row * keys()), bits);
      for (std::size_t i = 0; i < size; ++i) flags[i] = (bits[i] >> 9) < threshold_;
      pack_bytes(flags, words);
      sink({row, row + 1}, {{}, words});
    }
  }
  bool computed() const override { return true; }
  Index bytes() const override { return sizeof(*this); }

 private:
  ThreefryKey key_;
  std::uint64_t first_cell_;
  std::uint32_t threshold_;
};

std::vector<Band> bands_of(std::span<const Run> runs) {
  std::vector<Band> bands;
  for (const Run& run : runs) bands.push_back({run.begin, run.end, 0, 0});
  return bands;
}

}  // namespace

namespace {

/// Dilation stored as lists of keys, one for each remainder of the key modulo `stride`. Rows that
/// share a list are counted, clipped and tiled together: for planes with too many cells to visit.
PlanePtr dilated_lists(Index queries, Index keys, Index stride, Index phase) {
  const auto all = static_cast<std::int32_t>(keys);
  std::vector<Run> runs;
  std::vector<Index> offsets{0};
  reserve_huge(runs, static_cast<std::size_t>(keys));
  for (std::int32_t turn = 0; turn < stride; ++turn) {
    for (auto key = turn; key < all; key += static_cast<std::int32_t>(stride)) {
      runs.push_back({key, key + 1});
    }
    offsets.push_back(std::ssize(runs));
  }
  offsets.push_back(std::ssize(runs));  // an unused list without keys, as in plane_of(classes)
  std::vector<RowRef> refs;
  reserve_huge(refs, static_cast<std::size_t>(queries));
  Index turn = phase - floor_div(phase, stride) * stride;
  for (Index row = 0; row < queries; ++row) {
    refs.push_back({static_cast<std::uint32_t>(turn), 0, all});
    if (++turn == stride) turn = 0;
  }
  return row_lists(keys, std::move(runs), std::move(offsets), std::move(refs));
}

}  // namespace

PlanePtr dilated(Index queries, Index keys, Index stride, Index phase) {
  if (stride < 1) {
    throw Error(Errc::kInvalidArgument, fmt::format("stride {}: expected at least 1", stride));
  }
  if (stride == 1) return full_plane(queries, keys);
  if (queries == 0 || keys == 0) return empty_plane(queries, keys);
  const bool is_large = queries > kComputedCells / keys;
  if (is_large && stride <= keys && queries + keys <= kListedTokens) {
    return dilated_lists(queries, keys, stride, phase);
  }
  return std::make_shared<Dilated>(queries, keys, stride, phase);
}

PlanePtr random_plane(Index queries, Index keys, ThreefryKey key, std::uint64_t first_cell,
                      float p) {
  if (queries == 0 || keys == 0) return empty_plane(queries, keys);
  return std::make_shared<RandomPlane>(queries, keys, key, first_cell, p);
}

namespace {

/// The union of the ranges inside [0, size), as ascending runs that do not touch.
std::vector<Run> runs_of(std::span<const Range> ranges, Index size) {
  std::vector<Range> inside;
  for (const Range& range : ranges) {
    if (const Range part = intersect(range, {0, size}); !part.empty()) inside.push_back(part);
  }
  std::ranges::sort(inside, {}, &Range::begin);
  std::vector<Run> runs;
  for (const Range& range : inside) {
    const Run run{static_cast<std::int32_t>(range.begin), static_cast<std::int32_t>(range.end)};
    if (runs.empty() || run.begin > runs.back().end) {
      runs.push_back(run);
    } else {
      runs.back().end = std::max(runs.back().end, run.end);
    }
  }
  return runs;
}

PlanePtr open_keys(Index queries, Index keys, std::vector<Run> runs) {
  if (runs.size() <= kBandsPerSlab) return bands(queries, keys, {{{0, queries}, bands_of(runs)}});
  std::vector<Index> offsets{0, static_cast<Index>(runs.size())};
  std::vector<RowRef> refs(static_cast<std::size_t>(queries),
                           {0, 0, static_cast<std::int32_t>(keys)});
  return row_lists(keys, std::move(runs), std::move(offsets), std::move(refs));
}

PlanePtr open_queries(Index queries, Index keys, std::span<const Run> runs) {
  std::vector<Slab> slabs;
  for (const Run& run : runs) slabs.push_back({{run.begin, run.end}, {{0, keys, 0, 0}}});
  return bands(queries, keys, slabs);
}

}  // namespace

PlanePtr key_flags(Index queries, std::span<const std::uint8_t> flags) {
  return open_keys(queries, std::ssize(flags), byte_runs(flags));
}

PlanePtr query_flags(std::span<const std::uint8_t> flags, Index keys) {
  return open_queries(std::ssize(flags), keys, byte_runs(flags));
}

PlanePtr key_ranges(Index queries, Index keys, std::span<const Range> open) {
  return open_keys(queries, keys, runs_of(open, keys));
}

PlanePtr query_ranges(Index queries, Index keys, std::span<const Range> open) {
  return open_queries(queries, keys, runs_of(open, queries));
}

PlanePtr block_grid(Index queries, Index keys, Index q_size, Index k_size,
                    std::span<const std::uint8_t> map, Index map_columns) {
  const Index map_rows = map_columns == 0 ? 0 : static_cast<Index>(map.size()) / map_columns;
  if (q_size < 1 || k_size < 1 || map_rows != ceil_div(queries, q_size) ||
      map_columns != ceil_div(keys, k_size)) {
    throw Error(Errc::kShape,
                fmt::format("block map of {} x {} with blocks of {} x {} does not fit a mask of "
                            "{} x {}: expected {} x {}",
                            map_rows, map_columns, q_size, k_size, queries, keys,
                            q_size < 1 ? 0 : ceil_div(queries, q_size),
                            k_size < 1 ? 0 : ceil_div(keys, k_size)));
  }
  std::vector<Run> runs;
  std::vector<Index> offsets{0};
  std::vector<RowRef> refs;
  refs.reserve(static_cast<std::size_t>(queries));
  std::span<const std::uint8_t> above;
  for (Index row = 0; row < map_rows; ++row) {
    const auto line = map.subspan(as_size(row * map_columns), as_size(map_columns));
    // A row of blocks that equals the one above uses its list.
    if (row == 0 || !std::ranges::equal(line, above)) {
      for (const Run& run : byte_runs(line)) {
        runs.push_back({static_cast<std::int32_t>(run.begin * k_size),
                        static_cast<std::int32_t>(std::min(run.end * k_size, keys))});
      }
      offsets.push_back(std::ssize(runs));
    }
    above = line;
    refs.resize(
        as_size(std::min((row + 1) * q_size, queries)),
        {static_cast<std::uint32_t>(offsets.size() - 2), 0, static_cast<std::int32_t>(keys)});
  }
  return row_lists(keys, std::move(runs), std::move(offsets), std::move(refs));
}

}  // namespace maskctl
