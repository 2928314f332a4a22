// Findings in what heads of one batch entry have in common: the borders of padding, prefixes and
// branches, which windows leave as they are; and windows, which are of heads and not of entries.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <span>
#include <vector>

#include "maskctl/base/text.h"
#include "maskctl/inspect/check/head_borders.h"
#include "maskctl/inspect/check/lint.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/mask/planes/bands.h"

namespace maskctl {

LintRule lint_row(RuleKey<FindingId::kHeadsBorders>) {
  return {
      .id = "heads-borders",
      .severity = Severity::kWarning,
      .summary = "heads of one batch entry end padding, a prefix or branches at different tokens",
      .claim = "that many queries see the key in the one head and not in the other",
      .why =
          "padding, prefixes and branches are of the tokens, which all heads share, and a "
          "window leaves the keys beside a query as they are: a border is off in some heads",
      .fix = "make the borders of all heads from one array of ids, lengths or parents",
      .example = "maskctl check gen:causal:n=16,h=2 -t 'heads:0{pad:lens=12}|heads:1{pad:lens=13}'",
      .unfixed = "which of the borders are right is not known"};
}

LintRule lint_row(RuleKey<FindingId::kHeadWindow>) {
  return {.id = "head-window",
          .severity = Severity::kWarning,
          .summary = "the window of a head differs between batch entries",
          .claim =
              "in one batch entry the head sees a key so far from its query, and in the other "
              "entry not a key that is no farther and that another head sees",
          .why =
              "a window is of a head, or of a layer, whatever the tokens: it is off by one in one "
              "entry, or the rows of another head were written there",
          .fix = "make the window of the head for all batch entries by one step",
          .example =
              "maskctl check gen:causal:n=16,b=2,h=2 -t "
              "'batch:0{heads:1{window:keys=4}}|batch:1{heads:1{window:keys=5}}'",
          .unfixed = "which of the windows is right is not known"};
}

namespace {

/// How queries without their own key lie in a plane: at its begin, its end or both, as padding
/// does.
enum class Ends : std::uint8_t { kNone, kPadding, kMostlyLast };

/// kMostlyLast: only the first of all queries see their own key, few of them, as in heads that see
/// the first keys alone. Where more of them do in another batch entry, they are `padded`.
Ends ends_of(std::span<const Index> queries, Index all, bool padded) {
  constexpr Index kLeastShare = 4;
  const Index count = std::ssize(queries);
  Index first = 0;
  while (first < count && queries[as_size(first)] == first) ++first;
  if (first == count) return Ends::kPadding;
  if (queries[as_size(first)] != all - (count - first)) return Ends::kNone;
  const bool few = first == 0 && kLeastShare * (all - count) < all;
  return few && !padded ? Ends::kMostlyLast : Ends::kPadding;
}

/// The queries that do not see the key at some distance in one head, and whether they are padding
/// by another batch entry: more queries see it there, or the same ones in all heads.
struct BlindQueries {
  std::vector<Index> queries;
  bool padded = false;
};

/// Where chunks begin whose borders are at queries that do not see the key at this distance.
Index first_border(std::span<const Index> queries, Index distance) {
  return queries.front() + std::max<Index>(0, distance);
}

/// The token from which chunks with several borders count; below 0 if the first one is shorter.
Index origin_of(std::span<const Index> queries, Index distance) {
  return first_border(queries, distance) - (queries[1] - queries[0]);
}

/// Whether the borders of two heads may be those of chunks of two sizes, which count from one
/// token. A border alone is that of a chunk with less than another one behind it.
bool may_be_chunks(std::span<const Index> one, std::span<const Index> other, Index distance,
                   Index all) {
  if (one.size() == 1) std::swap(one, other);
  const Index origin = origin_of(one, distance);
  if (origin < 0) return false;
  if (other.size() > 1) return origin_of(other, distance) == origin;
  const Index size = first_border(other, distance) - origin;
  return size > 0 && origin + 2 * size >= all;
}

/// Whether heads in which these queries do not see the key at this distance may be of two kinds:
/// one cut into chunks, with keys that are seen every few tokens, or with few keys before a query.
bool may_be_meant(const BlindQueries& of_one, const BlindQueries& of_other, Index distance,
                  Index all) {
  constexpr Index kLeastShare = 4;
  const std::span<const Index> one = of_one.queries, other = of_other.queries;
  if (distance == 0) {
    const bool padded = of_one.padded || of_other.padded;
    const Ends ends = ends_of(one, all, padded);
    return ends == Ends::kNone || ends != ends_of(other, all, padded);
  }
  // A head that sees few keys before queries' own sees them for another reason, such as a sink.
  const auto sees_few = [all](std::span<const Index> blind) {
    return kLeastShare * (all - std::ssize(blind)) < all;
  };
  if (distance < 0 && (sees_few(one) || sees_few(other))) return true;
  const auto step = step_of(one), others = step_of(other);
  if (step && others) {
    if (one.empty() || other.empty()) return true;
    return step != others && may_be_chunks(one, other, distance, all);
  }
  std::vector<Index> differ;
  std::ranges::set_symmetric_difference(one, other, std::back_inserter(differ));
  return differ.size() > 1 && step_of(differ).has_value();
}

/// Whether a plane sees so few keys after queries' own that these are a group of tokens, which all
/// heads should see alike.
bool is_group(const Plane& line, Index distance) {
  constexpr Index kMostShare = 4;
  return distance == 1 && kMostShare * line.count() < line.queries();
}

/// Looks for queries that see the key at one distance after their own in some head of an entry and
/// not in another, unless no query of it does, or where the borders are those of chunks.
std::optional<Finding> differing_borders(const Mask& mask, Index distance) {
  const PlanePtr band = diagonal_band(mask.queries(), mask.keys(), distance, distance);
  std::map<std::uint32_t, PlanePtr> lines;
  const auto line = [&](Index b, Index h) -> const PlanePtr& {
    const auto [at, fresh] = lines.try_emplace(mask.index_of(b, h));
    if (fresh) at->second = combine(Op::kAnd, mask.plane(b, h), band);
    return at->second;
  };
  const auto blind_in = [&](Index b, Index h) {
    BlindQueries out{blind(*line(b, h), distance)};
    for (Index entry = 0; entry < mask.batch() && !out.padded; ++entry) {
      const auto alike = [&](Index head) {
        return blind(*line(entry, head), distance) == out.queries;
      };
      const auto heads = std::views::iota(Index{0}, mask.heads());
      out.padded = line(entry, h)->count() > line(b, h)->count() ||
                   (entry != b && std::ranges::all_of(heads, alike));
    }
    return out;
  };
  const auto finding = [&](Index b, Index h, Index other) -> std::optional<Finding> {
    const PlanePtr seen = combine(Op::kSub, line(b, h), line(b, other));
    if (seen->count() == 0) return std::nullopt;
    if (may_be_meant(blind_in(b, h), blind_in(b, other), distance, mask.queries())) {
      return std::nullopt;
    }
    return border_seen(*seen, b, h, other, distance);
  };
  for (Index b = 0; b < mask.batch(); ++b) {
    std::optional<Index> usual, none;
    std::vector<Index> few;
    for (Index h = 0; h < mask.heads(); ++h) {
      if (line(b, h)->count() == 0) {
        none = h;
        continue;
      }
      if (is_group(*line(b, h), distance)) few.push_back(h);
      if (!usual) usual = h;
      if (mask.index_of(b, h) == mask.index_of(b, *usual)) continue;
      if (auto out = finding(b, h, *usual)) return out;
      if (auto out = finding(b, *usual, h)) return out;
    }
    if (none && !few.empty()) return finding(b, few.front(), *none);
  }
  return std::nullopt;
}

/// The window of a head in one batch entry, on one side of the queries' own keys, as far as the
/// cells tell.
struct WindowShown {
  Index least = 0;  // the farthest key that some query sees
  std::optional<Index>
      most;                // the nearest that is hidden, though it would be seen without a window
  std::optional<Cell> at;  // where it is hidden
  bool by_other = false;   // whether another head sees that cell

