// Reads the parents of tokens off the rows of a tree.
#include <algorithm>
#include <limits>
#include <optional>
#include <span>

#include "maskctl/mask/planes/computed_rows.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/mask/steps/tree_parents.h"

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

/// The parents that the rows of a plane show, token 0 being that of query 0: the key before a
/// row's own token, if its row has the same path, or nearly. A few cells may be odd: then the
/// parent is the key before that one, or a child tells the parent of its parent.
class ParentsOfRows {
 public:
  /// Nothing if more than a few rows that see keys do not see their own token last, or the rows
  /// have more runs than are worth reading.
  static std::optional<Tokens> of(const Plane& plane) {
    ParentsOfRows reader(plane);
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
    return std::move(reader.parents_);
  }

 private:
  static constexpr Index kRunsAtOnce = 4096, kMostRuns = Index{1} << 24;
  static constexpr Index kOddRows = 4, kOddKeys = 4;

  explicit ParentsOfRows(const Plane& plane) : plane_(plane) {}

  bool add(Index token, std::span<const Run> runs) {
    told_.push_back(false);
    Path path = path_before(runs, token);
    if (runs.empty()) {
      parents_.push_back(kOutside);
    } else {
      // A few rows may have lost their own key, or see one past it.
      if (runs.back().end != token + 1 && ++odd_ > kOddRows + token / 16) return false;
      parents_.push_back(parent_of(path));
    }
    last_ = std::move(path);
    return true;
  }

  /// The keys that the row of a token has for its children: those up to its own.
  Path path_of(std::int32_t token) const {
    if (token == kRoot) return {};
    Path out;
    if (token + 1 == std::ssize(parents_)) {
      out = last_;
    } else {
      plane_.rows({token, token + 1}, [&](Range, const Keys& keys) {
        std::vector<Run> scratch;
        out = path_before(as_runs(keys, scratch), token);
      });
    }
    if (!out.empty() && out.back().end == token) {
      ++out.back().end;
    } else {
      out.push_back({token, token + 1});
    }
    return out;
  }
  bool is_outside(std::int32_t token) const {
    return token >= 0 && parents_[as_size(token)] == kOutside;
  }

  std::int32_t parent_of(const Path& path) {
    const std::int32_t parent = last_of(path);
    if (parent == kRoot) return kRoot;
    const Index off = differing(path, path_of(parent), kOddKeys);
    if (off == 0) {
      told_[as_size(parent)] = true;
      return parent;
    }
    // The last key may be the odd one, or the row of the parent.
    const Path before = path_before(path, parent);
    const std::int32_t other = last_of(before);
    if (is_outside(other)) return parent;
    const Index without = differing(before, path_of(other), kOddKeys);
    if (without == 0 && off <= kOddKeys && !told_[as_size(parent)] && !is_outside(parent)) {
      parents_[as_size(parent)] = other;
      return parent;
    }
    return without + 1 < off || is_outside(parent) ? other : parent;
  }

  const Plane& plane_;
  Tokens parents_;
  std::vector<bool> told_;  // whether the row of a child has the path of the token
  Path last_;               // of the token before
  Index odd_ = 0;
};

/// The parents as stretches, which end where another token than the next one continues them.
Tree stretches_of(const Tokens& parents) {
  const auto tokens = std::ssize(parents);
  std::vector<bool> ends(parents.size() + 1);
  for (Index i = 0; i < tokens; ++i) {
    const std::int32_t parent = parents[as_size(i)];
    if (i > 0 && parent == i - 1) continue;
    if (i > 0) ends[as_size(i - 1)] = true;
    if (parent >= 0) ends[as_size(parent)] = true;
  }
  Tree out;
  std::vector<Index> stretch(parents.size());
  for (Index i = 0, first = 0; i < tokens && parents[as_size(i)] != kOutside; ++i) {
    const auto number = std::ssize(out.lens);
    stretch[as_size(i)] = number;
    if (!ends[as_size(i)] && i + 1 < tokens) continue;
    const std::int32_t parent = parents[as_size(first)];
    out.lens.push_back(i + 1 - first);
    out.after.push_back(parent == kRoot ? number : stretch[as_size(parent)]);
    first = i + 1;
  }
  return out;
}

/// The rows of a draft behind those of its context, each token of which sees the ones before it.
class BehindContext final : public ComputedRows {
 public:
  explicit BehindContext(const Plane& draft)
      : ComputedRows(draft.keys(), draft.keys()), draft_(draft) {}
  Index bytes() const override { return sizeof(*this); }

 private:
  void row(Index q, std::vector<Run>& runs) const override {
    const Index token = q - (draft_.keys() - draft_.queries());
    if (token < 0) return append_run({0, static_cast<std::int32_t>(q + 1)}, runs);
    draft_.rows({token, token + 1}, [&](Range, const Keys& keys) {
      std::vector<Run> scratch;
      for (const Run& run : as_runs(keys, scratch)) append_run(run, runs);
    });
  }

  const Plane& draft_;
};

/// Whether each token continues the one at a distance of more than one before it, which a dilation
/// says in one number.
bool is_dilated(const Tokens& parents) {
  Index distance = 0;
  for (Index i = 0; i < std::ssize(parents); ++i) {
    const std::int32_t parent = parents[as_size(i)];
    if (parent < 0) {
      if (distance > 0) return false;
      continue;
    }
    if (distance > 0 && i - parent != distance) return false;
    distance = i - parent;
  }
  return distance > 1;
}

}  // namespace

std::vector<Chain> guesses(const Tree*, const SampledRows& rows) {
  const Index context = rows.keys() - rows.queries();
  if (context < 0) return {};
  // If a path goes around another branch, its row has several runs.
  bool around = false;
  for (Index i = 0; i < rows.size() && !around; ++i) {
    around = rows[i].runs.size() > 1 && rows[i].runs.back().end == rows[i].query + context + 1;
  }
  if (!around) return {};
  const auto parents = context == 0 ? ParentsOfRows::of(rows.plane())
                                    : ParentsOfRows::of(BehindContext(rows.plane()));
  if (!parents || is_dilated(*parents)) return {};
  Tree tree = stretches_of(*parents);
  if (context > 0) tree.align = Align::kBottomRight;
  const auto forks = [&](std::size_t i) {
    return tree.after[i] != static_cast<Index>(i) && tree.after[i] + 1 != static_cast<Index>(i);
  };
  for (std::size_t i = 0; i < tree.lens.size(); ++i) {
    if (forks(i)) return {{Step(std::move(tree))}};
  }
  return {};
}

}  // namespace maskctl::step
