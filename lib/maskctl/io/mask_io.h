// Masks by name: any SOURCE to a lazy mask, and a mask to a DEST.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/io/array_io.h"
#include "maskctl/io/kind.h"
#include "maskctl/io/read_options.h"
#include "maskctl/mask/mask.h"

namespace maskctl {

struct MaskReadOptions {
  /// What the array is; without it the rule of kind.h decides or refuses.
  std::optional<Kind> as;
  /// 0 = may attend (dense), 0 = valid (padding, key-padding).
  bool keep_value_is_zero = false;
  /// The segment id that sees nothing.
  std::int32_t pad_id = -1;
  /// [B,H,Q,K]: gives what the array does not carry (queries of key-padding, extents of cu_seqlens
  /// and pairs); a batch or head axis of 1 is repeated. Anything else must agree.
  std::optional<std::vector<Index>> shape;
  /// max_bytes limits the packed form of a dense mask, not its file.
  ReadOptions read;
  /// Told fractions of the work, from any thread, never two at once.
  std::function<void(double fraction)> progress;
};

struct LoadedMask {
  Mask mask;
  Kind kind = Kind::kDense;
  std::string dtype;               // of the array
  std::vector<Index> array_shape;  // as stored
  /// [B,S] int32, for segments.
  std::optional<Tensor> q_segment_ids, kv_segment_ids;
  std::vector<std::string> notes;
};

/// Reads FILE, FILE.npz:KEY or "-"; or "q=SOURCE,kv=SOURCE" for segments, cu_seqlens and pairs,
/// where a SOURCE may stand in quotes. An .npz that holds indptr, begin, end and shape is runs.
/// Dense .npy data is streamed: read by several threads from files, in order from pipes, and held
/// only packed. Values other than 0 and 1 in dense and padding arrays are an Error naming the first
/// (nonzero bytes of a bool are true, with a note). Throws Error; messages start with the source.
LoadedMask read_mask(const std::string& source, const MaskReadOptions& options = {});

struct MaskWriteOptions {
  Kind kind = Kind::kDense;    // or kRuns
  DType dtype = DType::kBool;  // of dense elements
  bool keep_value_is_zero = false;
  Index max_bytes = Index{4} << 30;  // for what is allocated: the arrays of runs; rows of dense
  bool force = false;                // replace an existing file
  std::function<void(double fraction)> progress = {};
};

/// Dense: an .npy [B,H,Q,K], byte for byte as np.save writes it, made and written by bands of rows;
/// into an .npz only as a whole. Runs: an .npz. Throws Error(kUnsupported) for other kinds.
void write_mask(const std::string& dest, const Mask& mask, const MaskWriteOptions& options = {});

}  // namespace maskctl
