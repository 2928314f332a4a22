// Compares every operation of a plane (one mask matrix) with plain loops over an equal dense array.
#pragma once

#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "maskctl/mask/planes/words.h"
#include "support/tile_table_check.h"
#include "support/twin.h"

namespace maskctl::twin {

inline std::string text(Range r) {
  return "[" + std::to_string(r.begin) + ", " + std::to_string(r.end) + ")";
}

/// Returns what is wrong with the keys that a plane passes to a callback for a row; "" if nothing
/// is.
inline std::string bad_keys(const Keys& keys, Index extent) {
  if (keys.is_words()) {
    if (!keys.runs.empty()) return "both runs and words";
    if (static_cast<Index>(keys.words.size()) != words_for(extent)) return "wrong number of words";
    if (extent % 64 != 0 && keys.words.back() >> (extent % 64) != 0)
      return "bits past the last key";
  }
  Index last = -1;
  for (const Run& run : keys.runs) {
    if (run.begin <= last || run.end <= run.begin || run.end > extent) {
      return "runs that touch, are empty or leave the plane";
    }
    last = run.end;
  }
  return "";
}

/// Returns how the rows q of the plane differ from the dense array; "" if they do not.
inline std::string check_rows(const Plane& plane, const Dense& want, Range q) {
  std::ostringstream error;
  Index next = q.begin;
  std::vector<std::uint8_t> row(static_cast<std::size_t>(want.k));
  plane.rows(q, [&](Range equal, const Keys& keys) {
    if (!error.str().empty()) return;
    if (equal.begin != next || equal.end <= equal.begin || equal.end > q.end) {
      error << "rows " << text(q) << ": range " << text(equal) << " comes where " << next
            << " is next";
      return;
    }
    next = equal.end;
    if (const std::string bad = bad_keys(keys, want.k); !bad.empty()) {
      error << "rows " << text(q) << ": range " << text(equal) << " has " << bad;
      return;
    }
    write_row(keys, want.k, row.data());
    for (Index i = equal.begin; i < equal.end; ++i) {
      if (!std::equal(row.begin(), row.end(), want.cells.begin() + i * want.k)) {
        error << "rows " << text(q) << ": row " << i << " differs";
        return;
      }
    }
  });
  if (error.str().empty() && next != std::max(q.begin, q.end)) {
    error << "rows " << text(q) << ": ends at " << next;
  }
  return error.str();
}

/// Returns how count() or classify() of a rectangle differs from the dense array; "" if neither
/// does.
inline std::string check_rectangle(const Plane& plane, const Dense& want, Range q, Range k) {
  const std::string where = " of " + text(q) + " x " + text(k);
  if (const Index got = plane.count(q, k), expected = count(want, q, k); got != expected) {
    return "count" + where + " is " + std::to_string(got) + ", not " + std::to_string(expected);
  }
  if (const Fill got = plane.classify(q, k), expected = classify(want, q, k); got != expected) {
    return "classify" + where + " is " + std::to_string(static_cast<int>(got)) + ", not " +
           std::to_string(static_cast<int>(expected));
  }
  return "";
}

inline std::string check_counts(const Plane& plane, const Dense& want, Range q,
                                const std::vector<Index>& edges) {
  std::vector<Index> got(edges.size() - 1, 1000);  // counts() adds to these
  plane.counts(q, edges, got);
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    const Index expected = 1000 + count(want, q, {edges[i], edges[i + 1]});
    if (got[i] != expected) {
      return "counts of rows " + text(q) + " keys " + text({edges[i], edges[i + 1]}) + " is " +
             std::to_string(got[i] - 1000) + ", not " + std::to_string(expected - 1000);
    }
  }
  return "";
}

