// Stores a MaskInfo in an .npz file, HDF5 group or .safetensors file, and reads it.
#pragma once

#include <string>

#include "maskctl/ejkernel/mask_info/mask_info.h"
#include "maskctl/io/array_io.h"
#include "maskctl/io/masks/mask_io.h"

namespace maskctl {

/// Writes exactly what is stored in `info`, so that reading gives the same fields (including None),
/// flags and axis names. `dest` is "m.npz", "m.h5:/GROUP", "m.safetensors" (each may name a group)
/// or "-" (.npz). The arrays:
///   maskinfo               int32 [1]: 1, the version of this layout
///   q_segment_ids, kv_segment_ids, cu_seqlens_q, cu_seqlens_kv, q_positions, kv_positions:
///                          unchanged; absent = None
///   attention_mask         if the mask is dense: its elements; if it is lazy,
///   attention_mask.indptr, .begin, .end, .shape: its runs (see RunArrays),
///   attention_mask.rank    int32 [1]: the rank of the array (see MaskArray), and
///   attention_mask.dtype   uint8 [n]: the name of its dtype
///   baked_in               bool [4]: causal, sliding_window, chunked, token_type_ids
///   axes.kind              int32 [4]: batch, qheads, kvheads, sequence; 0 None, 1 name, 2 tuple
///   axes.count             int32 [4]: how many names each has
///   axes.names             uint8 [n]: all names in this order, each ended by a zero byte
/// Throws Error(kLimit) when the runs take more than max_bytes.
void write_mask_info(const std::string& dest, const MaskInfo& info,
                     const WriteOptions& options = {}, Index max_bytes = Index{4} << 30);

/// Reads a file that write_mask_info() wrote, or "-" (standard input). Checks everything; messages
/// start with the name of the source. Throws Error(kFormat) for arrays that are missing, unknown or
/// malformed.
MaskInfo read_mask_info(const std::string& source, const ReadOptions& options = {});

/// Registers the format of write_mask_info() with read_mask() of io, which then reads these files
/// as masks. LoadedMask::object is the MaskInfo.
extern const ObjectKind kStoredMaskInfo;

/// The MaskInfo of what was read: the stored one, else from_segments() if there are ids, else
/// from_attention_mask().
MaskInfo mask_info_of(const LoadedMask& loaded);

}  // namespace maskctl
