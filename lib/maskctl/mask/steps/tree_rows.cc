#include "maskctl/mask/steps/tree_rows.h"

#include <algorithm>
#include <limits>
#include <map>
#include <span>

#include "maskctl/mask/planes/words.h"

namespace maskctl::step {
namespace {

/// The keys of a row before its own token, which are those of its parent.
using Path = std::vector<Run>;

Path path_before(std::span<const Run> runs, Index token) {
  Path out;
  for (const Run& run : runs) {
    if (run.begin >= token) break;
    out.push_back({run.begin, static_cast<std::int32_t>(std::min<Index>(run.end, token))});
  }
  return out;
}

std::int32_t last_of(const Path& path) { return path.empty() ? kRoot : path.back().end - 1; }

void append_token(std::int32_t token, Path& path) {
  if (!path.empty() && path.back().end == token) {
    ++path.back().end;
  } else {
    path.push_back({token, token + 1});
  }
}

/// The row of a plane up to the token itself, which is added.
Path path_in(const Plane& plane, std::int32_t token) {
  Path out;
  plane.rows({token, token + 1}, [&](Range, const Keys& keys) {
    std::vector<Run> scratch;
    out = path_before(as_runs(keys, scratch), token);
  });
  append_token(token, out);
  return out;
}

/// The keys of a path that a token sees.
Path seen_of(Path path, Index token, const Sight& sight) {
  const Index first = std::max<Index>(0, token - sight.left);
  if (path.empty() || path.front().begin >= first || first <= sight.sinks) return path;
  Path out;
  for (const Run& run : path) {
    const auto sinks = static_cast<std::int32_t>(std::min<Index>(run.end, sight.sinks));
    if (run.begin < sinks) out.push_back({run.begin, sinks});
    const auto begin = static_cast<std::int32_t>(std::max<Index>(run.begin, first));
    if (begin < run.end) out.push_back({begin, run.end});
  }
  return out;
}

/// How many keys are in one of two paths, of which at most `most` are counted.
Index differing(const Path& one, const Path& other, Index most) {
  std::size_t i = 0, j = 0;  // ends of runs that were passed: inside one after an odd number
  std::int32_t last = 0;
  Index out = 0;
  while ((i < 2 * one.size() || j < 2 * other.size()) && out <= most) {
    const auto end = [](const Path& path, std::size_t at) {
      if (at >= 2 * path.size()) return std::numeric_limits<std::int32_t>::max();
      return at % 2 == 0 ? path[at / 2].begin : path[at / 2].end;
    };
    const std::int32_t next = std::min(end(one, i), end(other, j));
    if (i % 2 != j % 2) out += next - last;
    if (end(one, i) == next) ++i;
    if (end(other, j) == next) ++j;
    last = next;
  }
  return out;
}

constexpr Index kRunsAtOnce = 4096, kMostRuns = Index{1} << 24;

class ParentsOfRows {
 public:
  static std::optional<ReadParents> of(const Plane& plane, const Sight& sight) {
    ParentsOfRows reader(plane, sight);
    Index runs = 0, token = 0;
    bool fits = true;
    std::vector<Run> scratch;
    // Few rows at once where rows have many runs, so that reading ends soon after it has to.
    Index at_once = 1;
    for (Index q = 0; q < plane.queries() && fits;) {
      const Range part{q, std::min(q + at_once, plane.queries())};
      const Index before = runs;
      plane.rows(part, [&](Range rows, const Keys& keys) {
        const auto seen = as_runs(keys, scratch);
        runs += std::ssize(seen) * rows.size();
        for (token = rows.begin; token < rows.end && fits; ++token) {
          fits = runs <= kMostRuns && reader.add(token, seen);
        }
      });
      q = part.end;
      at_once = std::clamp<Index>(kRunsAtOnce * part.size() / std::max<Index>(runs - before, 1), 1,
                                  kRunsAtOnce);
    }
    if (!fits) return std::nullopt;
    return std::move(reader.out_);
  }

 private:
  static constexpr Index kOddRows = 4, kOddKeys = 4, kMostTried = 8;

  ParentsOfRows(const Plane& plane, const Sight& sight) : plane_(plane), sight_(sight) {}

  bool add(Index token, std::span<const Run> runs) {
    told_.push_back(false);
    Path path = path_before(runs, token);
    if (runs.empty()) {
      out_.parents.push_back(kOutside);
    } else {
      // A few rows may have lost their own key, or see one past it.
      if (runs.back().end != token + 1 && ++without_own_ > kOddRows + token / 16) return false;
      out_.parents.push_back(parent_of(path, token));
    }
    last_ = std::move(path);
    return true;
  }

  bool is_outside(std::int32_t token) const {
    return token >= 0 && out_.parents[as_size(token)] == kOutside;
  }

  /// The keys that the row of a token has for its children: those up to its own.
  Path path_of(std::int32_t token) const {
    if (token == kRoot) return {};
    if (token + 1 != std::ssize(out_.parents)) return path_in(plane_, token);
    Path out = last_;
    append_token(token, out);
    return out;
  }

