// Writes the lines of the debug mode, for functions that ejkernel traces. Used only inside the
// library.
#pragma once

#include <string_view>

namespace maskctl {

/// Writes "[MaskInfo Debug] Calling NAME()". `name` is as ejkernel prints it:
/// "MaskInfo.apply_causal" for a method, "type.from_segments" for a class method. A function is
/// named after the type of its first argument: "ArrayImpl.mask_to_segment_ids",
/// "tuple.segment_ids_to_mask".
void trace_call(std::string_view name);

/// Writes "[MaskInfo Debug] Property access: NAME".
void trace_property(std::string_view name);

}  // namespace maskctl
