// Reads SOURCEs as MaskInfo; only for files of this folder.
#pragma once

#include <string>

#include "app/session/loader.h"
#include "maskctl/ejkernel/mask_info/mask_info.h"

namespace maskctl::app::ejkernel {

/// Reads a MaskInfo, or makes one from another kind of SOURCE with the matching constructor of
/// ejkernel.
MaskInfo read_info(Loader& loader, const std::string& source);
/// Applies all steps of the loader's options as calls of MaskInfo's methods.
MaskInfo with_steps(Loader& loader, MaskInfo info);
/// read_info() followed by with_steps().
MaskInfo info_of(Loader& loader, const std::string& source);

}  // namespace maskctl::app::ejkernel