  bool fits(const WindowShown& other) const {
    return (!most || other.least < *most) && (!other.most || least < *other.most);
  }
};

/// The windows of one head in all batch entries.
class WindowsOfHead {
 public:
  /// Nothing where the head is no window of what other heads see, or hides nothing.
  static std::optional<std::vector<WindowShown>> of(const Mask& mask, Index head, bool later,
                                                    recognition::KnownPlanes& planes) {
    WindowsOfHead reader(mask, head, later, planes);
    std::vector<WindowShown> out;
    for (Index b = 0; b < mask.batch(); ++b) {
      auto shown = reader.shown(b);
      if (!shown) return std::nullopt;
      out.push_back(*shown);
    }
    return out;
  }

 private:
  WindowsOfHead(const Mask& mask, Index head, bool later, recognition::KnownPlanes& planes)
      : mask_(mask), head_(head), later_(later), tokens_(mask.keys()) {
    Index first = tokens_;
    for (Index b = 0; b < mask.batch(); ++b) {
      PlanePtr any = mask.plane(b, head);
      for (Index h = 0; h < mask.heads(); ++h) {
        if (mask.index_of(b, h) == mask.index_of(b, head)) continue;
        any = combine(Op::kOr, any, mask.plane(b, h));
      }
      hidden_.push_back(combine(Op::kSub, any, mask.plane(b, head)));
      if (hidden_.back()->count() > 0) {
        first = std::min(first, recognition::hull_of(*hidden_.back()).k.begin);
      }
    }
    // The first keys may be sinks, as far as none of them is hidden.
    if (first == tokens_) first = sinks(planes);
    const PlanePtr side = later ? diagonal_band(tokens_, tokens_, 1, kUnbounded)
                                : diagonal_band(tokens_, tokens_, -kUnbounded, 0);
    judged_ = combine(Op::kAnd, side, rectangle(tokens_, tokens_, {0, tokens_}, {first, tokens_}));
  }

