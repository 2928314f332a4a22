#include "maskctl/mask/steps/slice.h"

#include <fmt/format.h>

#include <array>

#include "maskctl/base/ranges.h"
#include "maskctl/mask/steps/edits.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

Meets meets(const Slice&) { return Meets::kOwn; }

namespace {

Range slice_range(const std::optional<Range>& asked, Index extent, const char* axis) {
  if (!asked) return {0, extent};
  if (asked->begin < 0 || asked->end > extent || asked->begin > asked->end) {
    refuse("slice", fmt::format("{}={} does not lie in {}", axis, range_text(*asked),
                                range_text({0, extent})));
  }
  return *asked;
}

}  // namespace

Mask apply_rule(const Slice& rule, const Mask& mask) {
  return sliced(mask, slice_range(rule.b, mask.batch(), "b"),
                slice_range(rule.h, mask.heads(), "h"), slice_range(rule.q, mask.queries(), "q"),
                slice_range(rule.k, mask.keys(), "k"));
}

PairReason reason(const Slice&, const MaskShape&, const Cell& cell) {
  return {true, fmt::format("query {}, key {} is inside the slice", cell.query, cell.key)};
}

Cell cell_before(const Slice& rule, const MaskShape&, const Cell& cell) {
  const auto begin = [](const std::optional<Range>& range) { return range ? range->begin : 0; };
  return {cell.batch + begin(rule.b), cell.head + begin(rule.h), cell.query + begin(rule.q),
          cell.key + begin(rule.k)};
}

CellFormula formula(const Slice&) { return no_formula("it moves cells to other indices"); }

/// Adds no edits (steps that may have been meant instead): another slice is another mask.
void edits(const Slice&, StepEdits&) {}

namespace {

template <auto Member>
constexpr Field slice_field(std::string_view name, std::string_view help) {
  return fields::of<Member>({.name = name, .type = FieldType::kRange, .help = help, .group = 1});
}

constexpr std::array kSliceFields = {
    slice_field<&Slice::b>("b", "batches"), slice_field<&Slice::h>("h", "heads"),
    slice_field<&Slice::q>("q", "queries"), slice_field<&Slice::k>("k", "keys")};

constexpr std::array kSliceNames = {
    StepInfo{.name = "slice",
             .kind = StepKind::kOwn,
             .meaning = "cuts a part out; its indices start at 0 again",
             .formula = "mask[b, h, q, k]",
             .example = "slice:h=3,q=0-127",
             .args = kSliceFields,
             .synonyms = "crop cut part",
             .make = blank<Slice>}};
constexpr RuleInfo kSliceRow =
    describe<Slice>(kSliceNames, Reopening::kHarmless, Declares::kPadding);

}  // namespace

const RuleInfo& row(const Slice*) { return kSliceRow; }

}  // namespace maskctl::step
