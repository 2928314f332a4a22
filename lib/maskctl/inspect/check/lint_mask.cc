// Findings in the mask itself: polarity, alignment, rows without keys; and in its documents.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "maskctl/base/text.h"
#include "maskctl/inspect/check/lint.h"
#include "maskctl/inspect/count/row_safety.h"
#include "maskctl/inspect/count/stats_parts.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/row_lists/row_keys.h"

namespace maskctl {
namespace {

constexpr BlockSize kKernelBlock{128, 128};
constexpr std::size_t kMostRanges = 4096;  // the most ranges of empty rows whose columns are read

std::string cells_text(Index cells) { return counted(cells, "cell"); }
std::string rows_text(Index rows) { return counted(rows, "row"); }

/// Counts the rows that a rule finds, over all planes.
struct RowTally {
  Index count = 0;
  Location first;

  void add(Index batch, Index head, Index query, Index rows) {
    if (count == 0) first = {batch, head, query, {}, {}, {}};
    count += rows;
  }
};

PlanePtr diagonals(const Plane& plane, Index low, Index high) {
  return diagonal_band(plane.queries(), plane.keys(), low, high);
}
Index open_in(const PlanePtr& plane, const PlanePtr& region) {
  return combine(Op::kAnd, plane, region)->count();
}
bool holds_all(const PlanePtr& plane, const PlanePtr& region) {
  return combine(Op::kSub, region, plane)->count() == 0;
}

/// All later keys are open and queries do not see themselves; or most cells are open and most
/// queries do not see themselves. If the queries are the last tokens, only the first condition
/// counts: masks of ranks and of drafts have other shapes.
bool looks_inverted_diagonal(const PlanePtr& plane) {
  const Index shift = plane->keys() - plane->queries();
  if (plane->queries() < 2 || shift < 0) return false;
  const PlanePtr own = diagonals(*plane, shift, shift);
  const PlanePtr future = diagonals(*plane, shift + 1, kUnbounded);
  const Index selves = open_in(plane, own);
  const bool sees_future = future->count() > 0 && holds_all(plane, future);
  if (shift > 0) return sees_future && 2 * selves < plane->queries();
  if (sees_future) return selves < plane->queries();
  return 2 * plane->count() > plane->queries() * plane->keys() && 2 * selves < plane->queries();
}

/// Queries see themselves and later keys, but hardly any earlier key: a transposed causal mask.
bool looks_transposed(const PlanePtr& plane) {
  if (plane->queries() != plane->keys()) return false;
  const PlanePtr past = diagonals(*plane, -kUnbounded, -1),
                 future = diagonals(*plane, 1, kUnbounded);
  const Index before = open_in(plane, past);
  if (before == 0) return open_in(plane, future) > 0;
  return 2 * before < past->count() && holds_all(plane, diagonals(*plane, 0, kUnbounded));
}

/// The closed cells form one square from the first token on, like the valid part of a padded
/// sequence.
bool looks_inverted_padding(const PlanePtr& plane) {
  const Index tokens = plane->keys();
  if (plane->queries() != tokens || tokens < 2) return false;
  Index valid = 0;  // number of leading closed keys of query 0
  plane->rows({0, 1}, [&](Range, const Keys& keys) { valid = first_open_key(keys); });
  if (valid <= 0) return false;
  const PlanePtr square = rectangle(tokens, tokens, {0, valid}, {0, valid});
  return plane->count() == tokens * tokens - valid * valid &&
         combine(Op::kAnd, plane, square)->count() == 0;
}

/// Runs a rule that examines one plane after the other. `say(planes, all)` makes its text.
template <typename Suspect, typename Say>
void lint_planes(std::string_view id, const Mask& mask, const std::vector<PlanePlace>& places,
                 const Suspect& suspect, const Say& say, Findings& out) {
  Location first;
  Index planes = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].times == 0 || !suspect(mask.distinct()[i])) continue;
    if (planes == 0) first = {places[i].batch, places[i].head, {}, {}, {}, {}};
    planes += places[i].times;
  }
  if (planes == 0) return;
  const std::string where = fmt::format("in {} of {} planes", planes, mask.batch() * mask.heads());
  out.push_back({&lint_rule(id), say(where), first, planes});
}

void lint_polarity(const Mask& mask, const std::vector<PlanePlace>& places, Findings& out) {
  lint_planes(
      "polarity", mask, places,
      [](const PlanePtr& plane) {
        return looks_inverted_diagonal(plane) || looks_inverted_padding(plane);
      },
      [](const std::string& where) {
        return "queries do not see themselves and the closed cells look like a mask, " + where;
      },
      out);
}

