// What the command asks of ejkernel wherever it is: sources, errors, traces. commands.h has what
// commands ask. The files of this folder answer; in a build without ejkernel, absent.cc alone is
// linked, and refuses.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "maskctl/base/error.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/pipeline/steps/bind.h"

namespace maskctl::app::ejkernel {

/// Throws Error(kUnsupported) in a build without ejkernel; `asked` is what asked for it:
/// "--style ejkernel".
void require(std::string_view asked);

/// What the command says of an exception that ejkernel raises; empty for other errors.
std::string raised_text(const Error& error);
/// Sends the trace of MaskInfo to stderr. `announced`: a line says first that tracing is on.
void start_trace(bool announced);

// SOURCEs.
/// A stored MaskInfo, for MaskReadOptions.
const ObjectKind* stored_object();
/// Whether ejkernel's step of that name takes an argument that our step lacks; for BindContext.
std::optional<OtherRules> other_rules(std::string_view step, std::string_view argument);

}  // namespace maskctl::app::ejkernel
