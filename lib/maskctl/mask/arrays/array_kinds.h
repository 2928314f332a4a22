// Two more array forms of a mask, besides those of dense.h: block maps and position ids.
#pragma once

#include <optional>

#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// Document numbers of position ids [S] or [B, S]: [B, S] int32. A token continues the document of
/// its left neighbour when its position is the neighbour's plus one; any other position that is not
/// negative starts a new document (0 as packed batches have it, but also a jump). Documents count
/// from 0 in each batch; a negative position is padding and gets -1.
/// Throws Error(kShape) for other ranks.
Tensor documents_from_positions(const Tensor& positions);

/// The mask of a block map [Tq, Tk], [B, Tq, Tk] or [B, H, Tq, Tk]: block (i, j) covers queries
/// [i * q_size, (i + 1) * q_size) and keys likewise, cut at the extents, which are Tq * q_size and
/// Tk * k_size unless given. Bool: open where true. Integers: 0 empty, 2 full; 1 (partial) does not
/// say which of its cells are open and is an Error naming the first, as is any other value.
/// Throws Error(kShape) when the map does not fit the extents.
Mask mask_from_blockmap(const Tensor& map, Index q_size, Index k_size,
                        std::optional<Index> queries = std::nullopt,
                        std::optional<Index> keys = std::nullopt);

}  // namespace maskctl
