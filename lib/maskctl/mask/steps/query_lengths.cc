#include "maskctl/mask/steps/query_lengths.h"

#include <fmt/format.h>

#include <array>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

Meets meets(const QueryLengths&) { return Meets::kKeeps; }

Mask cells(const QueryLengths& rule, const MaskShape& shape) {
  const auto lengths = per_batch(shape, rule.lengths, "query-lengths", "lengths");
  check_lengths(lengths, shape.queries, "query-lengths", "queries");
  const auto plane = [&](Index length) {
    return rectangle(shape.queries, shape.keys, {0, length}, {0, shape.keys});
  };
  return per_values(shape, plane, lengths);
}

PairReason reason(const QueryLengths& rule, const MaskShape&, const Cell& cell) {
  const Index length = of_batch(rule.lengths, cell.batch);
  const bool inside = cell.query < length;
  return {inside, fmt::format("query {} is {} length {} of batch {}", cell.query,
                              inside ? "below" : "not below", length, cell.batch)};
}

Expr formula(const QueryLengths& rule) {
  return expr::query() < expr::of_batch("length", rule.lengths);
}

namespace {

constexpr std::array kQueryLengthsFields = {
    fields::of<&QueryLengths::lengths>({.name = "lens",
                                        .type = FieldType::kLengths,
                                        .help = "lengths, one or one per batch",
                                        .required = true})};

constexpr std::array kQueryLengthsNames = {
    StepInfo{.name = "query-lengths",
             .kind = StepKind::kAnd,
             .meaning = "closes queries past the length of their batch",
             .formula = "q < length[b]",
             .example = "query-lengths:lens=5+8",
             .args = kQueryLengthsFields,
             .synonyms = "q_lens valid_queries",
             .make = blank<QueryLengths>}};
constexpr RuleInfo kQueryLengthsRow =
    describe<QueryLengths>(kQueryLengthsNames, Reopening::kLeak, Declares::kPadding);

}  // namespace

const RuleInfo& row(const QueryLengths*) { return kQueryLengthsRow; }

}  // namespace maskctl::step
