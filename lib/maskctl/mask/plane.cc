#include "maskctl/mask/plane.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>

#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/planes/tile_sums.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

constexpr Index kMaxExtent = std::numeric_limits<std::int32_t>::max();
constexpr Index kRowsPerTask = 8192;

Index open_keys(const Keys& keys, Range k) {
  if (keys.is_words()) return popcount(keys.words, k);
  auto run = std::partition_point(keys.runs.begin(), keys.runs.end(),
                                  [&](const Run& r) { return r.end <= k.begin; });
  Index open = 0;
  for (; run != keys.runs.end() && run->begin < k.end; ++run) {
    open += std::min<Index>(run->end, k.end) - std::max<Index>(run->begin, k.begin);
  }
  return open;
}

/// out[i] += rows * (number of keys of the run in [edges[i], edges[i + 1])).
void add_run(const Run& run, Index rows, std::span<const Index> edges, std::span<Index> out) {
  auto edge = std::upper_bound(edges.begin(), edges.end(), static_cast<Index>(run.begin));
  std::size_t i = edge == edges.begin() ? 0 : static_cast<std::size_t>(edge - edges.begin()) - 1;
  for (; i < out.size() && edges[i] < run.end; ++i) {
    const Range part = intersect({edges[i], edges[i + 1]}, {run.begin, run.end});
    out[i] += part.size() * rows;
  }
}

}  // namespace

Plane::Plane(Index queries, Index keys) : queries_(queries), keys_(keys) {
  if (queries < 0 || keys < 0 || queries > kMaxExtent || keys > kMaxExtent) {
    throw Error(Errc::kShape, fmt::format("mask of {} queries x {} keys: expected 0 to {} of each",
                                          queries, keys, kMaxExtent));
  }
}

Index Plane::count(Range q, Range k) const {
  const Index tasks = ceil_div(q.size(), kRowsPerTask);
  std::vector<Index> sums(static_cast<std::size_t>(tasks));
  parallel_for(tasks, [&](Index task) {
    const Index begin = q.begin + task * kRowsPerTask;
    Index sum = 0;
    rows({begin, std::min(begin + kRowsPerTask, q.end)},
         [&](Range r, const Keys& keys) { sum += open_keys(keys, k) * r.size(); });
    sums[static_cast<std::size_t>(task)] = sum;
  });
  return std::accumulate(sums.begin(), sums.end(), Index{0});
}

Fill Plane::classify(Range q, Range k) const {
  const Index open = count(q, k);
  if (open == 0) return Fill::kEmpty;
  return open == q.size() * k.size() ? Fill::kFull : Fill::kPartial;
}

void Plane::tiles(Range q, Index key_tile, std::vector<TileRun>& out) const {
  // Kept between calls to reuse its memory. It is taken out during the call for two reasons: rows()
  // may call tiles() of another plane, and sums that an exception left unfinished must not be used
  // again.
  thread_local std::unique_ptr<TileSums> kept;
  std::unique_ptr<TileSums> sums = kept ? std::move(kept) : std::make_unique<TileSums>();
  sums->start(q.size(), keys_, key_tile);
  rows(q, [&](Range r, const Keys& keys) {
    if (keys.is_words()) {
      sums->add_words(keys.words, r.size());
    } else {
      sums->add_runs(keys.runs, r.size());
    }
  });
  sums->finish(out);
  kept = std::move(sums);
}

void Plane::counts(Range q, std::span<const Index> edges, std::span<Index> out) const {
  rows(q, [&](Range r, const Keys& keys) {
    if (!keys.is_words()) {
      for (const Run& run : keys.runs) add_run(run, r.size(), edges, out);
      return;
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] += popcount(keys.words, {edges[i], edges[i + 1]}) * r.size();
    }
  });
}

void Plane::row_sizes(Range q, const SizeSink& sink) const {
  rows(q, [&](Range r, const Keys& keys) {
    if (keys.is_words()) return sink(r, {popcount(keys.words), count_runs(keys.words)});
    sink(r, {open_keys(keys, {0, keys_}), static_cast<Index>(keys.runs.size())});
  });
}

void Plane::mark_seen(Range q, std::span<std::uint64_t> words) const {
  rows(q, [&](Range, const Keys& keys) {
    if (keys.is_words()) return combine_words(Op::kOr, words, keys.words, words);
    for (const Run& run : keys.runs) {
      if (run.end - run.begin == 1) {
        words[static_cast<std::size_t>(run.begin) / 64] |= std::uint64_t{1} << (run.begin % 64);
      } else {
        set_bits(words, {run.begin, run.end});
      }
    }
  });
}

}  // namespace maskctl
