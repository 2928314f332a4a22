// What a run of attention did with its mask: the verdict of `maskctl verify`, from all that is
// known of the call. Front ends ask this, and only print what it says.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "maskctl/mask/steps/step.h"
#include "maskctl/verify/borders.h"
#include "maskctl/verify/judge.h"

namespace maskctl::attention {

struct JudgedCall {
  VerifyRequest request;
  /// The chain that makes the declared mask from an all-open one, if it is known: its steps are
  /// what a kernel may have got wrong.
  std::optional<Chain> steps = {};
};

/// True if only the mask of a call closes cells: none of the other arguments, given by name, does.
bool mask_alone(const Operation& operation, std::span<const std::string_view> arguments);

/// Finds the mask that results made elsewhere obey: the declared one, a common mistake about it
/// (neighbours()), or, if none of those fits, the declared one with a border between documents
/// moved (moved_borders()). Without a declared mask, the mask that the call applies is judged.
/// Throws like verify_given().
GivenReport judge_results(JudgedCall call, const NamedResults& given);

/// Runs all checks of a backend (verify()). If one fails, runs it again and judges its output: an
/// output that agrees acquits no backend that failed a check. `wants_obeyed`: set judgement.obeyed
/// also if all checks pass and no mask is declared, which takes a run. Throws like verify().
GivenReport judge_backend(const JudgedCall& call, bool wants_obeyed = false);

/// Does what judge_results() does for results that the ranks of a mesh computed, and compares the
/// rows beside each border between their shards with those of `request.against`. Results that agree
/// as a whole but not beside a border obey no mask.
GivenReport judge_shards(const JudgedCall& call, const NamedResults& results,
                         const Borders& borders);

/// "obeys another mask: window left 32 instead of 31 (heads 0-3, queries 32-63)".
std::string to_text(const Judgement& judgement);

}  // namespace maskctl::attention
