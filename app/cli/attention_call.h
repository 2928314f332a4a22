// Calls of operations as written on the command line; shared by attend, verify and bench.
#pragma once

#include <optional>
#include <string>

#include "app/cli/load.h"
#include "app/cli/options_attention.h"
#include "maskctl/attention/by_name.h"

namespace maskctl::app {

/// Throws Error(kInvalidArgument) that suggests the nearest name.
const attention::Operation& operation_named(const std::string& name);

/// Throws Error(kDevice) for a backend that cannot run here: why, and which one `option` can name.
void require_backend(attention::Backend backend, std::string_view option);

/// The arrays and options of the NAME=... words, the mask after its steps, and random arrays for
/// those that are missing; their extents are those of the mask. Operations that are causal by
/// default are not when a mask is given, unless a word says so. Throws Error(kInvalidArgument) for
/// a name given twice, Error(kShape) for --axes that contradict the mask.
attention::NamedArguments read_call(const attention::Operation& operation,
                                    const CallOptions& options, Loader& loader);

/// "B=2+Tq=64" on top of `size`, if given, for the axes of tokens, rows and lengths, and on top of
/// the defaults B 1, T 128, heads 4, D 64, and Dv as D.
attention::AxisExtents parse_axes(const std::string& text, std::optional<Index> size = {});

}  // namespace maskctl::app