  /// How many keys rows see in front of a gap. The gaps of trees are other branches.
  Index sinks(recognition::KnownPlanes& planes) const {
    constexpr Index kMostTokens = Index{1} << 16;
    Index out = 0;
    std::vector<Run> scratch;
    for (Index b = 0; b < mask_.batch() && tokens_ <= kMostTokens; ++b) {
      if (const auto part = part_of_tree(mask_.plane(b, head_), planes)) {
        out = std::max(out, part->sinks);
        continue;
      }
      mask_.plane(b, head_)->rows({0, tokens_}, [&](Range, const Keys& keys) {
        const auto runs = as_runs(keys, scratch);
        if (runs.size() == 2) out = std::max<Index>(out, runs[0].end);
      });
    }
    return out;
  }

  /// The distances from their queries of the open cells of a plane, on either side.
  std::optional<Range> distances(const Plane& plane) const {
    const auto reach = recognition::diagonals(plane);
    if (!reach) return std::nullopt;
    return later_ ? Range{reach->low, reach->high} : Range{-reach->high, -reach->low};
  }
  PlanePtr at_distance(const PlanePtr& plane, Index distance) const {
    const Index diagonal = later_ ? distance : -distance;
    return combine(Op::kAnd, plane, diagonal_band(tokens_, tokens_, diagonal, diagonal));
  }

