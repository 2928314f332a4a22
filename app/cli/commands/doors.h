// Functions that only the Python module calls: check of a single SOURCE, verify with the masks that
// it found, and the audit of a FlexAttention call.
#pragma once

#include <functional>
#include <optional>

#include "app/cli/commands/command.h"
#include "maskctl/mask/mask.h"

namespace maskctl::app {

/// Declares the options of check. The returned function asks about the one SOURCE, which is a mask
/// that the session was given, or a generator.
Run declare_check_of_one(OptionList& list);

struct VerifyAnswer {
  Answer answer;
  /// The mask that the results obey, and the nearest mask, as in attention::Judgement. Absent if
  /// they are not known, and on all ranks but the first.
  std::optional<Mask> obeyed, nearest;
};
/// Declares the options of verify. The returned function does what the command does.
std::function<VerifyAnswer(Session& session)> declare_verify_with_masks(OptionList& list);

/// Declares the options of verify, and those that name the lists of a BlockMask: --own, --partial,
/// --full and --block. The SOURCE is the mask that mask_mod opens. The returned function says which
/// of mask_mod, lists and output differs (attention::FlexAudit).
Run declare_audit_flex(OptionList& list);

}  // namespace maskctl::app