void lint_direction(const Mask& mask, const std::vector<PlanePlace>& places, Findings& out) {
  lint_planes(
      "anti-causal", mask, places,
      [](const PlanePtr& plane) {
        return looks_transposed(plane) && !looks_inverted_diagonal(plane);
      },
      [](const std::string& where) {
        return "queries see themselves and later keys instead of earlier ones, " + where;
      },
      out);
}

/// Rows that see every key of a mask that is otherwise causal, not counting the last row.
std::vector<Range> opened_rows(const PlanePtr& plane) {
  const Index tokens = plane->keys();
  std::vector<Range> full;
  if (plane->queries() != tokens || tokens < 3) return full;
  plane->row_sizes({0, tokens - 1}, [&](Range rows, const Plane::RowSize& size) {
    if (size.keys == tokens) full.push_back(rows);
  });
  PlanePtr rest = plane;
  for (const Range& rows : full) {
    rest = combine(Op::kSub, rest, rectangle(tokens, tokens, rows, {0, tokens}));
  }
  const bool causal = open_in(rest, diagonals(*plane, 1, kUnbounded)) == 0;
  return causal && rest->count({0, tokens - 1}, {0, tokens}) > 0 ? full : std::vector<Range>{};
}

/// Padding rows that see all keys, as in older Hugging Face masks, and other such rows.
void lint_opened_rows(const Mask& mask, const std::vector<PlanePlace>& places, Findings& out) {
  RowTally padding, others;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const PlanePtr& plane = mask.distinct()[i];
    const std::vector<Range> full = opened_rows(plane);
    Index open = 0;
    for (const Range& rows : full) open += rows.size();
    for (const Range& rows : full) {
      // A column that only opened rows and the last row see belongs to padding.
      const Index seen = plane->count({0, plane->queries()}, rows) - open * rows.size();
      (seen == 0 ? padding : others)
          .add(places[i].batch, places[i].head, rows.begin, rows.size() * places[i].times);
    }
  }
  if (padding.count > 0) {
    out.push_back({&lint_rule("padding-rows-opened"),
                   fmt::format("{} of padding see{} all keys, later ones too",
                               rows_text(padding.count), padding.count == 1 ? "s" : ""),
                   padding.first, padding.count});
  }
  if (others.count > 0) {
    out.push_back({&lint_rule("rows-opened"),
                   fmt::format("{} see{} all keys, later ones too, and the others are causal",
                               rows_text(others.count), others.count == 1 ? "s" : ""),
                   others.first, others.count});
  }
}

/// A single query that sees only the first key, in every head and batch entry.
void lint_decode(const Mask& mask, const std::vector<PlanePlace>& places, Findings& out) {
  const Index keys = mask.keys();
  const bool first_alone = std::ranges::all_of(mask.distinct(), [keys](const PlanePtr& plane) {
    return plane->count({0, 1}, {0, 1}) == 1 && plane->count({0, 1}, {1, keys}) == 0;
  });
  if (!first_alone) return;
  out.push_back({&lint_rule("decode-first-key"),
                 fmt::format("the only query sees key 0 alone of {} keys", keys),
                 {places[0].batch, places[0].head, 0, {}, {}, {}},
                 1});
}

void lint_alignment(const Mask& mask, const std::vector<PlanePlace>& places, Findings& out) {
  const Index queries = mask.queries(), keys = mask.keys();
  if (queries >= keys || queries == 0) return;
  if (queries == 1) return lint_decode(mask, places, out);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const PlanePtr& plane = mask.distinct()[i];
    // If the last query reaches the diagonal, the mask is causal and not merely short.
    if (plane->count({queries - 1, queries}, {queries - 1, queries}) == 0) continue;
    if (!holds_all(diagonals(*plane, -kUnbounded, 0), plane)) continue;
    const Location where{places[i].batch, places[i].head, 0, {}, {}, {}};
    const Index seen = plane->count({0, 1}, {0, keys});
    out.push_back({&lint_rule("top-left"),
                   fmt::format("query 0 of {} sees {} of {} keys, and keys from {} on are seen by "
                               "none",
                               queries, seen, keys, queries),
                   where, 1});
    return;
  }
}

/// Batch entries or heads that see nothing while others see something.
void lint_empty_planes(const Mask& mask, const std::vector<PlanePlace>& places, Findings& out) {
  lint_planes(
      "plane-empty", mask, places, [](const PlanePtr& plane) { return plane->count() == 0; },
      [](const std::string& where) { return "no cell is open " + where; }, out);
}

