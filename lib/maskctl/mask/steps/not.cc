#include "maskctl/mask/steps/not.h"

#include <array>

#include "maskctl/mask/steps/bits.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

Meets meets(const Not&) { return Meets::kFlips; }

Mask apply_rule(const Not&, const Mask& mask) { return complement(mask); }

PairReason reason(const Not&, const MaskShape&, const Cell&) { return {true, ""}; }

Expr formula(const Not&) { return expr::truth(true); }

/// Negative: taken off the bits that every step costs, so that this one costs about half of them.
Index bits(const Not&, const ArgumentBits&) { return -4; }

namespace {

constexpr std::array kNotNames = {
    StepInfo{.name = "not",
             .kind = StepKind::kOwn,
             .meaning = "opens what is closed and closes what is open",
             .formula = "not mask",
             .example = "not",
             .synonyms = "invert inverse complement",
             .make = blank<Not>}};
constexpr RuleInfo kNotRow = describe<Not>(kNotNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const Not*) { return kNotRow; }

}  // namespace maskctl::step
