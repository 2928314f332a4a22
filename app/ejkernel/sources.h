// SOURCEs as MaskInfo; private to this folder.
#pragma once

#include <string>

#include "app/session/loader.h"
#include "maskctl/ejkernel/mask_info/mask_info.h"

namespace maskctl::app::ejkernel {

/// A stored MaskInfo, or one made by the constructor for its kind.
MaskInfo read_info(Loader& loader, const std::string& source);
/// The MaskInfo after all steps, applied as calls of its methods.
MaskInfo with_steps(Loader& loader, MaskInfo info);
/// read_info(), then with_steps().
MaskInfo info_of(Loader& loader, const std::string& source);

}  // namespace maskctl::app::ejkernel
