// Reads mask functions of flash-attn 4 as those of other libraries; private to the layer.
#pragma once

#include "maskctl/translate/read/python_text.h"

namespace maskctl {

/// The text without what CuTe's language asks for: utils.scalar_to_ssa(x, type) becomes x, q_idx[0]
/// becomes q_idx, aux_tensors[i] the array that the call names there, if the text has it, and flags
/// that are compared with 0 the flags.
PythonText without_cute(PythonText text);

}  // namespace maskctl
