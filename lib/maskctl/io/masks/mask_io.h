// Masks by name: reads any SOURCE as a lazy mask, and writes a mask to a DEST.
#pragma once

#include <any>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/io/array_io.h"
#include "maskctl/io/kinds/kind.h"
#include "maskctl/io/streams/options.h"
#include "maskctl/mask/arrays/bias.h"
#include "maskctl/mask/arrays/block_lists.h"
#include "maskctl/mask/arrays/varlen.h"
#include "maskctl/mask/block_size.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl {

/// Rows of a dense mask that is still being read.
struct RowsRead {
  std::span<const Index> shape;  // [B,H,Q,K] of the mask
  Range queries;
  std::span<const std::uint64_t> words;  // as in Keys::words, one row after another
};
using RowsSink = std::function<void(const RowsRead& rows)>;

struct ObjectKind;

struct MaskReadOptions {
  /// The kind of the array; if not set, the rule of kind.h decides or refuses.
  std::optional<ArrayKind> as;
  /// 0 = may attend (dense), 0 = valid (padding, key-padding).
  bool keep_value_is_zero = false;
  /// The segment id that sees nothing.
  std::int32_t pad_id = -1;
  /// The size of the blocks of a block map, and of lists of blocks that do not say it.
  std::optional<BlockSize> block;
  /// Elements of a bias at or below this number are closed, other finite ones open. Only for arrays
  /// of floats.
  std::optional<double> closed_below;
  /// [B,H,Q,K]: supplies extents that the array does not carry (queries of key-padding; queries and
  /// keys of cu_seqlens, pairs and block maps; all of bits). An axis of 1 of batches, heads or
  /// queries is repeated. All other extents must agree.
  std::optional<std::vector<Index>> shape;
  /// Its max_bytes limits the packed form of a dense mask, not the file.
  ReadOptions read;
  /// An object of another library that a container may hold, by the layer that knows it.
  const ObjectKind* object = nullptr;
  /// Called with the fraction of work done, from any thread, but never by two at once.
  std::function<void(double fraction)> progress;
  /// Called with the rows of the first batch and head of a dense mask as they are read, from any
  /// thread and in any order: who waits for the mask can already show them.
  RowsSink rows_read;
};

/// A map [B,H,Qb,Kb] of blocks, uint8: 0 left out, 1 partial, 2 full.
struct BlockMapRead {
  Tensor map;
  BlockSize size;
};

struct LoadedMask {
  Mask mask;
  ArrayKind kind = ArrayKind::kDense;
  std::string dtype;               // dtype of the array
  std::vector<Index> array_shape;  // as stored
  /// The axes of the array; 4 when it does not have those of the mask (lengths, bits, runs).
  Index rank = 4;
  /// [B,S] int32, for segments, and for positions (numbers of documents).
  std::optional<Tensor> q_segment_ids, kv_segment_ids;
  bool shared_ids = true;  // those of the keys are those of the queries, which were read once
  /// For flex, fa4 and bsr: the blocks; `mask` has every cell of those that are not left out.
  std::optional<BlockMapRead> blocks;
  /// The object of another library that was read; empty for arrays.
  std::any object;
  Index odd_bools = 0;  // bool bytes that are neither 0 nor 1, counted as true
  BiasSeen bias_seen;   // the values that close cells of a bias
  std::vector<std::string> notes;
};

class Container;

/// An object of another library, stored as arrays of a group of a container.
struct ObjectKind {
  ArrayKind kind;
  /// Whether a group of the container, or the whole container for an empty name, holds such an
  /// object.
  bool (*is_in)(const Container& container, const std::string& group);
  /// Its mask, dtype, shape and object; throws Error that starts with the container's name.
  LoadedMask (*read)(Container& container, const std::string& group, const ReadOptions& options);
};

/// The arrays that "q=SOURCE,kv=SOURCE" names, in either order; nothing for a single SOURCE. Throws
/// Error(kInvalidArgument) when one of them is missing.
struct TwoSources {
  std::string q, kv;
};
std::optional<TwoSources> two_sources(std::string_view text);

/// Reads FILE, CONTAINER:KEY or "-"; or "q=SOURCE,kv=SOURCE" for segments, positions, cu_seqlens
/// and pairs, where a SOURCE may be quoted. A container that holds q and kv (and nothing else,
/// unless --as is given) is read in the same way; one that holds indptr, begin, end and shape is
/// runs, one that holds lists of blocks flex, fa4 or bsr (docs/formats.md); options.object may be
/// another. With a KEY, the arrays are KEY/q and so on. For dense masks
/// and biases, the data of .npy and safetensors files is streamed: read by several threads from
/// files, in order from pipes, and held only in packed form. Values other than 0 and 1 in dense and
/// padding arrays are an Error naming the first (nonzero bytes of a bool are true, with a note), as
/// are values of a bias that neither open nor close (mask/bias.h). Throws Error; messages start
/// with the source.
LoadedMask read_mask(const std::string& source, const MaskReadOptions& options = {});

