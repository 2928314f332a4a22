// What `verify` prints and writes of a verdict.
#pragma once

#include "app/cli/commands/attention/verify.h"
#include "app/cli/commands/doors.h"

namespace maskctl::app {

/// Writes the mask that the results obey, if there are a destination and such a mask. The text has
/// a drawing of both masks where only the solved one was asked for.
VerifyAnswer answered(const VerifyOptions& options, attention::FullVerdict found,
                      const Session& session);

}  // namespace maskctl::app