  std::optional<WindowShown> shown(Index b) const {
    WindowShown out;
    const PlanePtr& plane = mask_.plane(b, head_);
    const PlanePtr seen = combine(Op::kAnd, plane, judged_);
    const PlanePtr hidden = combine(Op::kAnd, hidden_[as_size(b)], judged_);
    if (const auto reach = distances(*seen)) out.least = reach->end;
    if (const auto reach = distances(*hidden)) {
      if (reach->begin <= out.least) return std::nullopt;  // it is no window
      out.most = reach->begin;
      out.at = first_cell(*at_distance(hidden, *out.most));
      out.by_other = true;
    }
    if (out.most == out.least + 1 || out.least == 0) return out;
    if (const auto cell = cut_off(*plane, *at_distance(seen, out.least))) {
      out.most = out.least + 1;
      out.at = cell;
      out.by_other = false;
    }
    return out;
  }

  /// A cell whose query sees the token beside it, which sees the key, one of the `farthest`.
  std::optional<Cell> cut_off(const Plane& plane, const Plane& farthest) const {
    const auto sees = [&](Index q, Index k) { return plane.count({q, q + 1}, {k, k + 1}) > 0; };
    std::optional<Cell> out;
    recognition::each_row_while(farthest, [&](Range rows, const Keys& keys) {
      if (hull_of(keys).empty()) return true;
      for (Index beside = rows.begin; beside < rows.end && !out; ++beside) {
        const Index q = beside + (later_ ? -1 : 1), k = hull_of(keys).begin;
        if (q < 0 || q >= tokens_ || !sees(q, beside) || sees(q, k)) continue;
        out = Cell{0, 0, q, k};
      }
      return !out;
    });
    return out;
  }

  const Mask& mask_;
  Index head_;
  bool later_;
  Index tokens_;
  std::vector<PlanePtr> hidden_;  // of each batch entry: what other heads see
  PlanePtr judged_;
};

/// Whether the heads of each batch entry may have one window.
bool may_be_of_entries(std::span<const std::vector<WindowShown>> heads) {
  for (const auto& one : heads) {
    for (const auto& other : heads) {
      for (std::size_t b = 0; b < one.size(); ++b) {
        if (!one[b].fits(other[b])) return false;
      }
    }
  }
  return true;
}

/// Looks for a head whose windows differ in two batch entries, unless they may be of the entries.
std::optional<Finding> differing_windows(const Mask& mask, bool later,
                                         recognition::KnownPlanes& planes) {
  std::vector<std::vector<WindowShown>> heads;
  for (Index h = 0; h < mask.heads(); ++h) {
    auto shown = WindowsOfHead::of(mask, h, later, planes);
    if (!shown) return std::nullopt;
    heads.push_back(*std::move(shown));
  }
  if (may_be_of_entries(heads)) return std::nullopt;
  const char* side = later ? "after" : "before";
  for (Index h = 0; h < mask.heads(); ++h) {
    const auto& entries = heads[as_size(h)];
    for (Index b = 0; b < mask.batch(); ++b) {
      const WindowShown& narrow = entries[as_size(b)];
      const auto wide = std::ranges::max_element(entries, {}, &WindowShown::least);
      if (!narrow.most || wide->least < *narrow.most) continue;
      return Finding{
          &lint_rule(FindingId::kHeadWindow),
          fmt::format("head {} sees the key {} {} a query in batch entry {}, and in entry {} not "
                      "the key {} {}, which {} sees",
                      h, wide->least, side, wide - entries.begin(), b, *narrow.most, side,
                      narrow.by_other ? "another head" : "the token beside the query"),
          {b, h, narrow.at->query, narrow.at->key, {}, {}},
          wide->least - *narrow.most + 1};
    }
  }
  return std::nullopt;
}

}  // namespace

Findings lint_heads_alike(const Mask& mask, recognition::KnownPlanes& planes) {
  if (!has_few_heads(mask)) return {};
  for (const Index distance : {0, -1, 1}) {
    if (auto found = differing_borders(mask, distance)) return {*std::move(found)};
  }
  for (const bool later : {false, true}) {
    if (auto found = differing_windows(mask, later, planes)) return {*std::move(found)};
  }
  return {};
}

}  // namespace maskctl
