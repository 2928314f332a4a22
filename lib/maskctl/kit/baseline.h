// What has changed in the verdict on a case since an earlier run, whose verdicts are allowed.
#pragma once

#include <optional>

#include "maskctl/kit/judge.h"

namespace maskctl::kit {

/// kAsBefore: the outcome is the earlier one, and so is the mask, where another one is applied.
/// kBetter: the case obeys now, or what it did not obey before is milder now, in this order:
/// undecided, refuses, timed out, wrong numbers or another mask. kWorse: anything else: also a case
/// that was not skipped before and is now, since a skip says less than any verdict, and one that
/// the earlier run does not have and that does not obey.
enum class Change : std::uint8_t { kAsBefore, kBetter, kWorse };
/// "as before", "better" or "worse".
std::string_view name(Change change);

Change change(const std::optional<CaseVerdict>& before, const CaseVerdict& now);

}  // namespace maskctl::kit
