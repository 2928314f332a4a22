#include "maskctl/inspect/diff/captured.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "maskctl/base/error.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/rows.h"

namespace maskctl {
namespace {

constexpr Index kMostBytes = Index{4} << 30;  // of the runs of masks that are joined

/// The positions of the queries.
Range queries_of(const Mask& mask) {
  const Index before = std::max<Index>(mask.keys() - mask.queries(), 0);
  return {before, before + mask.queries()};
}

bool is_short(const Mask& mask) { return mask.queries() < mask.keys(); }

bool broadcasts(Index a, Index b) { return a == b || a == 1 || b == 1; }

/// Whether the queries of masks, sorted by position, follow each other without a gap.
bool follow_each_other(std::span<const Mask> masks) {
  for (std::size_t i = 1; i < masks.size(); ++i) {
    const Mask &one = masks[i - 1], &next = masks[i];
    if (queries_of(one).end != queries_of(next).begin) return false;
    if (!broadcasts(one.batch(), next.batch()) || !broadcasts(one.heads(), next.heads())) {
      return false;
    }
  }
  return true;
}

/// Masks that follow each other as one; its keys are those of the last.
Mask joined_masks(std::span<const Mask> masks) {
  if (masks.size() == 1) return masks.front();
  Index batch = 1, heads = 1;
  std::vector<Index> ends;  // rows of the whole that end a mask
  for (const Mask& mask : masks) {
    batch = std::max(batch, mask.batch());
    heads = std::max(heads, mask.heads());
    ends.push_back(mask.queries() + (ends.empty() ? 0 : ends.back()));
  }
  return Mask::make(batch, heads, ends.back(), masks.back().keys(), [&](Index b, Index h) {
    const auto fill = [&](Index row, std::vector<Run>& runs) {
      const auto at = as_size(std::ranges::upper_bound(ends, row) - ends.begin());
      const Index inner = row - (at == 0 ? 0 : ends[at - 1]);
      std::vector<Run> scratch;
      masks[at].plane(b, h)->rows({inner, inner + 1}, [&](Range, const Keys& keys) {
        const auto open = as_runs(keys, scratch);
        runs.insert(runs.end(), open.begin(), open.end());
      });
    };
    return filled_lists(ends.back(), masks.back().keys(), 1, {kMostBytes, 0}, fill);
  });
}

struct Pair {
  Mask a, b;
};

/// Which masks are compared; nothing where it is not known which belong to each other.
std::optional<std::vector<Pair>> pairs_of(const std::vector<Mask>& a, const std::vector<Mask>& b) {
  std::vector<Pair> out;
  if (a.size() == 1 || b.size() == 1) {
    for (const Mask& one : a) {
      for (const Mask& other : b) out.push_back({one, other});
    }
  } else if (a.size() == b.size()) {
    for (std::size_t i = 0; i < a.size(); ++i) out.push_back({a[i], b[i]});
  } else {
    return std::nullopt;
  }
  return out;
}

Mask cut(const Mask& mask, Range queries) {
  const Index before = queries_of(mask).begin;
  if (queries == queries_of(mask)) return mask;
  return sliced(mask, {0, mask.batch()}, {0, mask.heads()},
                {queries.begin - before, queries.end - before},
                {0, std::min(queries.end, mask.keys())});
}

/// Whether one of these queries sees a key behind the last of them, which the other run lacks.
bool sees_after(const Mask& mask, Range queries) {
  const Index before = queries_of(mask).begin;
  return mask.keys() > queries.end &&
         sliced(mask, {0, mask.batch()}, {0, mask.heads()},
                {queries.begin - before, queries.end - before}, {queries.end, mask.keys()})
                 .count() > 0;
}

std::string positions_text(const Mask& mask) {
  const Range queries = queries_of(mask);
  return queries.empty() ? "no queries" : fmt::format("{}-{}", queries.begin, queries.end - 1);
}

bool same_cells(const Mask& a, const Mask& b) { return same_shape(a, b) && diff(a, b).equal(); }

std::string first_of(std::span<const CapturedLayer> layers) {
  if (layers.empty()) return "none";
  const auto more = std::ssize(layers) - 1;
  return layers.front().name + (more > 0 ? fmt::format(" and {} more", more) : "");
}

class Comparison {
 public:
  Comparison(std::span<const CapturedLayer> a, std::span<const CapturedLayer> b) {
    for (const CapturedLayer& one : a) {
      const auto other = std::ranges::find(b, one.name, &CapturedLayer::name);
      if (other == b.end()) {
        out_.only_a.push_back(one.name);
      } else {
        compare(one, *other);
      }
    }
    for (const CapturedLayer& one : b) {
      if (std::ranges::find(a, one.name, &CapturedLayer::name) == a.end()) {
        out_.only_b.push_back(one.name);
      }
    }
    if (out_.only_a.size() == a.size()) {
      throw Error(
          Errc::kInvalidArgument,
          fmt::format("no layer is in both runs: A has {}, B has {}", first_of(a), first_of(b)));
    }
  }

