// Reads arrays of a SOURCE as a mask of some kind.
#pragma once

#include <string>
#include <vector>

#include "maskctl/io/formats/container.h"
#include "maskctl/io/masks/mask_io.h"

namespace maskctl {

/// The requested kind, or the only one that fits. Throws Error(kInvalidArgument) naming the kinds
/// when several fit, Error(kShape) when none does.
ArrayKind choose_kind(OpenArray& array, const MaskReadOptions& options,
                      std::vector<std::string>& notes);

/// The mask of a single array, for all kinds except runs and objects, which need several.
LoadedMask load_array(OpenArray& array, ArrayKind kind, const MaskReadOptions& options);
/// load_array() for the kinds with two sides; q and kv may be the same array.
LoadedMask load_sequences(OpenArray& q, OpenArray& kv, ArrayKind kind,
                          const MaskReadOptions& options);

}  // namespace maskctl
