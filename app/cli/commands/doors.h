// What Python asks of check and verify, where the answer of the command is not enough.
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
  /// The masks of attention::Judgement: the one that the results obey, and the nearest. Absent
  /// where they are not known, and at ranks but the first.
  std::optional<Mask> obeyed, nearest;
};
/// Declares the options of verify. The returned function does what the command does.
std::function<VerifyAnswer(Session& session)> declare_verify_with_masks(OptionList& list);

}  // namespace maskctl::app