/// Which of the empty rows are padding, that is, have empty columns too.
std::vector<bool> own_columns_empty(const Plane& plane, const std::vector<Range>& ranges) {
  std::vector<bool> out(ranges.size(), false);
  if (plane.queries() != plane.keys()) {
    // Queries and keys are different sequences: the last queries are padding if no key is.
    if (!ranges.empty()) out.back() = ranges.back().end == plane.queries();
    return out;
  }
  if (ranges.size() > kMostRanges) return out;
  std::vector<Index> edges;
  for (const Range& range : ranges) {
    edges.push_back(range.begin);
    edges.push_back(range.end);
  }
  if (edges.empty()) return out;
  std::vector<Index> open(edges.size() - 1);
  plane.counts({0, plane.queries()}, edges, open);
  for (std::size_t i = 0; i < ranges.size(); ++i) out[i] = open[2 * i] == 0;
  return out;
}

/// Calls f(rows, padding) for the parts of the ranges that are padding and for those that are not.
template <typename F>
void each_part(const std::vector<Range>& ranges, std::span<const std::int32_t> ids,
               std::int32_t pad_id, const F& f) {
  for (const Range& range : ranges) {
    const auto pad = [&](Index q) { return ids[static_cast<std::size_t>(q)] == pad_id; };
    for (Index begin = range.begin; begin < range.end;) {
      Index end = begin + 1;
      while (end < range.end && pad(end) == pad(begin)) ++end;
      f(Range{begin, end}, pad(begin));
      begin = end;
    }
  }
}

/// Empty rows of each plane, divided by documents, or without documents by empty columns.
class EmptyRows {
 public:
  EmptyRows(const Mask& mask, const Documents* documents, bool gives_nan)
      : mask_(mask), documents_(documents), gives_nan_(gives_nan) {
    for (const PlanePtr& plane : mask.distinct()) {
      ranges_.push_back(empty_rows(*plane));
      padding_.push_back(own_columns_empty(*plane, ranges_.back()));
    }
  }

  void report(Findings& out) {
    for (Index b = 0; b < mask_.batch(); ++b) {
      for (Index h = 0; h < mask_.heads(); ++h) add(b, h, mask_.index_of(b, h));
    }
    const auto tell = [&out](std::string_view id, std::string_view what, const RowTally& rows) {
      if (rows.count == 0) return;
      const char* verb = rows.count == 1 ? "sees" : "see";
      out.push_back({&lint_rule(id),
                     fmt::format("{}{} {} no key", rows_text(rows.count), what, verb), rows.first,
                     rows.count});
    };
    tell("empty-rows", "", real_);
    tell("left-padding-nan", " of left padding", of_left_padding_);
    tell("padding-rows-empty", " of padding", of_padding_);
  }

 private:
  void add(Index b, Index h, std::uint32_t plane) {
    const std::vector<Range>& ranges = ranges_[plane];
    if (!ranges.empty() && ranges[0].size() == mask_.queries())
      return;  // reported by lint_empty_planes
    const auto put = [&](Range rows, bool padding) {
      const bool left = padding && rows.begin == 0 && gives_nan_;
      (left ? of_left_padding_ : padding ? of_padding_ : real_).add(b, h, rows.begin, rows.size());
    };
    if (documents_) {
      each_part(ranges, ids_of_batch(documents_->q, b), documents_->pad_id, put);
      return;
    }
    for (std::size_t i = 0; i < ranges.size(); ++i) put(ranges[i], padding_[plane][i]);
  }

  const Mask& mask_;
  const Documents* documents_;
  std::vector<std::vector<Range>> ranges_;
  std::vector<std::vector<bool>> padding_;
  bool gives_nan_;
  RowTally real_, of_padding_, of_left_padding_;
};

void lint_first_block(const Mask& mask, const std::vector<PlanePlace>& places, Findings& out) {
  RowTally rows;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const RowSafety safety = row_safety(*mask.distinct()[i], kKernelBlock);
    if (safety.late == 0) continue;
    rows.add(places[i].batch, places[i].head, *safety.first_late, safety.late * places[i].times);
  }
  if (rows.count == 0) return;
  out.push_back({&lint_rule("first-block"),
                 fmt::format("{} with keys, none of them in the first {}x{} block",
                             rows_text(rows.count), kKernelBlock.q, kKernelBlock.k),
                 rows.first, rows.count});
}

