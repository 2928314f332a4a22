// Reads single arrays that list or bound the keys of each query, as sparse kernels take them.
#pragma once

#include "maskctl/io/formats/container.h"
#include "maskctl/io/masks/mask_io.h"

namespace maskctl {

/// Appends a note for each fact that was noticed in the arrays of `name`.
void note_facts(const std::string& name, LoadedMask& loaded);

LoadedMask load_index_lists(OpenArray& array, const MaskReadOptions& options);
/// `kind`: flashmask or flashmask-causal.
LoadedMask load_flashmask(OpenArray& array, ArrayKind kind, const MaskReadOptions& options);
LoadedMask load_intervals(OpenArray& array, const MaskReadOptions& options);

}  // namespace maskctl
