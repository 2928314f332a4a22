// Why a query may attend to a key after calls of MaskInfo's methods.
#pragma once

#include <span>
#include <string>

#include "maskctl/ejkernel/mask_info/mask_info.h"
#include "maskctl/inspect/why/why.h"
#include "maskctl/pipeline/steps/bind.h"

namespace maskctl {

/// As why(), for the steps of ejkernel_chain.h. Whether the cell is open is read from ejkernel's
/// masks; the reasons are those of our own rules with ejkernel's arguments. `cell` is a cell of the
/// mask after all calls. Throws PipelineError as bind_ejkernel(), PythonError as the methods do,
/// Error(kInvalidArgument) for a cell outside the mask.
Why why_ejkernel(MaskInfo info, std::span<const std::string> texts, const BindContext& context,
                 const Cell& cell);

}  // namespace maskctl
