// Makes the output of `verify` from a verdict: the text, the JSON and the mask that is written.
#pragma once

#include "app/cli/commands/attention/verify.h"
#include "app/cli/commands/doors.h"

namespace maskctl::app {

/// Writes the mask that the results obey, if that is known and there is a destination. If only the
/// solved mask was asked for, the text ends with a drawing of both masks.
VerifyAnswer answered(const VerifyOptions& options, attention::FullVerdict found,
                      const Session& session);

}  // namespace maskctl::app
