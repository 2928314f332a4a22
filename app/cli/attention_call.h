// Calls of operations as the command line words them, shared by attend, verify and bench.
#pragma once

#include <optional>
#include <string>

#include "app/cli/load.h"
#include "app/cli/options_attention.h"
#include "maskctl/attention/by_name.h"

namespace maskctl::app {

/// Throws Error(kInvalidArgument), with the nearest name.
const attention::Operation& operation_named(const std::string& name);

/// The arrays and options of NAME=... words, the mask after its steps, and random arrays for those
/// that are missing; the extents of a mask are those of the arrays. Operations that are causal by
/// default are not when a mask is given, unless a word says so. Throws Error(kInvalidArgument) for
/// a name given twice, Error(kShape) for --axes that contradict the mask.
attention::NamedArguments read_call(const attention::Operation& operation,
                                    const CallOptions& options, Loader& loader);

/// "B=2+Tq=64" over `size`, where it is given, for axes of tokens, rows and lengths, and over the
/// defaults B 1, T 128, heads 4, D 64, and Dv as D.
attention::AxisExtents parse_axes(const std::string& text, std::optional<Index> size = {});

}  // namespace maskctl::app