/// Rows of documents that see only padding keys.
void lint_only_padding(const Documents& documents, const LeakMasks& masks, Findings& out) {
  RowTally rows;
  std::map<std::uint32_t, std::vector<Range>> without;  // rows without keys in documents, by plane
  for (Index b = 0; b < masks.real.batch(); ++b) {
    for (Index h = 0; h < masks.real.heads(); ++h) {
      const Plane& all = *masks.real_query.plane(b, h);
      const auto [at, fresh] = without.try_emplace(masks.real.index_of(b, h));
      if (fresh) at->second = empty_rows(*masks.real.plane(b, h));
      each_part(at->second, ids_of_batch(documents.q, b), documents.pad_id,
                [&](Range part, bool pad) {
                  if (pad || all.classify(part, {0, all.keys()}) == Fill::kEmpty) return;
                  all.rows(part, [&](Range equal, const Keys& keys) {
                    if (first_open_key(keys) >= 0) rows.add(b, h, equal.begin, equal.size());
                  });
                });
    }
  }
  if (rows.count == 0) return;
  out.push_back({&lint_rule("rows-only-padding"),
                 fmt::format("{} of documents with no keys but padding", rows_text(rows.count)),
                 rows.first, rows.count});
}

Location at_first(const Mask& cells) {
  const auto at = first_cell(cells);
  return {at->batch, at->head, at->query, at->key, {}, {}};
}

void add_padding_cells(const Mask& mask, const LeakMasks& masks, const Leaks& leaks,
                       Findings& out) {
  if (leaks.padding_keys > 0) {
    out.push_back({&lint_rule("padding-attended"),
                   fmt::format("{} of padding keys open to queries of documents",
                               cells_text(leaks.padding_keys)),
                   at_first(zip(Op::kSub, masks.real_query, masks.real)), leaks.padding_keys});
  }
  if (leaks.padding_queries > 0) {
    out.push_back({&lint_rule("padding-rows-open"),
                   fmt::format("{} open to padding queries", cells_text(leaks.padding_queries)),
                   at_first(zip(Op::kSub, mask, masks.real_query)), leaks.padding_queries});
  }
}

}  // namespace

Findings lint_mask(const Mask& given, const Documents* documents, bool gives_nan) {
  const Mask mask = given.map(readable);
  Findings out;
  if (mask.cells() == 0) return out;
  const Index open = mask.count();
  if (open == 0) {
    out.push_back({&lint_rule("mask-empty"),
                   fmt::format("{}: no cell is open", shape_text(mask)),
                   {},
                   mask.cells()});
    return out;
  }
  if (open == mask.cells()) {
    out.push_back({&lint_rule("mask-full"),
                   fmt::format("{}: every cell is open", shape_text(mask)),
                   {},
                   mask.cells()});
    return out;
  }
  const std::vector<PlanePlace> places = plane_places(mask);
  lint_polarity(mask, places, out);
  lint_direction(mask, places, out);
  lint_opened_rows(mask, places, out);
  lint_alignment(mask, places, out);
  lint_empty_planes(mask, places, out);
  if (documents && documents->q.extent(0) != 1 && documents->q.extent(0) != mask.batch()) {
    documents = nullptr;  // a row may be padding in one batch and not in another
  }
  EmptyRows(mask, documents, gives_nan).report(out);
  lint_first_block(mask, places, out);
  return out;
}

Findings lint_documents(const Mask& mask, const Documents& documents, const Leaks& leaks) {
  Findings out;
  if (leaks.cross > 0) {
    const Cell& at = *leaks.first;
    out.push_back({&lint_rule("document-leak"),
                   fmt::format("{} across documents", cells_text(leaks.cross)),
                   {at.batch, at.head, at.query, at.key, {}, {}},
                   leaks.cross});
  }
  if (leaks.padding_keys == 0 && leaks.padding_queries == 0) return out;
  const LeakMasks masks = leak_masks(mask, documents);
  add_padding_cells(mask, masks, leaks, out);
  if (leaks.padding_keys > 0) lint_only_padding(documents, masks, out);
  return out;
}

Findings lint_bias(const Mask& mask, const Mask& bias) {
  const Mask reopened = zip(Op::kSub, bias, mask);
  const Index lost = reopened.count();
  Finding out{&lint_rule("bias-and-mask"), "", {}, lost};
  if (lost == 0) {
    out.message = "the bias closes all that the mask closes, so dropping the mask changes nothing";
  } else {
    out.message = fmt::format("{} that the mask closes are open in the bias", cells_text(lost));
    out.where = at_first(reopened);
  }
  return {out};
}

}  // namespace maskctl
