// Compares a mask with documents, or with a bias.
#include <fmt/format.h>

#include <map>

#include "maskctl/base/text.h"
#include "maskctl/inspect/check/fixes.h"
#include "maskctl/inspect/check/lint_parts.h"
#include "maskctl/mask/planes/row_lists/row_keys.h"

namespace maskctl {

LintRule lint_row(RuleKey<FindingId::kBiasAndMask>) {
  return {
      .id = "bias-and-mask",
      .severity = Severity::kWarning,
      .summary = "a bias and a mask are given together",
      .claim = "that many closed cells of the mask are open in the bias",
      .why =
          "ejkernel's XLA attention uses the bias and drops the mask without a word; others "
          "add both",
      .fix = "fold the mask into the bias, or leave the bias out",
      .example =
          R"(python3 -c 'import numpy as np; np.save("mask.npy", np.tri(6, dtype=bool)); np.save("bias.npy", np.zeros((6, 6), "f4"))'
maskctl check mask.npy --bias bias.npy)",
      .unfixed = "the bias is another array"};
}

LintRule lint_row(RuleKey<FindingId::kDocumentLeak>) {
  return {
      .id = "document-leak",
      .severity = Severity::kError,
      .summary = "queries see keys of other documents",
      .claim = "that many open cells have query and key in two documents",
      .why =
          "training on packed batches mixes documents; the loss still falls, so nothing shows it",
      .fix = "close what crosses documents with the step doc:SRC",
      .example =
          R"(python3 -c 'import numpy as np; np.save("ids.npy", np.array([[0, 0, 1, 1, 2, 2]], "i4"))'
maskctl check gen:causal:n=6 --segments ids.npy)",
      .beside = {LintRule::Beside::kSaysPattern},
      .fixed = close_crossing};
}

LintRule lint_row(RuleKey<FindingId::kPaddingAttended>) {
  return {
      .id = "padding-attended",
      .severity = Severity::kError,
      .summary = "queries of documents see keys that are padding",
      .claim = "that many open cells have a query in a document and a key that is padding",
      .why = "padding keys take part in the softmax and change every output of the row",
      .fix = "close the keys with the step doc:SRC or pad:SRC",
      .example =
          R"(python3 -c 'import numpy as np; np.save("ids.npy", np.array([[0, 0, 1, 1, -1, -1]], "i4"))'
maskctl check gen:full:n=6 --segments ids.npy)",
      .fixed = close_padding_keys};
}

LintRule lint_row(RuleKey<FindingId::kPaddingRowsOpen>) {
  return {
      .id = "padding-rows-open",
      .severity = Severity::kNote,
      .summary = "padding queries see keys",
      .claim = "that many open cells have a query that is padding",
      .why =
          "harmless when their outputs are dropped, but they cost work and must not reach the loss",
      .fix = "nothing, if the loss ignores padding",
      .example =
          R"(python3 -c 'import numpy as np; np.save("ids.npy", np.array([[0, 0, 1, 1, -1, -1]], "i4"))'
maskctl check gen:causal:n=6 --segments ids.npy)"};
}

LintRule lint_row(RuleKey<FindingId::kRowsOnlyPadding>) {
  return {
      .id = "rows-only-padding",
      .severity = Severity::kError,
      .summary = "queries of documents see nothing but padding",
      .claim = "that many rows of documents see keys, all of which are padding",
      .why = "the output is a mean over padding values: neither NaN nor 0, so nothing shows it",
      .fix = "close padding keys and open the token itself",
      .example =
          R"(python3 -c 'import numpy as np; mask = np.tri(6, dtype=bool); mask[2:4] = [0, 0, 0, 0, 1, 0]; np.save("mask.npy", mask); np.save("ids.npy", np.array([[0, 0, 1, 1, -1, -1]], "i4"))'
maskctl check mask.npy --segments ids.npy)",
      .unfixed = "which keys the rows should see is not known"};
}

namespace {

std::string cells_text(Index cells) { return counted(cells, "cell"); }

/// Splits ranges of rows where padding begins or ends, and calls f(rows, is_padding) for each part.
template <typename F>
void each_padded(const std::vector<Range>& ranges, std::span<const std::int32_t> ids,
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

/// Finds rows of documents that see only padding keys.
void lint_only_padding(const Documents& documents, const DocumentCells& masks, Findings& out) {
  RowTally rows;
  std::map<std::uint32_t, std::vector<Range>> without;  // by plane: rows without keys in documents
  for (Index b = 0; b < masks.real.batch(); ++b) {
    for (Index h = 0; h < masks.real.heads(); ++h) {
      const Plane& all = *masks.real_query.plane(b, h);
      const auto [at, fresh] = without.try_emplace(masks.real.index_of(b, h));
      if (fresh) at->second = empty_rows(*masks.real.plane(b, h));
      each_padded(at->second, ids_of_batch(documents.q, b), documents.pad_id,
                  [&](Range part, bool pad) {
                    if (pad || all.classify(part, {0, all.keys()}) == Fill::kEmpty) return;
                    all.rows(part, [&](Range equal, const Keys& keys) {
                      if (first_open_key(keys) >= 0) rows.add(b, h, equal.begin, equal.size());
                    });
                  });
    }
  }
  if (rows.count == 0) return;
  out.push_back(
      {&lint_rule(FindingId::kRowsOnlyPadding),
       fmt::format("{} of documents with no keys but padding", counted(rows.count, "row")),
       rows.first, rows.count});
}

Location at_first(const Mask& cells) {
  const auto at = first_cell(cells);
  return {at->batch, at->head, at->query, at->key, {}, {}};
}

void add_padding_cells(const DocumentCells& masks, const Leaks& leaks, Findings& out) {
  if (leaks.padding_keys > 0) {
    out.push_back({&lint_rule(FindingId::kPaddingAttended),
                   fmt::format("{} of padding keys open to queries of documents",
                               cells_text(leaks.padding_keys)),
                   at_first(masks.padding_keys()), leaks.padding_keys});
  }
  if (leaks.padding_queries > 0) {
    out.push_back({&lint_rule(FindingId::kPaddingRowsOpen),
                   fmt::format("{} open to padding queries", cells_text(leaks.padding_queries)),
                   at_first(masks.padding_queries()), leaks.padding_queries});
  }
}

}  // namespace

Findings lint_documents(const Mask& mask, const Documents& documents, const Leaks& leaks) {
  Findings out;
  if (leaks.cross > 0) {
    const Cell& at = *leaks.first;
    out.push_back({&lint_rule(FindingId::kDocumentLeak),
                   fmt::format("{} across documents", cells_text(leaks.cross)),
                   {at.batch, at.head, at.query, at.key, {}, {}},
                   leaks.cross});
  }
  if (leaks.padding() == 0) return out;
  const DocumentCells masks = document_cells(mask, documents);
  add_padding_cells(masks, leaks, out);
  if (leaks.padding_keys > 0) lint_only_padding(documents, masks, out);
  return out;
}

Findings lint_bias(const Mask& mask, const Mask& bias) {
  const Mask reopened = zip(Op::kSub, bias, mask);
  const Index lost = reopened.count();
  Finding out{&lint_rule(FindingId::kBiasAndMask), "", {}, lost};
  if (lost == 0) {
    out.message = "the bias closes all that the mask closes, so dropping the mask changes nothing";
  } else {
    out.message = fmt::format("{} that the mask closes are open in the bias", cells_text(lost));
    out.where = at_first(reopened);
  }
  return {out};
}

}  // namespace maskctl
