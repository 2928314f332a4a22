// What the tool needs from ejkernel besides single commands: SOURCEs, errors, traces. app/ejkernel/
// has it; a build without ejkernel links its absent.cc, which refuses what needs ejkernel.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "maskctl/base/error.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/pipeline/steps/bind.h"

namespace maskctl::app::ejkernel {

/// Throws Error(kUnsupported) in a build without ejkernel. `asked` is what the user wrote, for the
/// message: "--style ejkernel".
void require(std::string_view asked);

/// The message for an exception that ejkernel would raise in Python: "ejkernel raises ValueError:
/// ..."; empty for other errors.
std::string raised_text(const Error& error);
/// Writes a trace of MaskInfo's methods to stderr. If `announced`, its first line says that tracing
/// is on.
void start_trace(bool announced);

// SOURCEs.
/// How to read a MaskInfo that is stored in a container; for MaskReadOptions::objects.
const ObjectKind* stored_object();
/// The function for BindContext::other_rules. The result is set if ejkernel's `step` takes
/// `argument`, but maskctl's step of the same name does not.
std::optional<OtherRules> other_rules(std::string_view step, std::string_view argument);

}  // namespace maskctl::app::ejkernel
