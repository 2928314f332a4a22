// What the kinds make of the arrays of a SOURCE.
#pragma once

#include <string>
#include <vector>

#include "maskctl/io/container.h"
#include "maskctl/io/mask_io.h"

namespace maskctl {

/// The kind asked for, or the only one that fits. Throws Error(kInvalidArgument) naming the kinds
/// when several do, Error(kShape) when none does.
Kind choose_kind(OpenArray& array, const MaskReadOptions& options, std::vector<std::string>& notes);

/// The mask of one array of a kind that needs no more than one; runs need four.
LoadedMask load_array(OpenArray& array, Kind kind, const MaskReadOptions& options);
/// Of the kinds that have two sides; q and kv may be the same array.
LoadedMask load_sequences(OpenArray& q, OpenArray& kv, Kind kind, const MaskReadOptions& options);

}  // namespace maskctl