/// Whether a SOURCE is a file of lists of blocks, or names a group of them; false for "-".
bool holds_block_lists(const std::string& source);

/// An array in memory that somebody else holds.
struct NamedView {
  std::string name;
  TensorView array;
};
/// The mask of arrays in memory, which are read where they lie and not needed afterwards: a single
/// one, whatever its name, or as in a container q and kv, runs, or lists of blocks. Messages start
/// with `name`.
LoadedMask read_mask(const std::string& name, std::span<const NamedView> arrays,
                     const MaskReadOptions& options = {});

struct MaskWriteOptions {
  ArrayKind kind = ArrayKind::kDense;  // any that is_writable()
  std::optional<DType> dtype = {};     // of the elements; if not set, the default of the kind
  /// The axes to keep, such as LoadedMask::rank. Dense arrays, biases and block maps are [Q,K] for
  /// 2 and 1, [B,Q,K] for 3; ids and padding are [S] for 1. Where axes left out are not of extent
  /// 1, and for 4, all axes are written.
  Index rank = 4;
  bool keep_value_is_zero = false;      // 0 = open (dense), 0 = valid (padding, key-padding)
  std::int32_t pad_id = -1;             // for segments
  BiasFill fill = BiasFill::kInf;       // for closed cells of a bias
  std::optional<BlockSize> block = {};  // for the kinds of blocks
  PaddingTokens padding = PaddingTokens::kSegments;  // how the cu_seqlens of a batch treat padding
  Index max_bytes = Index{4} << 30;  // limit for allocations: whole arrays, or rows of a dense one
  bool force = false;                // replace an existing file
  bool append = false;               // keep the other arrays of an existing container
  int gzip = 0;                      // compression level for HDF5 and .npz; 0: none
  std::function<void(double fraction)> progress = {};
};

/// A mask converted to a kind of array.
struct ConvertedMask {
  ArrayKind kind = ArrayKind::kDense;
  Mask source;  // the mask as given
  /// The mask that the arrays mean; one head stands for all if the kind has no heads.
  Mask mask;
  /// Cells of `source` that differ in `mask`.
  Index changed = 0;
  /// The changed cells that are lost for good: without those that a kernel's causal flag restores,
  /// and without the padding of a packed batch, which becomes segments of its own or is dropped.
  Index lost = 0;
  /// The arrays, except for kinds whose arrays are made while they are written. A pair is called q
  /// and kv.
  std::vector<NamedTensor> arrays;
  /// Further arrays for a container without a key: for cu_seqlens, the longest segments.
  std::vector<NamedTensor> beside;
  /// Whether reading the arrays back needs the kind and the shape of `source` besides.
  bool needs_shape = false;
  std::vector<std::string> notes;
};

/// Exact if the kind can hold the mask, else the nearest by the rule of the kind (mask/nearest.h).
/// Throws Error(kUnsupported) for kinds that are read only, Error(kInvalidArgument) for options
/// that do not apply to the kind.
ConvertedMask convert_mask(const Mask& mask, const MaskWriteOptions& options);

/// Segment ids as they were read, for a mask that no step has changed.
ConvertedMask kept_segments(const LoadedMask& loaded, const MaskWriteOptions& options);

/// Writes dense arrays, biases and block maps with the axes of options.rank, byte for byte like
/// np.save, made and written part by part; bits likewise as [N]. Runs, and arrays that differ for
/// queries and keys, need a container or "-" (an .npz).
void write_mask(const std::string& dest, const ConvertedMask& converted,
                const MaskWriteOptions& options);
void write_mask(const std::string& dest, const Mask& mask, const MaskWriteOptions& options = {});

/// What write_mask would write to a container, in memory. Throws Error(kLimit) when an array takes
/// more than options.max_bytes.
std::vector<NamedTensor> mask_arrays(ConvertedMask converted, const MaskWriteOptions& options);

/// The arrays of a kind that lists blocks, with block_size and seq_lengths: flex as torch's
/// create_block_mask makes them, fa4 with lists as wide as the longest. `by_keys`: fa4 and bsr by
/// rows of key blocks, for a backward pass. Throws Error(kLimit).
std::vector<NamedTensor> block_list_arrays(const MaskBlocks& blocks, ArrayKind kind, bool by_keys,
                                           Index max_bytes);

}  // namespace maskctl
