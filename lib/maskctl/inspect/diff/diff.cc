// Compares each distinct pair of planes once, and adds up the differences over batches and heads.
#include "maskctl/inspect/diff/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/inspect/diff/classes.h"
#include "maskctl/mask/planes/row_lists/clipped_classes.h"
#include "maskctl/mask/planes/row_lists/row_keys.h"
#include "maskctl/mask/rows.h"

namespace maskctl {
namespace {

constexpr Index kStoredRuns = Index{1} << 24;

/// The differences of one pair of planes.
struct PairDiff {
  Index only_a = 0, only_b = 0, both = 0;
  Index rows = 0, blocks = 0;
  Cell first;  // batch and head unset
  bool first_in_a = false;
};

using DistinctPair = std::pair<std::uint32_t, std::uint32_t>;

/// Calls the task for ranges of whole tile rows, a few per thread.
template <typename Task>
void for_tile_rows(Index queries, Index block, const Task& task) {
  const Index tile_rows = ceil_div(queries, block);
  const Index tasks = std::clamp<Index>(tile_rows, 1, Index{threads()} * 8);
  const Index step = ceil_div(tile_rows, tasks) * block;
  if (step == 0) return;
  parallel_for(ceil_div(queries, step), [&](Index i) {
    task(Range{i * step, std::min((i + 1) * step, queries)});
  });
}

/// Fills in rows, blocks and first cell. `differing` is open where a and b differ.
void locate(const Plane& differing, BlockSize block, PairDiff& out) {
  std::mutex mutex;
  Cell first{0, 0, differing.queries(), 0};
  for_tile_rows(differing.queries(), block.q, [&](Range range) {
    Index rows = 0, blocks = 0;
    Cell found{0, 0, differing.queries(), 0};
    differing.rows(range, [&](Range equal, const Keys& keys) {
      const Index key = first_open_key(keys);
      if (key < 0) return;
      if (rows == 0) found = {0, 0, equal.begin, key};
      rows += equal.size();
    });
    std::vector<TileRun> tiles;
    for (Index q = range.begin; rows > 0 && q < range.end; q += block.q) {
      tiles.clear();
      differing.tiles({q, std::min(q + block.q, range.end)}, block.k, tiles);
      for (const TileRun& run : tiles) blocks += run.fill == Fill::kEmpty ? 0 : run.count;
    }
    const std::lock_guard lock(mutex);
    out.rows += rows;
    out.blocks += blocks;
    if (found.query < first.query) first = found;
  });
  out.first = first;
}

/// Counts the differing cells and rows in `range` and finds the first such row: a row differs if it
/// has more keys in `a` or in `b` than in `both`, the intersection.
PairDiff diff_rows(const Plane& a, const Plane& b, const Plane& both, Range range) {
  const auto keys_of = [range](const Plane& plane) {
    std::vector<std::int32_t> out(static_cast<std::size_t>(range.size()));
    plane.row_sizes(range, [&](Range rows, const Plane::RowSize& size) {
      std::fill(out.begin() + (rows.begin - range.begin), out.begin() + (rows.end - range.begin),
                static_cast<std::int32_t>(size.keys));
    });
    return out;
  };
  const auto in_a = keys_of(a), in_b = keys_of(b), in_both = keys_of(both);
  PairDiff out;
  for (std::size_t i = in_a.size(); i-- > 0;) {
    out.only_a += in_a[i] - in_both[i];
    out.only_b += in_b[i] - in_both[i];
    out.both += in_both[i];
    if (in_a[i] == in_both[i] && in_b[i] == in_both[i]) continue;
    ++out.rows;
    out.first.query = range.begin + static_cast<Index>(i);
  }
  return out;
}

PairDiff diff_all_rows(const Plane& a, const Plane& b, const Plane& both) {
  constexpr Index kRows = 1 << 14;
  std::vector<PairDiff> parts(static_cast<std::size_t>(ceil_div(a.queries(), kRows)));
  parallel_for(std::ssize(parts), [&](Index i) {
    parts[static_cast<std::size_t>(i)] =
        diff_rows(a, b, both, {i * kRows, std::min((i + 1) * kRows, a.queries())});
  });
  PairDiff out;
  for (const PairDiff& part : parts) {
    if (out.rows == 0) out.first = part.first;
    out.only_a += part.only_a;
    out.only_b += part.only_b;
    out.both += part.both;
    out.rows += part.rows;
  }
  return out;
}

/// Compares planes whose rows share lists of keys, by the number of keys per row in a, in b and in
/// both. Nothing if the intersection of the planes has no such lists, or if blocks are not square.
std::optional<PairDiff> diff_sizes(const PlanePtr& a, const PlanePtr& b, BlockSize block) {
  if (block.q != block.k) return std::nullopt;
  if (!a->has_row_index() && !b->has_row_index()) return std::nullopt;
  PlanePtr both = combine(Op::kAnd, a, b);
  if (!both->has_row_index()) return std::nullopt;
  PairDiff out = diff_all_rows(*a, *b, *both);
  // frees its buffers for reuse, as new pages would cost as much time as the comparison
  both.reset();
  if (out.rows == 0) return out;
  const auto blocks = differing_blocks(*a, *b, block.q);
  if (!blocks) return std::nullopt;
  out.blocks = *blocks;
  const Index q = out.first.query;
  combine(Op::kXor, a, b)->rows({q, q + 1}, [&](Range, const Keys& keys) {
    out.first.key = first_open_key(keys);
  });
  out.first_in_a = a->count({q, q + 1}, {out.first.key, out.first.key + 1}) == 1;
  return out;
}

PairDiff diff_planes(const PlanePtr& a, const PlanePtr& b, BlockSize block) {
  PairDiff out;
  if (same_representation(*a, *b)) {
    out.both = a->count();
    return out;
  }
  if (auto found = diff_sizes(a, b, block)) return *found;
  PlanePtr differing = combine(Op::kXor, a, b);
  if (differing->computed()) {  // read three times, so it is stored if it fits
    if (PlanePtr kept = stored(*differing, kStoredRuns)) differing = std::move(kept);
  }
  const Index different = differing->count();
  const Index in_a = a->count(), in_b = b->count();
  out.only_a = (different + in_a - in_b) / 2;
  out.only_b = different - out.only_a;
  out.both = in_a - out.only_a;
  if (different == 0) return out;
  locate(*differing, block, out);
  const Index q = out.first.query, k = out.first.key;
  out.first_in_a = a->count({q, q + 1}, {k, k + 1}) == 1;
  return out;
}

Index broadcast_extent(Index a, Index b, const Mask& left, const Mask& right) {
  if (a == b || b == 1) return a;
  if (a == 1) return b;
  throw Error(Errc::kShape,
              fmt::format("{} and {} cannot be compared: expected equal batches and heads, or 1",
                          shape_text(left), shape_text(right)));
}

/// Compares each distinct pair of planes once. Many pairs are compared in parallel; if there are
/// few, one after the other, each with all threads.
std::map<DistinctPair, PairDiff> diff_pairs(const Mask& a, const Mask& b, Index batch, Index heads,
                                            BlockSize block) {
  std::map<DistinctPair, PairDiff> out;
  for (Index n = 0; n < batch; ++n) {
    for (Index h = 0; h < heads; ++h) out[{a.index_of(n, h), b.index_of(n, h)}];
  }
  std::vector<std::pair<const DistinctPair, PairDiff>*> entries;
  entries.reserve(out.size());
  for (auto& entry : out) entries.push_back(&entry);
  const auto one = [&](Index i) {
    auto& [pair, found] = *entries[static_cast<std::size_t>(i)];
    found = diff_planes(a.distinct()[pair.first], b.distinct()[pair.second], block);
  };
  const auto pairs = static_cast<Index>(entries.size());
  if (pairs >= 2 * Index{threads()}) {
    parallel_for(pairs, one);
  } else {
    for (Index i = 0; i < pairs; ++i) one(i);
  }
  return out;
}

}  // namespace

MaskDiff diff(const Mask& a, const Mask& b, BlockSize block) {
  if (block.q < 1 || block.k < 1) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("block {}x{}: expected at least 1", block.q, block.k));
  }
  if (a.queries() != b.queries() || a.keys() != b.keys()) {
    throw Error(
        Errc::kShape,
        fmt::format("{} and {} cannot be compared: expected A and B with the same number of "
                    "queries and of keys",
                    shape_text(a), shape_text(b)));
  }
  const Index batch = broadcast_extent(a.batch(), b.batch(), a, b);
  const Index heads = broadcast_extent(a.heads(), b.heads(), a, b);
  const auto pairs = diff_pairs(a, b, batch, heads, block);
  MaskDiff out;
  out.block = block;
  for (Index n = 0; n < batch; ++n) {
    for (Index h = 0; h < heads; ++h) {
      const PairDiff& pair = pairs.at({a.index_of(n, h), b.index_of(n, h)});
      out.both += pair.both;
      if (pair.only_a == 0 && pair.only_b == 0) continue;
      out.only_a += pair.only_a;
      out.only_b += pair.only_b;
      out.rows += pair.rows;
      out.blocks += pair.blocks;
      out.planes.push_back({n, h, pair.only_a, pair.only_b});
      if (out.first) continue;
      out.first = Cell{n, h, pair.first.query, pair.first.key};
      out.first_in_a = pair.first_in_a;
    }
  }
  return out;
}

std::string broadcast_words(const Mask& a, const Mask& b) {
  std::string out;
  const auto add = [&out](Index of_a, Index of_b, std::string_view plural) {
    if (of_a == of_b) return;
    const bool more_a = of_a > of_b;
    out += fmt::format("{}{} has {} {}, {} has 1, which is compared with each",
                       out.empty() ? "" : "; ", more_a ? "A" : "B", std::max(of_a, of_b), plural,
                       more_a ? "B" : "A");
  };
  add(a.batch(), b.batch(), "batches");
  add(a.heads(), b.heads(), "heads");
  return out;
}

}  // namespace maskctl
