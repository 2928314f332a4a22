#include "maskctl/mask/blocks/tile_rows.h"

#include <algorithm>
#include <bit>

#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

/// The range from the first to the last bit that is set; empty if none is.
Range span_of(std::span<const std::uint64_t> words) {
  const auto is_set = [](std::uint64_t word) { return word != 0; };
  const auto first = std::ranges::find_if(words, is_set);
  if (first == words.end()) return {};
  const auto last = std::find_if(words.rbegin(), words.rend(), is_set);
  return {(first - words.begin()) * 64 + std::countr_zero(*first),
          (words.rend() - last) * 64 - std::countl_zero(*last)};
}

/// Copies bits [first, first + size) of a row to `out`; the rest of the last word is zero.
void cut_words(std::span<const std::uint64_t> row, Index first, Index size,
               std::span<std::uint64_t> out) {
  const std::size_t word = as_size(first / 64);
  const auto shift = static_cast<unsigned>(first % 64);
  const auto at = [&](std::size_t i) { return i < row.size() ? row[i] : 0; };
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = at(word + i) >> shift;
    if (shift > 0) out[i] |= at(word + i + 1) << (64 - shift);
  }
  if (size % 64 > 0) out.back() &= (std::uint64_t{1} << (size % 64)) - 1;
}

/// Sets the bits of a run, like set_bits(), but faster if the run is inside one word.
void set_run(std::span<std::uint64_t> words, Run run) {
  if (run.begin / 64 != (run.end - 1) / 64) return set_bits(words, {run.begin, run.end});
  words[as_size(run.begin / 64)] |= ~std::uint64_t{0} >> (64 - (run.end - run.begin))
                                                             << (run.begin % 64);
}

/// The part of a run that is inside a tile, relative to the start of the tile; begin >= end if the
/// run is outside.
Run inside(const Run& run, std::int32_t start, std::int32_t size) {
  return {std::max(run.begin - start, 0), std::min(run.end - start, size)};
}

template <class T>
void grow(std::vector<T>& values, std::size_t size) {
  if (values.size() < size) values.resize(size);
}

}  // namespace

std::span<const Run> TilePayloads::intervals_of(PayloadId id) const {
  return std::span(intervals).subspan(as_size(Index{id} * rows), as_size(rows));
}

std::span<const std::uint64_t> TilePayloads::words_of(PayloadId id) const {
  const Index size = rows * words_per_row();
  return std::span(words).subspan(as_size(Index{~id} * size), as_size(size));
}

TileCells::TileCells(const TilePayloads& pools, PayloadId id)
    : words_per_row_(pools.words_per_row()) {
  if (id >= 0) {
    intervals_ = pools.intervals_of(id).data();
  } else {
    words_ = pools.words_of(id).data();
  }
}

Range TileCells::span_of_words(Index row) const {
  return span_of({words(row), as_size(words_per_row_)});
}

TileRowReader::TileRowReader(Index q_tile, Index k_tile)
    : payloads_{q_tile, k_tile, {}, {}}, row_(as_size(words_for(k_tile))) {}

TileRow TileRowReader::read(const Plane& plane, Range q) {
  runs_.clear();
  if (plane.keys() > 0) plane.tiles(q, payloads_.keys, runs_);
  return read(plane, q, runs_);
}

TileRow TileRowReader::read(const Plane& plane, Range q, std::span<const TileRun> runs) {
  start(runs);
  if (ids_.empty()) return {runs, ids_, &payloads_};
  if (const std::vector<Slab>* const slabs = slabs_of(plane)) {
    put_slabs(*slabs, q);
  } else {
    plane.rows(q, [&](Range equal_rows, const Keys& keys) {
      const Range rows{equal_rows.begin - q.begin, equal_rows.end - q.begin};
      if (keys.is_words()) return put_words(rows, keys.words);
      if (keys.runs.size() == 1) return put_run(rows, keys.runs.front());
      put_runs(rows, keys.runs);
    });
  }
  put_run({q.size(), payloads_.rows}, {});
  return {runs, ids_, &payloads_};
}

void TileRowReader::start(std::span<const TileRun> runs) {
  starts_.clear();
  ids_.clear();
  words_used_ = 0;
  for (const TileRun& run : runs) {
    if (run.fill != Fill::kPartial) continue;
    for (Index i = 0; i < run.count; ++i) {
      starts_.push_back(static_cast<std::int32_t>((run.first + i) * payloads_.keys));
      ids_.push_back(static_cast<PayloadId>(ids_.size()));
    }
  }
  grow(payloads_.intervals, ids_.size() * as_size(payloads_.rows));
}

inline void TileRowReader::put(std::size_t tile, Range rows, Run open) {
  if (is_words(tile)) return put_into_words(tile, rows, open);
  Run* const row = payloads_.intervals.data() + static_cast<Index>(tile) * payloads_.rows;
  for (Index i = rows.begin; i < rows.end; ++i) row[i] = open;
}

void TileRowReader::put_run(Range rows, Run run) {
  if (rows.empty()) return;
  const auto size = static_cast<std::int32_t>(payloads_.keys);
  const std::span<const std::int32_t> starts = starts_;
  const std::span<const PayloadId> ids = ids_;
  Run* row = payloads_.intervals.data() + rows.begin;
  for (std::size_t tile = 0; tile < starts.size(); ++tile, row += payloads_.rows) {
    const Run open = inside(run, starts[tile], size);
    const bool meets = open.begin < open.end;
    if (ids[tile] < 0) {
      put_into_words(tile, rows, meets ? open : Run{});
      continue;
    }
    *row = {meets ? open.begin : 0, meets ? open.end : 0};
    if (rows.size() > 1) std::fill_n(row + 1, rows.size() - 1, *row);
  }
}

