// Makes random planes (one mask matrix each) in every representation, together with equal dense
// arrays.
#pragma once

#include <array>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/mask/rows.h"
#include "support/twin.h"

namespace maskctl::twin {

/// Returns a number in [low, high], from a seeded stream or from a property test that can shrink
/// it.
using Pick = std::function<Index(Index low, Index high)>;

inline Pick pick_from(std::mt19937& random) {
  return [&random](Index low, Index high) {
    return low + static_cast<Index>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
}

struct Pair {
  PlanePtr plane;
  Dense dense;
};

enum class Leaf {
  kEmpty,
  kFull,
  kDiagonal,
  kRectangle,
  kBands,
  kRowLists,
  kWords,
  kEqualIds,
  kDilated,
  kRandom,
  kKeyFlags,
  kQueryFlags,
  kBlockGrid,
  kLazy,
  kComplement,
  kTransposed,
};
inline constexpr int kLeaves = 16;

inline std::vector<std::uint8_t> flags(Index n, std::mt19937& random) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(n));
  for (std::uint8_t& flag : out) flag = random() % 3 != 0;
  return out;
}

inline Pair make_diagonal(const Pick& pick, Index q, Index k) {
  const Index low = pick(0, 5) == 0 ? -kUnbounded : pick(-q - 1, k + 1);
  const Index high = pick(0, 5) == 0 ? kUnbounded : low + pick(-1, k);
  return {diagonal_band(q, k, low, high),
          matrix(q, k, [&](Index i, Index j) { return j >= i + low && j <= i + high; })};
}

/// Makes up to four slabs (ranges of rows) with up to three bands of keys each; bands may overlap,
/// be empty or leave the plane.
inline Pair make_bands(const Pick& pick, Index q, Index k) {
  std::vector<Slab> slabs;
  for (Index begin = 0, i = 0; i < 4 && begin < q; ++i) {
    Slab slab;
    slab.q.begin = begin + pick(0, std::min<Index>(3, q - begin - 1));
    slab.q.end = pick(slab.q.begin + 1, q);
    begin = slab.q.end;
    for (Index n = pick(0, 3); n > 0; --n) {
      Band band;
      band.begin_slope = static_cast<std::uint8_t>(pick(0, 1));
      band.end_slope = static_cast<std::uint8_t>(pick(0, 1));
      band.begin = pick(-q - 2, k + 2);
      band.end = pick(-q - 2, k + 2);
      slab.bands.push_back(band);
    }
    slabs.push_back(slab);
  }
  Dense dense = matrix(q, k, [&](Index i, Index j) {
    for (const Slab& slab : slabs) {
      for (const Band& band : slab.bands) {
        if (slab.q.contains(i) && j >= band.begin_at(i) && j < band.end_at(i)) return true;
      }
    }
    return false;
  });
  return {bands(q, k, slabs), std::move(dense)};
}

/// Makes a few lists of runs, some empty. Each row refers to one of the lists and clips it to a key
/// range.
inline Pair make_row_lists(const Pick& pick, Index q, Index k, std::mt19937& random) {
  std::vector<Run> runs;
  std::vector<Index> offsets = {0};
  const Index lists = pick(1, 4), longest_gap = pick(1, 40);
  for (Index i = 0; i < lists; ++i) {
    for (Index at = static_cast<Index>(random() % static_cast<unsigned>(longest_gap)); at < k;) {
      const Index end = std::min<Index>(
          k, at + 1 + static_cast<Index>(random() % static_cast<unsigned>(longest_gap)));
      runs.push_back({static_cast<std::int32_t>(at), static_cast<std::int32_t>(end)});
      at = end + 1 + static_cast<Index>(random() % static_cast<unsigned>(longest_gap));
    }
    offsets.push_back(static_cast<Index>(runs.size()));
  }
  std::vector<RowRef> refs;
  for (Index i = 0; i < q; ++i) {
    if (i > 0 && random() % 2 == 0) {
      refs.push_back(refs.back());
      continue;
    }
    const auto below = [&](Index n) {
      return static_cast<Index>(random() % static_cast<unsigned>(n));
    };
    const Index begin = random() % 3 == 0 ? below(k + 1) : 0;
    Index end = k;
    if (random() % 3 == 0) end = begin + below(k - begin + 1);
    // An empty clip, which may lie inside a run.
    if (random() % 8 == 0) end = begin;
    refs.push_back({static_cast<std::uint32_t>(below(lists)), static_cast<std::int32_t>(begin),
                    static_cast<std::int32_t>(end)});
  }
  Dense dense = matrix(q, k, [&](Index i, Index j) {
    const RowRef& ref = refs[static_cast<std::size_t>(i)];
    for (Index r = offsets[ref.list]; r < offsets[ref.list + 1]; ++r) {
      const Run& run = runs[static_cast<std::size_t>(r)];
      if (j >= run.begin && j < run.end && j >= ref.begin && j < ref.end) return true;
    }
    return false;
  });
  return {row_lists(k, std::move(runs), std::move(offsets), std::move(refs)), std::move(dense)};
}

