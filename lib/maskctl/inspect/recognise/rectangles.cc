#include "maskctl/inspect/recognise/rectangles.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/rows.h"

namespace maskctl::recognition {
namespace {

constexpr Index kMostSearched = Index{1} << 20;
constexpr std::size_t kMostRows = 256;  // rows that are compared in pairs
constexpr std::size_t kMostParts = 64;  // most common intersections that are examined
constexpr std::size_t kSeeds = 6, kRowSeeds = 2;

using Bits = std::vector<std::uint64_t>;

bool meet(const Bits& a, const Bits& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if ((a[i] & b[i]) != 0) return true;
  }
  return false;
}
bool inside(const Bits& a, const Bits& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if ((a[i] & ~b[i]) != 0) return false;
  }
  return true;
}

bool has(const Bits& bits, std::size_t i) { return (bits[i / 64] >> (i % 64) & 1) != 0; }

/// For each query with a closed cell, the keys that are closed for some query but not for this one.
/// For other queries, no keys.
std::vector<Bits> allowed_rows(const Plane& closed) {
  const auto stride = static_cast<std::size_t>(words_for(closed.keys()));
  const Touched marked = touched(closed);
  Bits all(stride);
  for (std::size_t k = 0; k < marked.k.size(); ++k) {
    if (marked.k[k]) all[k / 64] |= std::uint64_t{1} << (k % 64);
  }
  std::vector<Bits> out(static_cast<std::size_t>(closed.queries()), all);
  Bits row(stride);
  closed.rows({0, closed.queries()}, [&](Range rows, const Keys& keys) {
    if (keys.is_words()) {
      row.assign(keys.words.begin(), keys.words.end());
    } else {
      runs_to_words(keys.runs, row);
    }
    for (Index q = rows.begin; q < rows.end; ++q) {
      Bits& allowed = out[static_cast<std::size_t>(q)];
      combine_words(Op::kSub, allowed, row, allowed);
      if (!marked.q[static_cast<std::size_t>(q)]) std::fill(allowed.begin(), allowed.end(), 0);
    }
  });
  return out;
}

/// The distinct rows; if these are more than kMostRows, that many, evenly spread in sorted order.
std::vector<Bits> some_distinct(std::vector<Bits> rows) {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  if (rows.size() <= kMostRows) return rows;
  std::vector<Bits> some;
  for (std::size_t i = 0; i < kMostRows; ++i) some.push_back(rows[i * rows.size() / kMostRows]);
  return some;
}

struct Rectangle {
  Bits q, k;
};

struct BitsHash {
  std::size_t operator()(const Bits& bits) const {
    std::uint64_t hash = 0;
    for (const std::uint64_t word : bits) hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
    return static_cast<std::size_t>(hash);
  }
};

/// The intersections of all pairs of rows, the most frequent first.
std::vector<Bits> common_parts(const std::vector<Bits>& rows) {
  std::unordered_map<Bits, Index, BitsHash> times;
  Bits part(rows.front().size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = i + 1; j < rows.size(); ++j) {
      combine_words(Op::kAnd, rows[i], rows[j], part);
      if (popcount(part) > 0) ++times[part];
    }
  }
  std::vector<std::pair<Bits, Index>> found(times.begin(), times.end());
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::vector<Bits> parts;
  for (std::size_t i = 0; i < std::min(found.size(), kMostParts); ++i) {
    parts.push_back(std::move(found[i].first));
  }
  return parts;
}

/// The plane of rectangle number `seed` and all others that share no query (with by_keys no key
/// either) with those taken before.
PlanePtr disjoint_from(const std::vector<Rectangle>& rectangles, std::size_t seed, bool by_keys,
                       const Plane& like) {
  std::vector<const Rectangle*> set{&rectangles[seed]};
  for (const Rectangle& next : rectangles) {
    const bool fits = std::none_of(set.begin(), set.end(), [&](const Rectangle* taken) {
      return meet(taken->q, next.q) || (by_keys && meet(taken->k, next.k));
    });
    if (fits) set.push_back(&next);
  }
  std::vector<const Bits*> keys_of(static_cast<std::size_t>(like.queries()));
  for (const Rectangle* rectangle : set) {
    for (std::size_t q = 0; q < keys_of.size(); ++q) {
      if (has(rectangle->q, q)) keys_of[q] = &rectangle->k;
    }
  }
  const Bits none(rectangles.front().k.size());
  return stored_rows(like.queries(), like.keys(), true,
                     [&](Range q, std::span<std::uint64_t> words) {
                       for (Index row = q.begin; row < q.end; ++row) {
                         const Bits* keys = keys_of[static_cast<std::size_t>(row)];
                         std::ranges::copy(keys ? *keys : none, words.begin());
                         words = words.subspan(none.size());
                       }
                     });
}

}  // namespace

std::vector<PlanePtr> common_rectangles(const Plane& closed) {
  if (closed.queries() * closed.keys() > kMostSearched) return {};
  const std::vector<Bits> rows = allowed_rows(closed);
  std::vector<Rectangle> rectangles;
  for (Bits& part : common_parts(some_distinct(rows))) {
    Rectangle rectangle{Bits(static_cast<std::size_t>(words_for(closed.queries()))), {}};
    for (std::size_t q = 0; q < rows.size(); ++q) {
      if (inside(part, rows[q])) rectangle.q[q / 64] |= std::uint64_t{1} << (q % 64);
    }
    rectangle.k = std::move(part);
    rectangles.push_back(std::move(rectangle));
  }
  std::vector<PlanePtr> out;
  for (std::size_t seed = 0; seed < std::min(rectangles.size(), kSeeds); ++seed) {
    out.push_back(disjoint_from(rectangles, seed, true, closed));
    if (seed < kRowSeeds) out.push_back(disjoint_from(rectangles, seed, false, closed));
  }
  return out;
}

}  // namespace maskctl::recognition