  /// The same as the parents say, whatever the row of the token.
  Path path_told(std::int32_t token) {
    Path out;
    for (; token >= 0; token = out_.parents[as_size(token)], ++steps_) {
      if (!out.empty() && out.back().begin == token + 1) {
        out.back().begin = token;
      } else {
        out.push_back({token, token + 1});
      }
    }
    std::ranges::reverse(out);
    return out;
  }

  /// How many cells of a path are odd where this key is the parent of the token.
  Index odd_cells(const Path& path, std::int32_t parent, Index token, Index most) {
    const Index off = differing(path, seen_of(path_of(parent), token, sight_), most);
    if (off == 0 || steps_ > kMostRuns) return off;
    return std::min(off, differing(path, seen_of(path_told(parent), token, sight_), most));
  }

  std::int32_t parent_of(const Path& path, Index token) {
    const std::int32_t last = last_of(path);
    if (last == kRoot) return kRoot;
    const Index off = odd_cells(path, last, token, kOddKeys);
    if (off == 0) {
      told_[as_size(last)] = true;
      return last;
    }
    ++out_.odd;
    // The last keys may be the odd ones, or the row of the parent.
    std::int32_t best = last;
    Index least = is_outside(last) ? kUnbounded : off;
    Path before = path_before(path, last);
    for (Index skipped = 1; skipped <= std::min(kMostTried, least); ++skipped) {
      const std::int32_t other = last_of(before);
      if (!is_outside(other)) {
        const Index its = odd_cells(before, other, token, kOddKeys);
        if (skipped == 1 && its == 0 && off <= kOddKeys && !told_[as_size(last)] &&
            !is_outside(last)) {
          out_.parents[as_size(last)] = other;
          return last;
        }
        if (skipped + its < least) {
          least = skipped + its;
          best = other;
        }
      }
      if (other == kRoot) break;
      before = path_before(before, other);
    }
    return best;
  }

  const Plane& plane_;
  Sight sight_;
  ReadParents out_;
  std::vector<bool> told_;  // whether the row of a child has the path of the token
  Path last_;               // of the token before
  Index without_own_ = 0, steps_ = 0;
};

/// A row beside that of its last key before its own, as evidence of a window.
struct CutRow {
  Index token = 0;
  Path seen, hidden;  // what both rows have, and what only that of the key has

  /// The distances of windows, from the least on and before the end, that leave such a row, where
  /// the first keys are seen anyway; an empty range if there are none.
  Range lefts(Index sinks, Index tokens) const {
    Index least = 0, end = tokens;
    for (const Run& run : seen) {
      if (run.end <= sinks) continue;
      least = token - std::max<Index>(run.begin, sinks);
      break;
    }
    if (!hidden.empty()) {
      if (hidden.front().begin < sinks) return {0, 0};
      end = token - last_of(hidden);
    }
    return {least, std::max(least, end)};
  }
};

Path difference(const Path& from, const Path& without) {
  Path out;
  for (Run run : from) {
    for (const Run& other : without) {
      if (other.end <= run.begin || other.begin >= run.end) continue;
      if (run.begin < other.begin) out.push_back({run.begin, other.begin});
      run.begin = other.end;
      if (run.begin >= run.end) break;
    }
    if (run.begin < run.end) out.push_back(run);
  }
  return out;
}

std::vector<CutRow> cut_rows(const Plane& plane) {
  constexpr Index kMostRows = 2048, kMostRunsOfRow = 256;
  std::vector<CutRow> out;
  const Index step = ceil_div(std::max<Index>(plane.queries(), 1), kMostRows);
  for (Index token = step; token < plane.queries(); token += step) {
    Path path = path_in(plane, static_cast<std::int32_t>(token));
    path = path_before(path, token);
    if (path.empty() || std::ssize(path) > kMostRunsOfRow) continue;
    const Path above = path_in(plane, last_of(path));
    if (std::ssize(above) > kMostRunsOfRow || !difference(path, above).empty()) continue;
    Path hidden = difference(above, path);
    out.push_back({token, std::move(path), std::move(hidden)});
  }
  return out;
}

}  // namespace

std::optional<ReadParents> parents_of_rows(const Plane& plane, const Sight& sight) {
  return ParentsOfRows::of(plane, sight);
}

std::optional<Sight> sight_of(const Plane& plane) {
  constexpr Index kMostSinks = 16, kLeastCut = 2;
  const std::vector<CutRow> rows = cut_rows(plane);
  const auto cut =
      std::ranges::count_if(rows, [](const CutRow& row) { return !row.hidden.empty(); });
  if (cut < kLeastCut) return std::nullopt;
  std::optional<Sight> out;
  Index most = 0;
  for (Index sinks = 0; sinks <= kMostSinks; ++sinks) {
    std::map<Index, Index> changes;  // in the number of rows that a distance leaves
    for (const CutRow& row : rows) {
      const Range lefts = row.lefts(sinks, plane.keys());
      if (lefts.empty()) continue;
      ++changes[lefts.begin];
      --changes[lefts.end];
    }
    Index fitting = 0;
    for (const auto& [left, change] : changes) {
      fitting += change;
      if (fitting <= most || left == 0) continue;
      most = fitting;
      out = Sight{left, sinks};
    }
  }
  return out;
}

}  // namespace maskctl::step
