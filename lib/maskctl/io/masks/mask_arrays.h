// Reads one or two arrays as a mask of a given kind.
#pragma once

#include <string>
#include <vector>

#include "maskctl/io/formats/container.h"
#include "maskctl/io/masks/mask_io.h"

namespace maskctl {

/// The kind that the options ask for, or the only kind that fits. Throws Error(kInvalidArgument)
/// that names the kinds when several fit, Error(kShape) when none does.
ArrayKind choose_kind(OpenArray& array, const MaskReadOptions& options,
                      std::vector<std::string>& notes);

/// The mask of a single array, of any kind except runs and stored objects, which consist of several
/// arrays.
LoadedMask load_array(OpenArray& array, ArrayKind kind, const MaskReadOptions& options);
/// The mask of two arrays, one for queries and one for keys, for the kinds that have these. q and
/// kv may be the same array.
LoadedMask load_sequences(OpenArray& q, OpenArray& kv, ArrayKind kind,
                          const MaskReadOptions& options);

}  // namespace maskctl