void TileRowReader::put_slabs(std::span<const Slab> slabs, Range q) {
  Index next = q.begin;  // the first row not written yet
  auto slab = std::ranges::partition_point(slabs, [&](const Slab& s) { return s.q.end <= next; });
  for (; slab != slabs.end() && slab->q.begin < q.end; ++slab) {
    const Range rows = intersect(slab->q, q);
    put_run({next - q.begin, rows.begin - q.begin}, {});
    put_bands(slab->bands, rows, q.begin);
    next = rows.end;
  }
  put_run({next - q.begin, q.size()}, {});
}

void TileRowReader::put_bands(std::span<const Band> bands, Range q, Index first_row) {
  if (bands.size() == 1) return put_band(bands.front(), q, first_row);
  const bool level = std::ranges::none_of(
      bands, [](const Band& band) { return band.begin_slope || band.end_slope; });
  for (Index row = q.begin; row < q.end; row = level ? q.end : row + 1) {
    runs_of_row_.clear();
    for (const Band& band : bands) {
      runs_of_row_.push_back({static_cast<std::int32_t>(band.begin_at(row)),
                              static_cast<std::int32_t>(band.end_at(row))});
    }
    put_runs({row - first_row, (level ? q.end : row + 1) - first_row}, runs_of_row_);
  }
}

void TileRowReader::put_band(const Band& band, Range q, Index first_row) {
  const auto size = static_cast<std::int32_t>(payloads_.keys);
  const std::int32_t begin_slope = band.begin_slope, end_slope = band.end_slope;
  const auto rows = static_cast<std::int32_t>(q.size());
  for (std::size_t tile = 0; tile < starts_.size(); ++tile) {
    const auto begin = static_cast<std::int32_t>(band.begin_at(q.begin)) - starts_[tile];
    const auto end = static_cast<std::int32_t>(band.end_at(q.begin)) - starts_[tile];
    const auto run_at = [&](std::int32_t i) {
      const Run open{std::max(begin + i * begin_slope, 0), std::min(end + i * end_slope, size)};
      const bool meets = open.begin < open.end;
      return Run{meets ? open.begin : 0, meets ? open.end : 0};
    };
    if (is_words(tile)) {
      for (std::int32_t i = 0; i < rows; ++i) {
        const Index row = q.begin + i - first_row;
        put_into_words(tile, {row, row + 1}, run_at(i));
      }
      continue;
    }
    Run* const out = payloads_.intervals.data() + static_cast<Index>(tile) * payloads_.rows +
                     (q.begin - first_row);
    for (std::int32_t i = 0; i < rows; ++i) out[i] = run_at(i);
  }
}

void TileRowReader::put_runs(Range rows, std::span<const Run> runs) {
  const auto size = static_cast<std::int32_t>(payloads_.keys);
  auto run = runs.begin();
  for (std::size_t tile = 0; tile < starts_.size(); ++tile) {
    const std::int32_t start = starts_[tile];
    while (run != runs.end() && run->end <= start) ++run;
    const auto meets = [&](auto r) { return r != runs.end() && r->begin - start < size; };
    if (!meets(run)) {
      put(tile, rows, Run{});
    } else if (!meets(run + 1)) {
      put(tile, rows, inside(*run, start, size));
    } else {
      std::ranges::fill(row_, 0);
      for (auto r = run; meets(r); ++r) set_run(row_, inside(*r, start, size));
      put(tile, rows, row_);
    }
  }
}

void TileRowReader::put_words(Range rows, std::span<const std::uint64_t> words) {
  for (std::size_t tile = 0; tile < starts_.size(); ++tile) {
    cut_words(words, starts_[tile], payloads_.keys, row_);
    const Range open = is_words(tile) ? Range{} : span_of(row_);
    if (!is_words(tile) && popcount(row_) == open.size()) {
      put(tile, rows,
          Run{static_cast<std::int32_t>(open.begin), static_cast<std::int32_t>(open.end)});
    } else {
      put(tile, rows, row_);
    }
  }
}

void TileRowReader::put_into_words(std::size_t tile, Range rows, Run open) {
  std::ranges::fill(row_, 0);
  if (open.end > 0) set_run(row_, open);
  put(tile, rows, row_);
}

void TileRowReader::put(std::size_t tile, Range rows, std::span<const std::uint64_t> words) {
  if (!is_words(tile)) change_to_words(tile, rows.begin);
  const Index width = payloads_.words_per_row();
  auto row = payloads_.words.begin() + (Index{~ids_[tile]} * payloads_.rows + rows.begin) * width;
  for (Index i = 0; i < rows.size(); ++i) row = std::ranges::copy(words, row).out;
}

void TileRowReader::change_to_words(std::size_t tile, Index rows) {
  const auto from = payloads_.intervals.begin() + Index{ids_[tile]} * payloads_.rows;
  const std::size_t width = as_size(payloads_.words_per_row());
  ids_[tile] = ~words_used_++;
  const std::size_t size = as_size(payloads_.rows) * width;
  grow(payloads_.words, as_size(words_used_) * size);
  const auto to = std::span(payloads_.words).subspan(as_size(~ids_[tile]) * size, size);
  for (Index i = 0; i < rows; ++i) {
    runs_to_words({&from[i], as_size(from[i].end > 0)}, to.subspan(as_size(i) * width, width));
  }
}

}  // namespace maskctl
