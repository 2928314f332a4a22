// Differences that fill documents, rows, columns or a rectangle; and a mask moved along an axis.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/inspect/diff_reason.h"
#include "maskctl/inspect/recognise_cells.h"
#include "maskctl/mask/bands.h"
#include "maskctl/mask/leaves.h"

namespace maskctl {
namespace {

using recognising::Hull;
using recognising::hull_of;
using recognising::ranges_of;
using recognising::Touched;
using recognising::touched;

/// Set where `more` has something and `less` nothing.
std::vector<std::uint8_t> only_in(const std::vector<std::uint8_t>& more,
                                  const std::vector<std::uint8_t>& less) {
  std::vector<std::uint8_t> out(more.size());
  for (std::size_t i = 0; i < more.size(); ++i) out[i] = more[i] != 0 && less[i] == 0 ? 1 : 0;
  return out;
}

/// The rows and columns that one of two masks leaves empty are all that it lacks. `fuller` has
/// `extra` cells more than the other.
struct Emptied {
  std::vector<std::uint8_t> q, k;
};

/// Every open cell of `plane` is in one of the rows or columns. Reads rows until one is not.
bool in_lines(const Plane& plane, const Emptied& lines) {
  const auto keys = static_cast<std::size_t>(plane.keys());
  // Of each key the end of the stretch of columns that it is in; itself where there is none.
  std::vector<std::int32_t> stretch_end(keys + 1, static_cast<std::int32_t>(keys));
  for (std::size_t key = keys; key-- > 0;) {
    stretch_end[key] = lines.k[key] ? stretch_end[key + 1] : static_cast<std::int32_t>(key);
  }
  return recognising::each_row_while(plane, [&](Range rows, const Keys& row) {
    const auto flags = std::span(lines.q).subspan(static_cast<std::size_t>(rows.begin),
                                                  static_cast<std::size_t>(rows.size()));
    if (std::ranges::find(flags, 0) == flags.end()) return true;
    std::vector<Run> scratch;
    if (row.is_words()) words_to_runs(row.words, scratch);
    return std::ranges::all_of(row.is_words() ? std::span<const Run>(scratch) : row.runs,
                               [&](const Run& run) {
                                 return stretch_end[static_cast<std::size_t>(run.begin)] >= run.end;
                               });
  });
}

std::optional<Emptied> emptied(const PlanePtr& fuller, const PlanePtr& emptier,
                               const PlanePtr& extra) {
  const Touched in_full = touched(*fuller), in_empty = touched(*emptier);
  Emptied out{only_in(in_full.q, in_empty.q), only_in(in_full.k, in_empty.k)};
  if (!in_lines(*extra, out)) return std::nullopt;
  return out;
}

bool any(const std::vector<std::uint8_t>& flags) {
  return std::find(flags.begin(), flags.end(), 1) != flags.end();
}

std::string tokens_words(const Emptied& found) {
  const auto queries = ranges_of(found.q), keys = ranges_of(found.k);
  if (queries == keys) return ranges_words("token", queries);
  return fmt::format("{} and {}", ranges_words("query", queries), ranges_words("key", keys));
}

/// Rows and columns that both went and saw each other are those of documents.
MaybeReason whole_documents(const PlanePair& pair, const PlanePtr& fuller, const Emptied& found) {
  if (!any(found.q) || !any(found.k)) return std::nullopt;
  const PlanePtr rows = query_flags(found.q, pair.keys());
  const PlanePtr columns = key_flags(pair.queries(), found.k);
  if (disjoint(fuller, combine(Op::kAnd, rows, columns))) return std::nullopt;
  return Reason{"document", "the document of " + tokens_words(found)};
}

/// One token at the end or the begin of what is open: padding moved by one looks like that.
bool one_token_at_an_end(const PlanePtr& fuller, const Emptied& found) {
  const auto queries = ranges_of(found.q), keys = ranges_of(found.k);
  const Hull hull = hull_of(*fuller);
  const auto touches = [](const std::vector<Range>& ranges, Range all) {
    return ranges.size() == 1 && ranges.front().size() == 1 &&
           (ranges.front().begin == all.begin || ranges.front().end == all.end);
  };
  return touches(queries, hull.q) || touches(keys, hull.k);
}

/// Documents of `fuller` that see nothing outside themselves and are gone from the other mask.
MaybeReason separate_documents(const PlanePair& pair, const PlanePtr& fuller,
                               const PlanePtr& emptier, const PlanePtr& extra) {
  if (is_empty(emptier)) return std::nullopt;  // of everything, any rule can be the reason
  const auto found = emptied(fuller, emptier, extra);
  if (!found || one_token_at_an_end(fuller, *found)) return std::nullopt;
  const PlanePtr columns = key_flags(pair.queries(), found->k);
  const PlanePtr of_rows = combine(Op::kAnd, fuller, query_flags(found->q, pair.keys()));
  const PlanePtr of_columns = combine(Op::kAnd, fuller, columns);
  const Index of_both = combine(Op::kAnd, of_rows, columns)->count();
  if (of_rows->count() != of_both || of_columns->count() != of_both) return std::nullopt;
  return whole_documents(pair, fuller, *found);
}

std::string line_words(const Emptied& found) {
  std::string out;
  if (any(found.q)) out = "rows of " + ranges_words("query", ranges_of(found.q));
  if (any(found.k)) {
    out += (out.empty() ? "" : " and ") + ("columns of " + ranges_words("key", ranges_of(found.k)));
  }
  return out;
}

MaybeReason closed_lines(const PlanePair& pair) {
  if (!is_empty(pair.only_b)) return std::nullopt;
  const auto found = emptied(pair.a, pair.b, pair.only_a);
  if (!found) return std::nullopt;
  if (auto documents = whole_documents(pair, pair.a, *found)) {
    documents->words += " missing";
    return documents;
  }
  return Reason{"padding", line_words(*found) + " closed"};
}

/// Rows that see nothing in A see everything in B.
MaybeReason opened_lines(const PlanePair& pair) {
  if (!is_empty(pair.only_a)) return std::nullopt;
  const auto found = emptied(pair.b, pair.a, pair.only_b);
  if (!found) return std::nullopt;
  if (auto documents = whole_documents(pair, pair.b, *found)) {
    documents->words += " added";
    return documents;
  }
  const PlanePtr rows = query_flags(found->q, pair.keys());
  const PlanePtr columns = key_flags(pair.queries(), found->k);
  if (!same_open(pair.only_b, combine(Op::kSub, combine(Op::kOr, rows, columns), pair.a))) {
    return std::nullopt;
  }
  return Reason{"padding", "padding open: " + line_words(*found)};
}

/// Cells from the first to the last row and column with a difference.
MaybeReason rectangle_of(const PlanePair& pair) {
  const bool closed = is_empty(pair.only_b);
  if (!closed && !is_empty(pair.only_a)) return std::nullopt;
  const PlanePtr& differing = closed ? pair.only_a : pair.only_b;
  const Hull hull = hull_of(*differing);
  const PlanePtr all = rectangle(pair.queries(), pair.keys(), hull.q, hull.k);
  const PlanePtr& empty = closed ? pair.b : pair.a;
  if (!same_open(differing,
                 closed ? combine(Op::kAnd, all, pair.a) : combine(Op::kSub, all, pair.a)) ||
      (closed && !disjoint(all, empty))) {
    return std::nullopt;
  }
  return Reason{"other", fmt::format("{}, {} {}", range_words("query", hull.q),
                                     range_words("key", hull.k), closed ? "closed" : "open")};
}

/// True when b at (q + down, k + right) is a at (q, k) wherever both are cells, and b is closed in
/// the rows and columns that come in.
bool is_shifted(const PlanePair& pair, Index down, Index right) {
  const Range from_q{std::max<Index>(0, -down), pair.queries() - std::max<Index>(0, down)};
  const Range from_k{std::max<Index>(0, -right), pair.keys() - std::max<Index>(0, right)};
  if (from_q.empty() || from_k.empty()) return false;
  const Range to_q{from_q.begin + down, from_q.end + down};
  const Range to_k{from_k.begin + right, from_k.end + right};
  const PlanePtr moved = pair.b->sliced(to_q, to_k);
  const Index open = moved->count();
  return open > 0 && open == pair.b->count() && same_open(pair.a->sliced(from_q, from_k), moved);
}

}  // namespace

MaybeReason cell_reason(const PlanePair& pair) {
  if (pair.only_a->count() + pair.only_b->count() > 1) return std::nullopt;
  return rectangle_of(pair);
}

MaybeReason documents_reason(const PlanePair& given) {
  const auto rest = uncovered(given);
  const PlanePair& pair = rest ? *rest : given;
  MaybeReason found;
  if (is_empty(pair.only_b)) {
    found = separate_documents(pair, pair.a, pair.b, pair.only_a);
    if (found) found->words += " missing";
  } else if (is_empty(pair.only_a)) {
    found = separate_documents(pair, pair.b, pair.a, pair.only_b);
    if (found) found->words += " added";
  }
  return found;
}

MaybeReason regions_reason(const PlanePair& pair) {
  const auto rest = uncovered(pair);
  if (rest && is_empty(rest->only_b)) {
    const auto found = emptied(rest->a, rest->b, rest->only_a);
    if (found && any(found->q) && any(found->k)) return closed_lines(*rest);
  }
  for (const auto region : {closed_lines, opened_lines, rectangle_of}) {
    if (auto found = region(pair)) return found;
  }
  return std::nullopt;
}

MaybeReason shift_reason(const PlanePair& pair) {
  const Hull a = hull_of(*pair.a), b = hull_of(*pair.b);
  if (a.q.empty() || b.q.empty()) return std::nullopt;
  for (const Index right : {b.k.begin - a.k.begin, b.k.end - a.k.end}) {
    if (right == 0 || !is_shifted(pair, 0, right)) continue;
    return Reason{"shift", fmt::format("all cells moved by {} keys{}", right,
                                       right == pair.shift() ? " (K - Q)" : "")};
  }
  for (const Index down : {b.q.begin - a.q.begin, b.q.end - a.q.end}) {
    if (down == 0 || !is_shifted(pair, down, 0)) continue;
    return Reason{"shift", fmt::format("all cells moved by {} queries{}", down,
                                       down == -pair.shift() ? " (Q - K)" : "")};
  }
  return std::nullopt;
}

}  // namespace maskctl
