#include "maskctl/mask/steps/take.h"

#include <fmt/format.h>

#include <array>

#include "maskctl/mask/steps/edits.h"
#include "maskctl/mask/steps/token_indices.h"

namespace maskctl::step {

Meets meets(const Take&) { return Meets::kOwn; }

Mask apply_rule(const Take& rule, const Mask& mask) {
  return taken_of(mask, queries_of(rule), keys_of(rule), "take");
}

PairReason reason(const Take&, const MaskShape&, const Cell& cell) {
  return {true, fmt::format("it was query {} and key {}", cell.query, cell.key)};
}

Cell cell_before(const Take& rule, const MaskShape&, const Cell& cell) {
  return {cell.batch, cell.head, queries_of(rule).at(cell.batch, cell.query),
          keys_of(rule).at(cell.batch, cell.key)};
}

CellFormula formula(const Take&) { return no_formula("it moves cells to other indices"); }

std::optional<Misfit> misfit(const Take& rule, GivenNames) {
  return misfit_of(queries_of(rule), keys_of(rule));
}

/// Adds no edits (steps that may have been meant instead): other indices are another mask.
void edits(const Take&, StepEdits&) {}

namespace {

constexpr std::array kTakeFields = index_fields<Take>();

constexpr std::array kTakeNames = {
    StepInfo{.name = "take",
             .kind = StepKind::kOwn,
             .meaning = "takes queries and keys by index: ranks, slots, pages, evicted caches",
             .formula = "mask[b, h, q_index[q], kv_index[k]]",
             .example = "take:queries=0-3+12-15,keys=0-3+12-15",
             .args = kTakeFields,
             .synonyms = "gather permute reorder index zigzag striped",
             .make = blank<Take>}};
constexpr RuleInfo kTakeRow = describe<Take>(kTakeNames, Reopening::kHarmless, Declares::kPadding);

}  // namespace

const RuleInfo& row(const Take*) { return kTakeRow; }

}  // namespace maskctl::step
