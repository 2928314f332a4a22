#include "maskctl/mask/steps/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/bits.h"
#include "maskctl/mask/steps/edits.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::step {

// Documents given by ids.

std::string words(const Document&) { return "documents"; }
std::string words(const DocumentLengths&) { return "documents"; }

Meets meets(const Document&) { return Meets::kKeeps; }

Mask cells(const Document& rule, const MaskShape& shape) {
  const NamedArray& kv = rule.shared ? rule.q : rule.kv;
  check_batched(shape, rule.q.array, shape.queries, "doc", "queries");
  check_batched(shape, kv.array, shape.keys, "doc", "keys");
  return mask_from_segments(rule.q.array, kv.array, rule.pad_id);
}

PairReason reason(const Document& rule, const MaskShape&, const Cell& cell) {
  const Tensor& kv = rule.shared ? rule.q.array : rule.kv.array;
  const Index q = element(rule.q.array, token_index(rule.q.array, cell.batch, cell.query));
  const Index k = element(kv, token_index(kv, cell.batch, cell.key));
  const bool pad = q == rule.pad_id || k == rule.pad_id;
  return {q == k && !pad,
          fmt::format("query {} has id {}, key {} id {}{}", cell.query, q, cell.key, k,
                      pad ? fmt::format(", and {} is padding", rule.pad_id) : "")};
}

Expr formula(const Document& rule) {
  const Tensor& kv = rule.shared ? rule.q.array : rule.kv.array;
  const Expr q = expr::element("doc_id", rule.q.array, {expr::of_tokens(rule.shared)});
  const Expr k = expr::element(rule.shared ? "doc_id" : "kv_doc_id", kv, {expr::key()});
  return q == k && q != rule.pad_id;
}

StepDocuments documents(const Document& rule) {
  return {.q_ids = &rule.q.array,
          .k_ids = rule.shared ? &rule.q.array : &rule.kv.array,
          .pad_id = rule.pad_id,
          .shared = rule.shared};
}

Index bits(const Document& rule, const ArgumentBits& bits) {
  return bits.runs(rule.q) + bits.runs(rule.kv);
}

namespace {

/// The ids with document `from` merged into document `to`.
Tensor joined_ids(const Tensor& ids, std::int32_t from, std::int32_t to) {
  Tensor out = astype(ids, DType::kInt32);
  std::ranges::replace(out.as<std::int32_t>(), from, to);
  return out;
}

}  // namespace

/// Adds the usual edits (steps that may have been meant instead), and each document joined with the
/// next one to appear.
void edits(const Document& rule, StepEdits& edits) {
  edits.usual(rule);
  std::vector<std::int32_t> order;  // documents, in order of first appearance in any row
  for (const std::int32_t id : as_int32(rule.q.array, "segment ids")) {
    if (id != rule.pad_id && !std::ranges::count(order, id)) order.push_back(id);
    if (order.size() > StepEdits::kMostDocuments) break;
  }
  edits.join(order.size(), [&](std::size_t n) {
    Document copy = rule;
    copy.q.array = joined_ids(rule.q.array, order[n], order[n - 1]);
    if (!rule.kv.empty()) copy.kv.array = joined_ids(rule.kv.array, order[n], order[n - 1]);
    return copy;
  });
}

// Documents given by lengths.

Meets meets(const DocumentLengths&) { return Meets::kKeeps; }

Mask cells(const DocumentLengths& rule, const MaskShape& shape) {
  if (shape.queries != shape.keys) {
    refuse("doc", fmt::format("lens= needs as many queries as keys, not {}: give q=SRC,kv=SRC",
                              shape_text(shape)));
  }
  std::vector<Slab> slabs;
  Index start = 0;
  for (const Index length : rule.lengths) {
    if (length < 0 || length > shape.keys - start) {
      refuse("doc", fmt::format("document of {} tokens at token {} of {}: lengths must not be "
                                "negative or reach past the end",
                                length, start, shape.keys));
    }
    slabs.push_back({{start, start + length}, {{start, start + length, 0, 0}}});
    start += length;
  }
  return Mask(bands(shape.queries, shape.keys, slabs));
}

namespace {

/// "in document 2 [9, 15)" with `number` = 2, or "past the last document, ..." with `number` = -1.
std::string document_text(const std::vector<Index>& lengths, Index token, Index& number) {
  Index start = 0;
  number = -1;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (token < start + lengths[i]) {
      number = static_cast<Index>(i);
      return fmt::format("in document {} [{}, {})", i, start, start + lengths[i]);
    }
    start += lengths[i];
  }
  return fmt::format("past the last document, which ends at {}", start);
}

}  // namespace

PairReason reason(const DocumentLengths& rule, const MaskShape&, const Cell& cell) {
  Index q = -1, k = -1;
  const std::string of_query = document_text(rule.lengths, cell.query, q);
  const std::string of_key = document_text(rule.lengths, cell.key, k);
  return {q == k && q >= 0,
          fmt::format("query {} is {}, key {} is {}", cell.query, of_query, cell.key, of_key)};
}

Expr formula(const DocumentLengths& rule) {
  const Expr q = expr::document("doc_id", rule.lengths, expr::of_tokens(true));
  return q == expr::document("doc_id", rule.lengths, expr::key()) && q != Index{-1};
}

StepDocuments documents(const DocumentLengths& rule) {
  return {.q_lengths = rule.lengths, .k_lengths = rule.lengths};
}

/// Three bits more than the lengths, so that a single document is described as padding instead.
Index bits(const DocumentLengths& rule, const ArgumentBits& bits) {
  return std::ssize(rule.lengths) * bits.number() + 3;
}

namespace {

constexpr std::array kDocumentFields = {
    fields::both_sides<Document>("ids", "ids [S] or [B,S] of both sides"),
    Field{.name = "lens",
          .type = FieldType::kLengths,
          .help = "document lengths, from the first token on",
          .required = true,
          .group = 2,
          .get =
              [](const Step& step) {
                const auto* rule = step.get_if<DocumentLengths>();
                return rule ? FieldValue(rule->lengths) : FieldValue();
              },
          .set =
              [](Step& step, FieldValue value) {
                step = {DocumentLengths{std::get<std::vector<Index>>(std::move(value))}};
              }},
    fields::one_side<Document, &Document::q>("q", "ids", "ids of the queries", 3),
    fields::one_side<Document, &Document::kv>("kv", "ids", "ids of the keys", 3),
    fields::pad_id<Document>()};

constexpr std::array kDocumentNames = {
    StepInfo{.name = "doc",
             .kind = StepKind::kAnd,
             .meaning = "keeps the keys in the query's document (segment)",
             .formula = "id[q] == id[k] and neither is pad-id",
             .example = "doc:lens=300+724",
             .args = kDocumentFields,
             .noun = "documents",
             .synonyms = "packing packed document documents segment segments segment-ids varlen "
                         "sequence",
             .make = blank<Document>}};
constexpr RuleInfo kDocumentRow =
    describe<Document>(kDocumentNames, Reopening::kLeak, Declares::kPadding);
constexpr RuleInfo kDocumentLengthsRow =
    describe<DocumentLengths>(kDocumentNames, Reopening::kLeak, Declares::kPadding);

}  // namespace

const RuleInfo& row(const Document*) { return kDocumentRow; }
const RuleInfo& row(const DocumentLengths*) { return kDocumentLengthsRow; }

}  // namespace maskctl::step
