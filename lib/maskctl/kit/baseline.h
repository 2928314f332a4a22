// What has changed in the verdict on a case since an earlier run, whose verdicts are allowed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "maskctl/kit/judge.h"

namespace maskctl::kit {

/// kAsBefore: the outcome is the earlier one, and so are the mask of kAnother, the cause of kWrong
/// and the precision of kObeys. kBetter: the outcome is milder, in this order: obeys, undecided,
/// refuses, any other; or a case that obeys does so in full precision now. kWorse: anything else:
/// also a case that was not skipped before and is now, since a skip says less than any verdict, and
/// one that the earlier run does not have and that does not obey.
enum class Change : std::uint8_t { kAsBefore, kBetter, kWorse };
/// "as before", "better" or "worse".
std::string_view name(Change change);

Change change(const std::optional<CaseVerdict>& before, const CaseVerdict& now);

/// What the text of a verdict names, without its numbers and places: "softmax_scale # instead of #"
/// for "softmax_scale 0.25 instead of 0.125 (head 0, queries 0-16)".
std::string cause_of(std::string_view text);

}  // namespace maskctl::kit
