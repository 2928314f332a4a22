// Differences that fill documents, rows, columns or a rectangle; and a mask moved along an axis.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/inspect/diff_finding.h"
#include "maskctl/inspect/recognise_cells.h"
#include "maskctl/mask/bands.h"
#include "maskctl/mask/leaves.h"

namespace maskctl {
namespace {

std::vector<Range> ranges_of(const std::vector<std::uint8_t>& flags) {
  std::vector<Range> out;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (flags[i] == 0) continue;
    const auto at = static_cast<Index>(i);
    if (!out.empty() && out.back().end == at) {
      ++out.back().end;
    } else {
      out.push_back({at, at + 1});
    }
  }
  return out;
}

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
std::optional<Emptied> emptied(const PlanePtr& fuller, const PlanePtr& emptier,
                               const PlanePtr& extra) {
  const Touched in_full = touched(*fuller), in_empty = touched(*emptier);
  Emptied out{only_in(in_full.q, in_empty.q), only_in(in_full.k, in_empty.k)};
  const PlanePtr rows = query_flags(out.q, fuller->keys());
  const PlanePtr columns = key_flags(fuller->queries(), out.k);
  if (!inside(extra, combine(Op::kOr, rows, columns))) return std::nullopt;
  return out;
}

bool any(const std::vector<std::uint8_t>& flags) {
  return std::find(flags.begin(), flags.end(), 1) != flags.end();
}

/// Rows and columns that see each other and nothing else: documents of the fuller mask.
MaybeFinding whole_documents(const PlanePair& pair, const PlanePtr& fuller, const Emptied& found) {
  if (!any(found.q) || !any(found.k)) return std::nullopt;
  const PlanePtr rows = query_flags(found.q, pair.keys());
  const PlanePtr columns = key_flags(pair.queries(), found.k);
  if (!disjoint(fuller, combine(Op::kXor, rows, columns))) return std::nullopt;
  const auto queries = ranges_of(found.q), keys = ranges_of(found.k);
  return Finding{"document",
                 queries == keys
                     ? fmt::format("the document of {}", ranges_words("token", queries))
                     : fmt::format("the document of {} and {}", ranges_words("query", queries),
                                   ranges_words("key", keys))};
}

std::string line_words(const Emptied& found) {
  std::string out;
  if (any(found.q)) out = "rows of " + ranges_words("query", ranges_of(found.q));
  if (any(found.k)) {
    out += (out.empty() ? "" : " and ") + ("columns of " + ranges_words("key", ranges_of(found.k)));
  }
  return out;
}

MaybeFinding closed_lines(const PlanePair& pair) {
  if (!is_empty(pair.only_b)) return std::nullopt;
  const auto found = emptied(pair.a, pair.b, pair.only_a);
  if (!found) return std::nullopt;
  if (auto documents = whole_documents(pair, pair.a, *found)) {
    documents->words += " missing";
    return documents;
  }
  return Finding{"padding", line_words(*found) + " closed"};
}

/// Rows that see nothing in A see everything in B.
MaybeFinding opened_lines(const PlanePair& pair) {
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
  return Finding{"padding", "padding open: " + line_words(*found)};
}

/// Cells from the first to the last row and column with a difference.
MaybeFinding rectangle_of(const PlanePair& pair) {
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
  return Finding{"other", fmt::format("{}, {} {}", range_words("query", hull.q),
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

MaybeFinding regions_finding(const PlanePair& pair) {
  for (const auto region : {closed_lines, opened_lines, rectangle_of}) {
    if (auto found = region(pair)) return found;
  }
  return std::nullopt;
}

MaybeFinding shift_finding(const PlanePair& pair) {
  const Hull a = hull_of(*pair.a), b = hull_of(*pair.b);
  if (a.q.empty() || b.q.empty()) return std::nullopt;
  for (const Index right : {b.k.begin - a.k.begin, b.k.end - a.k.end}) {
    if (right == 0 || !is_shifted(pair, 0, right)) continue;
    return Finding{"shift", fmt::format("all cells moved by {} keys{}", right,
                                        right == pair.shift() ? " (K - Q)" : "")};
  }
  for (const Index down : {b.q.begin - a.q.begin, b.q.end - a.q.end}) {
    if (down == 0 || !is_shifted(pair, down, 0)) continue;
    return Finding{"shift", fmt::format("all cells moved by {} queries{}", down,
                                        down == -pair.shift() ? " (Q - K)" : "")};
  }
  return std::nullopt;
}

}  // namespace maskctl
