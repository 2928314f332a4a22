// Writes the lines of the debug mode, for functions that ejkernel traces; private to the library.
#pragma once

#include <string_view>

namespace maskctl {

/// "[MaskInfo Debug] Calling NAME()". `name` as ejkernel prints it: "MaskInfo.apply_causal" for a
/// method, "type.from_segments" for a class method; for a function after the type of its first
/// argument, "ArrayImpl.mask_to_segment_ids", "tuple.segment_ids_to_mask".
void trace_call(std::string_view name);

/// "[MaskInfo Debug] Property access: NAME".
void trace_property(std::string_view name);

}  // namespace maskctl
