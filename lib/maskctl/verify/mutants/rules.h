// Rules that accept or refuse the results of a kernel: those of known evaluators, and verify's own.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "maskctl/verify/mutants/mutants.h"

namespace maskctl::attention {

/// kUndecided: the rule says itself that it cannot tell. kError: it could not be asked.
enum class RuleAnswer : std::uint8_t { kAccepts, kRefuses, kUndecided, kError };
/// "accepted", "refused", "undecided" or "error".
std::string_view name(RuleAnswer answer);

struct RuleVerdict {
  RuleAnswer answer = RuleAnswer::kRefuses;
  /// kAccepts: the share of a row's weight below which the rule says itself that a cell would not
  /// show. 0: it says nothing of the kind.
  double bound = 0;
  std::string text = {};  // what the rule says, in its own words; may be empty
};

struct AcceptanceRule {
  std::string name;  // as in rule_named(): "allclose:0.01,0.01"
  std::string meaning;
  std::string_view source = {};  // where the evaluator has it; empty for our own
  bool reads_lse = false;        // false: it sees out only, so that no lse can be wrong
  std::function<RuleVerdict(const Mutants& of, const Mutant& mutant)> judge;
};

/// The names that rule_named() takes, those with numbers as "allclose:R,A".
std::span<const std::string_view> rule_names();

/// kernelbench       |out - ref| <= t + t |out| for each element, t = 1e-2, of float32 1e-4
/// flashinfer-bench  no element is off by more than 1e-2 and by more than 1e-2 |ref|
/// fa                the largest error is at most twice that of a right kernel of the same
///                   precision, and twice what adding and subtracting 0.3 loses
/// allclose:R,A      |out - ref| <= A + R |ref| for each element, and likewise for the lse
/// verify            judge_results() says that the mask is obeyed
/// `ref` is the exact result, rounded to the dtype of the call. Throws Error(kInvalidArgument) for
/// other texts.
AcceptanceRule rule_named(std::string_view text);

// The comparisons that the rules make, for arrays of any origin. all_close(): |a - b| <= absolute +
// relative |b| for all elements; infinities and zeros of equal sign are equal, NaN is equal to
// nothing.
bool all_close(const Tensor& a, const Tensor& b, double relative, double absolute);
/// Whether no element is off by more than `absolute` and by more than `relative` |b|; NaN is off.
bool within_either(const Tensor& a, const Tensor& b, double relative, double absolute);
/// Whether the largest error of `out` is at most twice that of `low`, the result of a right kernel,
/// and twice the rounding of (exact + 0.3) - 0.3 in this dtype.
bool within_twice(const Tensor& out, const Tensor& low, const Tensor& exact, DType dtype);

}  // namespace maskctl::attention
