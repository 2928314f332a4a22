// Findings in the mask itself: polarity, alignment, rows without keys; and against documents.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "maskctl/inspect/lint.h"
#include "maskctl/inspect/row_safety.h"
#include "maskctl/inspect/stats_parts.h"
#include "maskctl/mask/bands.h"

namespace maskctl {
namespace {

constexpr BlockSize kKernelBlock{128, 128};
constexpr std::size_t kMostRanges = 4096;  // of empty rows whose columns are looked at

std::string cells_text(Index cells) {
  return fmt::format("{} cell{}", cells, cells == 1 ? "" : "s");
}
std::string rows_text(Index rows) { return fmt::format("{} row{}", rows, rows == 1 ? "" : "s"); }

/// Rows of all planes that a rule finds.
struct RowTally {
  Index count = 0;
  Where first;

  void add(Index batch, Index head, Index query, Index rows) {
    if (count == 0) first = {batch, head, query, {}, {}, {}};
    count += rows;
  }
};

/// The diagonal on which a query sees itself: of the last queries where they are fewer.
Index own_shift(const Plane& plane) { return std::max<Index>(plane.keys() - plane.queries(), 0); }

PlanePtr causal(const Plane& plane, Index shift) {
  return diagonal_band(plane.queries(), plane.keys(), -kUnbounded, shift);
}

/// No query sees itself, and what is closed is what a mask usually opens: all keys up to the query,
/// or the lesser part of the cells.
bool looks_inverted_diagonal(const PlanePtr& plane) {
  const Index shift = own_shift(*plane);
  const PlanePtr own = diagonal_band(plane->queries(), plane->keys(), shift, shift);
  const Index open = plane->count();
  if (own->count() == 0 || open == 0) return false;
  if (combine(Op::kAnd, plane, own)->count() != 0) return false;
  if (2 * open > plane->queries() * plane->keys()) return true;
  const PlanePtr future = complement(causal(*plane, shift));
  return future->count() > 0 && combine(Op::kSub, future, plane)->count() == 0;
}

/// Closed is one square from the first token on, as the valid part of a padded sequence.
bool looks_inverted_padding(const PlanePtr& plane) {
  const Index tokens = plane->keys();
  if (plane->queries() != tokens || tokens < 2) return false;
  Index valid = 0;  // leading closed keys of query 0
  plane->rows({0, 1}, [&](Range, const Keys& keys) { valid = first_open_key(keys); });
  if (valid <= 0) return false;
  const PlanePtr square = rectangle(tokens, tokens, {0, valid}, {0, valid});
  return plane->count() == tokens * tokens - valid * valid &&
         combine(Op::kAnd, plane, square)->count() == 0;
}

void lint_polarity(const Mask& mask, const std::vector<PlanePlace>& places, Findings& out) {
  Where first;
  Index planes = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const PlanePtr& plane = mask.distinct()[i];
    if (!looks_inverted_diagonal(plane) && !looks_inverted_padding(plane)) continue;
    if (planes == 0) first = {places[i].batch, places[i].head, {}, {}, {}, {}};
    planes += places[i].times;
  }
  if (planes == 0) return;
  out.push_back({&lint_rule("polarity"),
                 fmt::format("no query sees itself and the closed cells look like a mask, in {} of "
                             "{} planes",
                             planes, mask.batch() * mask.heads()),
                 first, planes});
}

void lint_alignment(const Mask& mask, const std::vector<PlanePlace>& places, Findings& out) {
  const Index queries = mask.queries(), keys = mask.keys();
  if (queries >= keys || queries == 0) return;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const PlanePtr& plane = mask.distinct()[i];
    const PlanePtr top_left = causal(*plane, 0);
    // The last query at the diagonal tells a causal mask from one that is merely short.
    if (plane->count({queries - 1, queries}, {queries - 1, queries}) == 0) continue;
    if (combine(Op::kSub, plane, top_left)->count() > 0) continue;
    const Index seen = plane->count({0, 1}, {0, keys});
    out.push_back({&lint_rule("top-left"),
                   fmt::format("query 0 of {} sees {} of {} keys, and keys from {} on are seen by "
                               "none",
                               queries, seen, keys, queries),
                   {places[i].batch, places[i].head, 0, {}, {}, {}},
                   1});
    return;
  }
}

/// Which of the empty rows are padding: their own columns are empty too.
std::vector<bool> own_columns_empty(const Plane& plane, const std::vector<Range>& ranges) {
  std::vector<bool> out(ranges.size(), false);
  if (plane.queries() != plane.keys() || ranges.size() > kMostRanges) return out;
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

/// f(rows, padding) for the parts of the ranges that are padding and those that are not.
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

/// Empty rows of each plane, told apart by documents, or without them by empty columns.
class EmptyRows {
 public:
  EmptyRows(const Mask& mask, const Documents* documents) : mask_(mask), documents_(documents) {
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
    tell("padding-rows-empty", " of padding", of_padding_);
  }

 private:
  void add(Index b, Index h, std::uint32_t plane) {
    const std::vector<Range>& ranges = ranges_[plane];
    const auto put = [&](Range rows, bool padding) {
      (padding ? of_padding_ : real_).add(b, h, rows.begin, rows.size());
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
  RowTally real_, of_padding_;
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

/// Rows of documents that see keys, but none that is in a document.
void lint_only_padding(const Documents& documents, const LeakMasks& masks, Findings& out) {
  RowTally rows;
  std::map<std::uint32_t, std::vector<Range>> without;  // real keys, by plane
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

Where at_first(const Mask& cells) {
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

Findings lint_mask(const Mask& given, const Documents* documents) {
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
  lint_alignment(mask, places, out);
  if (documents && documents->q.extent(0) != 1 && documents->q.extent(0) != mask.batch()) {
    documents = nullptr;  // a row that is padding in one batch is none in another
  }
  EmptyRows(mask, documents).report(out);
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
