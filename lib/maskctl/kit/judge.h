// The verdict on what a library gave for a case.
#pragma once

#include "maskctl/attention/calls/by_name.h"
#include "maskctl/kit/made_case.h"

namespace maskctl::kit {

/// kObeys: the results are those of the call, and of no other mask that was tried. kAnother: they
/// are those of another mask, which is named. kWrong: they are those of another call, such as one
/// with another scale, or are off. kRefuses: the library says that it does not do this, and may say
/// why. kFails: it crashed, or gave nothing that can be read as a result. kTimedOut: it gave none
/// in the time that it had. kUndecided: other masks fit as well. kSkipped: the lse or the gradients
/// that the rule is about were not given, or a folder of results has none of the case. Only kObeys
/// is a pass.
enum class Outcome : std::uint8_t {
  kObeys,
  kAnother,
  kWrong,
  kRefuses,
  kFails,
  kTimedOut,
  kUndecided,
  kSkipped
};
inline constexpr std::size_t kOutcomes = 8;
/// "obeys", "another mask", "wrong numbers", "refuses", "fails", "timed out", "undecided" or
/// "skipped".
std::string_view name(Outcome outcome);
/// The outcome of this name; nothing for any other text.
std::optional<Outcome> outcome_named(std::string_view name);

struct CaseVerdict {
  Outcome outcome = Outcome::kSkipped;
  std::string text = {};  // which mask, what is wrong, or the message of the library
  std::string note = {};  // of a case that obeys: in which precision, where it is a lower one
};

/// Judges "out", and "lse" or the gradients where the rule is about them; other results are not
/// read. Asks attention::judge_results() (verify/verdict.h), which knows nothing of the kit. Throws
/// what it throws, but for arrays of another shape, which are wrong.
CaseVerdict judge(const MadeCase& made, attention::NamedResults given);

/// The call of a case as operations take it, for judges and for backends of our own.
attention::NamedArguments arguments_of(const MadeCase& made);
/// The results of a case by one of our own backends, from arrays of its dtype: "out", "lse", and
/// gradients where the case has a cotangent. Throws what the backend throws.
attention::NamedResults run_backend(const MadeCase& made, attention::Backend backend);

}  // namespace maskctl::kit