/// Makes a plane of bit words from random rows, dense or sparse; some rows repeat the one before.
inline Pair make_words(const Pick& pick, Index q, Index k, std::mt19937& random) {
  const unsigned one_in = static_cast<unsigned>(pick(2, 6));
  Dense dense(1, 1, q, k);
  for (Index i = 0; i < q; ++i) {
    const bool repeat = i > 0 && random() % 4 == 0;
    for (Index j = 0; j < k; ++j) {
      dense.set(i, j, repeat ? dense.get(i - 1, j) : random() % one_in == 0);
    }
  }
  const bool in_order = pick(0, 1) == 1;
  PlanePtr plane = stored_rows(q, k, in_order, [&](Range rows, std::span<std::uint64_t> words) {
    const std::size_t width = static_cast<std::size_t>((k + 63) / 64);
    std::fill(words.begin(), words.end(), 0);
    for (Index i = rows.begin; i < rows.end; ++i) {
      for (Index j = 0; j < k; ++j) {
        if (!dense.get(i, j)) continue;
        words[static_cast<std::size_t>(i - rows.begin) * width +
              static_cast<std::size_t>(j / 64)] |= std::uint64_t{1} << (j % 64);
      }
    }
  });
  return {std::move(plane), std::move(dense)};
}

/// Makes a plane that is open where query id and key id are equal. Ids come in runs, may come back,
/// and one of them may be closed for queries, keys or both.
inline Pair make_equal_ids(const Pick& pick, Index q, Index k, std::mt19937& random) {
  const unsigned values = static_cast<unsigned>(pick(1, 5)),
                 change_every = static_cast<unsigned>(pick(1, 20));
  const auto ids = [&](Index n) {
    std::vector<std::int32_t> out(static_cast<std::size_t>(n));
    std::int32_t id = 0;
    for (std::int32_t& value : out) {
      if (random() % change_every == 0) id = static_cast<std::int32_t>(random() % values) - 1;
      value = id;
    }
    return out;
  };
  const std::vector<std::int32_t> a = ids(q), b = q == k && pick(0, 1) == 1 ? a : ids(k);
  const std::int32_t closed = static_cast<std::int32_t>(pick(-1, 1));
  const Side side = static_cast<Side>(pick(0, 3));
  Dense dense = matrix(q, k, [&](Index i, Index j) {
    const std::int32_t x = a[static_cast<std::size_t>(i)], y = b[static_cast<std::size_t>(j)];
    if (x == closed && (side == Side::kQuery || side == Side::kBoth)) return false;
    if (y == closed && (side == Side::kKey || side == Side::kBoth)) return false;
    return x == y;
  });
  return {equal_ids(a, b, closed, side), std::move(dense)};
}

inline Pair make_dilated(const Pick& pick, Index q, Index k) {
  const Index stride = pick(1, 9), phase = pick(-10, 10);
  return {dilated(q, k, stride, phase),
          matrix(q, k, [&](Index i, Index j) { return (j - i - phase) % stride == 0; })};
}

