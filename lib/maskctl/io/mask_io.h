// Masks by name: any SOURCE to a lazy mask, and a mask to a DEST.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/io/array_io.h"
#include "maskctl/io/kind.h"
#include "maskctl/io/read_options.h"
#include "maskctl/mask/bias.h"
#include "maskctl/mask/block_size.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/varlen.h"

namespace maskctl {

struct MaskReadOptions {
  /// What the array is; without it the rule of kind.h decides or refuses.
  std::optional<Kind> as;
  /// 0 = may attend (dense), 0 = valid (padding, key-padding).
  bool keep_value_is_zero = false;
  /// The segment id that sees nothing.
  std::int32_t pad_id = -1;
  /// Of the blocks of a block map.
  std::optional<BlockSize> block;
  /// Elements of a bias at or below this number are closed, other finite ones open. Arrays of
  /// other types than floats have none of either.
  std::optional<double> closed_below;
  /// [B,H,Q,K]: gives what the array does not carry (queries of key-padding, extents of cu_seqlens,
  /// pairs and block maps, all of bits); an axis of 1 of batches, heads
  /// or queries is repeated. Anything else must
  /// agree.
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
  /// [B,S] int32, for segments and positions (numbers of documents).
  std::optional<Tensor> q_segment_ids, kv_segment_ids;
  Index odd_bools = 0;  // bool bytes that are neither 0 nor 1, counted as true
  BiasSeen bias_seen;   // what closes cells of a bias
  std::vector<std::string> notes;
};

/// Reads FILE, CONTAINER:KEY or "-"; or "q=SOURCE,kv=SOURCE" for segments, positions, cu_seqlens
/// and pairs, where a SOURCE may stand in quotes. A container that holds q and kv, and nothing else
/// or with --as, is read in the same way; one that holds indptr, begin, end and shape is runs; with
/// a KEY, arrays KEY/q and so on. Data of .npy and safetensors files is streamed for dense masks
/// and biases: read by several threads from files, in order from pipes, and held only packed.
/// Values other than 0 and 1 in dense and padding arrays are an Error naming the first (nonzero
/// bytes of a bool are true, with a note), as are values of a bias that neither open nor close
/// (mask/bias.h). Throws Error; messages start with the source.
LoadedMask read_mask(const std::string& source, const MaskReadOptions& options = {});

struct MaskWriteOptions {
  Kind kind = Kind::kDense;             // any that is_writable()
  std::optional<DType> dtype = {};      // of the elements; without it that of the kind
  bool keep_value_is_zero = false;      // 0 = open (dense), 0 = valid (padding, key-padding)
  std::int32_t pad_id = -1;             // of segments
  BiasFill fill = BiasFill::kInf;       // of closed cells of a bias
  std::optional<BlockSize> block = {};  // of a block map
  PaddingTokens padding = PaddingTokens::kSegments;  // of the cu_seqlens of a batch
  Index max_bytes = Index{4} << 30;  // for what is allocated: whole arrays; rows of dense
  bool force = false;                // replace an existing file
  bool append = false;               // keep the other arrays of an existing container
  int gzip = 0;                      // level that packs HDF5 and .npz; 0: not packed
  std::function<void(double fraction)> progress = {};
};

/// What a mask becomes as a kind of array.
struct ConvertedMask {
  Kind kind = Kind::kDense;
  Mask source;  // as it was given
  /// What the arrays mean; one head stands for all where the kind has none.
  Mask mask;
  /// Cells of `source` that differ in it.
  Index changed = 0;
  /// Of these, cells that are lost: not those that a kernel's causal flag brings back, nor the
  /// padding of a packed batch, which becomes segments of its own or is dropped.
  Index lost = 0;
  /// The arrays, for the kinds that are not made while they are written. Two are called q and kv.
  std::vector<NamedTensor> arrays;
  /// What goes beside them into a container without a key: the longest segments, for cu_seqlens.
  std::vector<NamedTensor> beside;
  /// What reading the arrays back needs: "--shape 1+1+8+8".
  std::vector<std::string> notes;
};

/// Exact where the kind can hold the mask, else the nearest by the rule of the kind
/// (mask/nearest.h). Throws Error(kUnsupported) for kinds that are read only,
/// Error(kInvalidArgument) for options that the kind does not have.
ConvertedMask convert_mask(const Mask& mask, const MaskWriteOptions& options);

/// Segment ids as they were read, where no step has changed the mask.
ConvertedMask kept_segments(const LoadedMask& loaded, const MaskWriteOptions& options);

/// Dense, bias and block maps: [B,H,Q,K], byte for byte as np.save writes them, made and written by
/// parts; bits likewise, [N]. Runs and arrays that differ for queries and keys need a container or
/// "-" (an .npz).
void write_mask(const std::string& dest, const ConvertedMask& converted,
                const MaskWriteOptions& options);
void write_mask(const std::string& dest, const Mask& mask, const MaskWriteOptions& options = {});

}  // namespace maskctl