inline std::string check_tiles(const Plane& plane, const Dense& want, Range q, Index key_tile) {
  // tiles() must keep the tiles that the list has already, even one that looks like a neighbour.
  for (Fill fill : {Fill::kPartial, Fill::kFull}) {
    std::vector<TileRun> expected = tiles(want, q, key_tile);
    expected.insert(expected.begin(), TileRun{-1, 1, fill});
    std::vector<TileRun> got = {{-1, 1, fill}};
    plane.tiles(q, key_tile, got);
    if (got != expected) {
      std::ostringstream out;
      out << "tiles of " << key_tile << " keys in rows " << text(q) << ":";
      for (const TileRun& t : got) out << " " << t.first << "+" << t.count << "=" << int(t.fill);
      out << ", not";
      for (const TileRun& t : expected)
        out << " " << t.first << "+" << t.count << "=" << int(t.fill);
      return out.str();
    }
  }
  return "";
}

/// Draws a range inside [0, n): all of it, at most one element, or any range, perhaps empty.
inline Range some_range(Index n, std::mt19937& random) {
  const auto below = [&](Index m) {
    return static_cast<Index>(random() % static_cast<std::uint64_t>(m));
  };
  switch (random() % 5) {
    case 0:
      return {0, n};
    case 1: {
      const Index at = below(n + 1);
      return {at, std::min(at + 1, n)};
    }
    default: {
      const Index begin = below(n + 1);
      return {begin, begin + below(n + 1 - begin)};
    }
  }
}

/// Checks all operations that read the plane, on the whole and on `samples` random parts.
inline std::string check_reading(const Plane& plane, const Dense& want, std::mt19937& random,
                                 int samples) {
  if (plane.queries() != want.q || plane.keys() != want.k) return "extents";
  if (std::string e = check_rows(plane, want, {0, want.q}); !e.empty()) return e;
  if (std::string e = check_rectangle(plane, want, {0, want.q}, {0, want.k}); !e.empty()) return e;
  if (plane.bytes() < 0) return "bytes is negative";
  const Index tile_sizes[] = {1, 2, 3, 7, 16, 64, 100, std::max<Index>(want.k, 1), want.k + 1};
  for (int i = 0; i < samples; ++i) {
    const Range q = some_range(want.q, random), k = some_range(want.k, random);
    if (std::string e = check_rows(plane, want, q); !e.empty()) return e;
    if (std::string e = check_rectangle(plane, want, q, k); !e.empty()) return e;
    if (q.empty()) continue;
    if (std::string e = check_tiles(plane, want, q, tile_sizes[random() % 9]); !e.empty()) return e;
    std::vector<Index> edges = {k.begin};
    while (edges.back() < k.end) {
      const auto left = static_cast<std::uint64_t>(k.end - edges.back());
      edges.push_back(edges.back() + 1 + static_cast<Index>(random() % left));
    }
    if (std::string e = check_counts(plane, want, q, edges); !e.empty()) return e;
  }
  return "";
}

/// Checks every operation: reading the plane, its transpose and its slices, and its tile tables.
/// Returns the first difference, or "".
inline std::string check_plane(const PlanePtr& plane, const Dense& want, std::mt19937& random,
                               int samples) {
  const auto fail = [](const char* what, const std::string& e) { return e.empty() ? e : what + e; };
  if (std::string e = check_reading(*plane, want, random, samples); !e.empty()) return e;
  if (std::string e = fail("transposed: ", check_reading(*plane->transposed(), transposed(want),
                                                         random, samples / 2 + 1));
      !e.empty())
    return e;
  for (int i = 0; i <= samples / 4; ++i) {
    const Range q = some_range(want.q, random), k = some_range(want.k, random);
    const std::string what = "sliced " + text(q) + " x " + text(k) + ": ";
    if (std::string e = fail(what.c_str(), check_reading(*plane->sliced(q, k), sliced(want, q, k),
                                                         random, samples / 2 + 1));
        !e.empty())
      return e;
  }
  const Index q_tile = 1 + static_cast<Index>(random() % 40),
              k_tile = 1 + static_cast<Index>(random() % 100);
  return check_tile_tables(*plane, want, q_tile, k_tile);
}

}  // namespace maskctl::twin