inline Pair make_random(const Pick& pick, Index q, Index k) {
  const ThreefryKey key = prng_key(static_cast<std::uint64_t>(pick(0, 1000)));
  const auto first = static_cast<std::uint64_t>(pick(0, 1) == 0 ? 0 : pick(1, 5'000'000'000));
  const float p = static_cast<float>(pick(0, 10)) / 10;
  Dense dense = matrix(q, k, [&](Index i, Index j) {
    const std::uint64_t cell = first + static_cast<std::uint64_t>(i * k + j);
    const auto block = threefry2x32(
        key, {static_cast<std::uint32_t>(cell >> 32), static_cast<std::uint32_t>(cell)});
    return uniform_from_bits(block[0] ^ block[1]) < p;
  });
  return {random_plane(q, k, key, first, p), std::move(dense)};
}

inline Pair make_block_grid(const Pick& pick, Index q, Index k, std::mt19937& random) {
  const Index q_size = pick(1, 20), k_size = pick(1, 70);
  const Index columns = ceil_div(k, k_size);
  const std::vector<std::uint8_t> map = flags(ceil_div(q, q_size) * columns, random);
  return {block_grid(q, k, q_size, k_size, map, columns), matrix(q, k, [&](Index i, Index j) {
            return map[static_cast<std::size_t>(i / q_size * columns + j / k_size)] != 0;
          })};
}

Pair make_leaf(Leaf kind, const Pick& pick, Index q, Index k);

/// Combines two random planes by an operation; the result may be computed on reading instead of
/// stored.
inline Pair make_lazy(const Pick& pick, Index q, Index k) {
  Pair a = make_leaf(static_cast<Leaf>(pick(0, 12)), pick, q, k);
  Pair b = make_leaf(static_cast<Leaf>(pick(0, 12)), pick, q, k);
  const Op op = static_cast<Op>(pick(0, 3));
  return {combine(op, a.plane, b.plane, 0), zip(op, a.dense, b.dense)};
}

/// Makes a q x k plane of the given kind and the equal dense array. q and k are at least 1.
inline Pair make_leaf(Leaf kind, const Pick& pick, Index q, Index k) {
  std::mt19937 random(static_cast<unsigned>(pick(0, 1 << 20)));
  switch (kind) {
    case Leaf::kEmpty:
      return {empty_plane(q, k), Dense(1, 1, q, k)};
    case Leaf::kFull:
      return {full_plane(q, k), Dense(1, 1, q, k, true)};
    case Leaf::kDiagonal:
      return make_diagonal(pick, q, k);
    case Leaf::kRectangle: {
      const Range rows{pick(0, q), pick(0, q)}, keys{pick(0, k), pick(0, k)};
      return {rectangle(q, k, rows, keys),
              matrix(q, k, [&](Index i, Index j) { return rows.contains(i) && keys.contains(j); })};
    }
    case Leaf::kBands:
      return make_bands(pick, q, k);
    case Leaf::kRowLists:
      return make_row_lists(pick, q, k, random);
    case Leaf::kWords:
      return make_words(pick, q, k, random);
    case Leaf::kEqualIds:
      return make_equal_ids(pick, q, k, random);
    case Leaf::kDilated:
      return make_dilated(pick, q, k);
    case Leaf::kRandom:
      return make_random(pick, q, k);
    case Leaf::kKeyFlags: {
      const auto open = flags(k, random);
      return {key_flags(q, open),
              matrix(q, k, [&](Index, Index j) { return open[static_cast<std::size_t>(j)] != 0; })};
    }
    case Leaf::kQueryFlags: {
      const auto open = flags(q, random);
      return {query_flags(open, k),
              matrix(q, k, [&](Index i, Index) { return open[static_cast<std::size_t>(i)] != 0; })};
    }
    case Leaf::kBlockGrid:
      return make_block_grid(pick, q, k, random);
    case Leaf::kLazy:
      return make_lazy(pick, q, k);
    case Leaf::kComplement: {
      const Pair a = make_leaf(static_cast<Leaf>(pick(0, 13)), pick, q, k);
      return {complement(a.plane), complement(a.dense)};
    }
    case Leaf::kTransposed: {
      const Pair a = make_leaf(static_cast<Leaf>(pick(0, 13)), pick, k, q);
      return {a.plane->transposed(), transposed(a.dense)};
    }
  }
  return {};
}

inline const char* name(Leaf kind) {
  constexpr std::array<const char*, kLeaves> kNames = {
      "empty",      "full",      "diagonal",   "rectangle", "bands",     "row lists",
      "words",      "equal ids", "dilated",    "random",    "key flags", "query flags",
      "block grid", "lazy",      "complement", "transposed"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace maskctl::twin
