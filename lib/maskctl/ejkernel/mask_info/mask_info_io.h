// Stores a whole MaskInfo in one .npz, HDF5 group or .safetensors file, and reads it.
#pragma once

#include <string>

#include "maskctl/ejkernel/mask_info/mask_info.h"
#include "maskctl/io/array_io.h"
#include "maskctl/io/masks/mask_io.h"

namespace maskctl {

/// Writes exactly what is stored in `info`: reading it back gives the same fields, None included,
/// the same flags and the same axis names. `dest` is "m.npz", "m.h5:/GROUP", "m.safetensors" (each
/// may name a group) or "-" (.npz). The arrays:
///   maskinfo               int32 [1]: 1, the version of this layout
///   q_segment_ids, kv_segment_ids, cu_seqlens_q, cu_seqlens_kv, q_positions, kv_positions:
///                          as they are; absent = None
///   attention_mask         a mask that is not lazy, as it is; or, of a lazy one,
///   attention_mask.indptr, .begin, .end, .shape: its runs (see RunArrays),
///   attention_mask.rank    int32 [1]: its rank, axes counted from the last, and
///   attention_mask.dtype   uint8 [n]: the name of its dtype
///   baked_in               bool [4]: causal, sliding_window, chunked, token_type_ids
///   axes.kind              int32 [4]: batch, qheads, kvheads, sequence; 0 None, 1 name, 2 tuple
///   axes.count             int32 [4]: how many names each has
///   axes.names             uint8 [n]: all names in this order, each ended by a zero byte
/// Throws Error(kLimit) when the runs take more than max_bytes.
void write_mask_info(const std::string& dest, const MaskInfo& info,
                     const WriteOptions& options = {}, Index max_bytes = Index{4} << 30);

/// Reads such a file, or "-". Everything is checked; messages start with the name of the source.
/// Throws Error(kFormat) for arrays that are missing, unknown or of another form.
MaskInfo read_mask_info(const std::string& source, const ReadOptions& options = {});

/// Has read_mask() of io read it as a mask too; the LoadedMask has the MaskInfo as its object.
extern const ObjectKind kStoredMaskInfo;

/// The MaskInfo of what was read: the stored one, by from_segments where there are ids, else by
/// from_attention_mask.
MaskInfo mask_info_of(const LoadedMask& loaded);

}  // namespace maskctl