  CapturedDiff take() { return std::move(out_); }

 private:
  void compare(const CapturedLayer& a, const CapturedLayer& b) {
    stop_();
    const std::size_t before = out_.uncompared.size();
    if (!a.unread.empty()) leave(a, fmt::format("not read in A: {}", a.unread));
    if (!b.unread.empty()) leave(a, fmt::format("not read in B: {}", b.unread));
    if (a.masks.empty() || b.masks.empty()) {
      if (out_.uncompared.size() == before) leave(a, "no mask of it was captured");
      return;
    }
    const std::vector<Mask> of_a = in_sequence(a.masks), of_b = in_sequence(b.masks);
    const auto pairs = pairs_of(of_a, of_b);
    if (!pairs) {
      return leave(a, fmt::format("which masks belong to each other is not known: {} in A and {} "
                                  "in B have queries at the same positions",
                                  of_a.size(), of_b.size()));
    }
    out_.by_last_tokens |=
        std::ranges::any_of(a.masks, is_short) || std::ranges::any_of(b.masks, is_short);
    for (const Pair& pair : *pairs) {
      if (!equal(a, pair)) return;
    }
    if (out_.uncompared.size() == before) out_.equal.push_back(a.name);
  }

  /// False if the two differ, which is noted.
  bool equal(const CapturedLayer& layer, const Pair& pair) {
    const auto& [a, b] = pair;
    const Range common = intersect(queries_of(a), queries_of(b));
    if (common.empty()) {
      leave(layer, fmt::format("queries, taken for the last tokens, have no position in common: {} "
                               "in A, {} in B",
                               positions_text(a), positions_text(b)));
      return true;
    }
    const bool same_keys = std::min(a.keys(), common.end) == std::min(b.keys(), common.end);
    if (!same_keys || !broadcasts(a.batch(), b.batch()) || !broadcasts(a.heads(), b.heads())) {
      leave(layer, fmt::format("{} in A, {} in B", shape_text(a), shape_text(b)));
      return true;
    }
    if (sees_after(a, common)) return leave_later(layer, "A", "B", common), true;
    if (sees_after(b, common)) return leave_later(layer, "B", "A", common), true;
    if (queries_of(a) != queries_of(b)) {
      add_note(layer,
               fmt::format("queries {}-{} alone are in both runs", common.begin, common.end - 1));
    }
    if (const std::string words = broadcast_words(a, b); !words.empty()) add_note(layer, words);
    const Mask one = cut(a, common), other = cut(b, common);
    const MaskDiff found = diff(one, other);
    if (found.equal()) return true;
    note(layer.name, one, other, common.begin, found);
    return false;
  }

  void note(const std::string& layer, const Mask& a, const Mask& b, Index begin,
            const MaskDiff& found) {
    for (CapturedDifference& known : out_.differences) {
      if (known.begin == begin && same_cells(known.a, a) && same_cells(known.b, b)) {
        known.layers.push_back(layer);
        return;
      }
    }
    CapturedDifference made{{layer}, a, b, begin, found, {}, {}};
    try {
      made.cause = diff_cause(a, b, found);
    } catch (const Error& error) {
      if (error.code() == Errc::kCancelled) throw;
      made.no_cause = error.what();
    } catch (const std::bad_alloc&) {
      made.no_cause = "not enough memory to look for it";
    }
    out_.differences.push_back(std::move(made));
  }

  void add_note(const CapturedLayer& layer, const std::string& text) {
    const auto same = [&](const LayerNote& one) {
      return one.layer == layer.name && one.text == text;
    };
    if (std::ranges::none_of(out_.notes, same)) out_.notes.push_back({layer.name, text});
  }

  void leave_later(const CapturedLayer& layer, const char* sees, const char* lacks, Range common) {
    leave(layer, fmt::format("queries {}-{} see keys from {} on in {}, which {} does not have",
                             common.begin, common.end - 1, common.end, sees, lacks));
  }

  void leave(const CapturedLayer& layer, std::string why) {
    out_.uncompared.push_back({layer.name, std::move(why)});
  }

  StopPoll stop_;
  CapturedDiff out_;
};

}  // namespace

std::vector<Mask> in_sequence(const std::vector<Mask>& masks) {
  std::vector<Mask> sorted = masks;
  std::ranges::stable_sort(sorted, {}, [](const Mask& mask) { return queries_of(mask).begin; });
  if (masks.empty() || !follow_each_other(sorted)) return masks;
  return {joined_masks(sorted)};
}

Cell CapturedDifference::first() const {
  Cell out = diff.first.value_or(Cell{});
  out.query += begin;
  return out;
}

CapturedDiff::Answer CapturedDiff::answer() const {
  if (!differences.empty() || !only_a.empty() || !only_b.empty()) return Answer::kDiffer;
  return uncompared.empty() ? Answer::kEqual : Answer::kUnknown;
}

CapturedDiff diff_captured(std::span<const CapturedLayer> a, std::span<const CapturedLayer> b) {
  return Comparison(a, b).take();
}

}  // namespace maskctl
