// Reads the parents of tokens off the rows of a tree.
#include <algorithm>
#include <cstdlib>
#include <optional>

#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/steps/tree_parents.h"

namespace maskctl::step {
namespace {

/// The parents that the rows of a plane show, token 0 being that of query 0: the token before a
/// row's own among those that it sees. Where the next row, a child, says otherwise, the one that
/// agrees with the number of keys that the child sees.
class ParentsOfRows {
 public:
  /// Nothing if more than a few rows that see keys do not see their own token last, or the rows
  /// have more runs than are worth reading.
  static std::optional<Tokens> of(const Plane& plane) {
    ParentsOfRows reader;
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
    reader.settle({});
    return std::move(reader.parents_);
  }

 private:
  static constexpr Index kRunsAtOnce = 4096, kMostRuns = Index{1} << 24;

  static Index size_of(std::span<const Run> runs) {
    Index sum = 0;
    for (const Run& run : runs) sum += run.end - run.begin;
    return sum;
  }
  /// The key before `token` among the keys of a row, or -1.
  static std::int32_t before(std::span<const Run> runs, Index token) {
    std::int32_t out = kRoot;
    for (const Run& run : runs) {
      if (run.begin >= token) break;
      out = static_cast<std::int32_t>(std::min<Index>(run.end, token)) - 1;
    }
    return out;
  }

  bool add(Index token, std::span<const Run> runs) {
    settle(runs);
    if (runs.empty()) {
      parents_.push_back(kOutside);
      depth_.push_back(0);
      return true;
    }
    // A few rows may have lost their own key, or see one past it.
    if (runs.back().end != token + 1 && ++odd_ > kOddRows + token / 16) return false;
    const std::int32_t parent = before(runs, token);
    parents_.push_back(parent);
    depth_.push_back(parent < 0 ? 0 : depth_[as_size(parent)] + 1);
    return true;
  }
  /// Looks at the last token again, now that the row of the next one is known.
  void settle(std::span<const Run> next) {
    if (parents_.empty() || parents_.back() == kOutside || next.empty()) return;
    const auto token = std::ssize(parents_) - 1;
    if (before(next, token + 1) != token) return;  // not its child
    const std::int32_t other = before(next, token);
    if (other == parents_.back() || (other >= 0 && parents_[as_size(other)] == kOutside)) return;
    const auto depth_after = [&](std::int32_t parent) {
      return parent < 0 ? Index{0} : depth_[as_size(parent)] + 1;
    };
    const Index keys = size_of(next) - 2;
    const Index mine = depth_.back(), its = depth_after(other);
    if (std::abs(keys - its) >= std::abs(keys - mine)) return;
    parents_.back() = other;
    depth_.back() = its;
  }

  static constexpr Index kOddRows = 4;

  Tokens parents_;
  std::vector<Index> depth_;
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

}  // namespace

std::vector<Chain> guesses(const Tree*, const SampledRows& rows) {
  if (rows.queries() != rows.keys()) return {};
  // Paths around another branch have several runs.
  bool around = false;
  for (Index i = 0; i < rows.size() && !around; ++i) {
    around = rows[i].runs.size() > 1 && rows[i].runs.back().end == rows[i].query + 1;
  }
  if (!around) return {};
  const auto parents = ParentsOfRows::of(rows.plane());
  if (!parents) return {};
  Tree tree = stretches_of(*parents);
  const auto forks = [&](std::size_t i) {
    return tree.after[i] != static_cast<Index>(i) && tree.after[i] + 1 != static_cast<Index>(i);
  };
  for (std::size_t i = 0; i < tree.lens.size(); ++i) {
    if (forks(i)) return {{Step(std::move(tree))}};
  }
  return {};
}

}  // namespace maskctl::step
