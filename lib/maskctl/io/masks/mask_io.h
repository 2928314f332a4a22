// Reads the mask that a SOURCE text names as a lazy mask, and writes masks to a DEST.
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
#include "maskctl/mask/arrays/array_facts.h"
#include "maskctl/mask/arrays/bias.h"
#include "maskctl/mask/arrays/block_lists.h"
#include "maskctl/mask/arrays/varlen.h"
#include "maskctl/mask/block_size.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/mask_steps.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl {

/// Some rows of a dense mask that is still being read.
struct RowsRead {
  std::span<const Index> shape;  // [B,H,Q,K] of the mask
  Range queries;
  std::span<const std::uint64_t> words;  // as in Keys::words, one row after another
};
using RowsSink = std::function<void(const RowsRead& rows)>;

struct ObjectKind;
class ContainerCache;

struct MaskReadOptions {
  /// The kind of the array. If it is not set, the rules of kind.h choose one or refuse.
  std::optional<ArrayKind> as = {};
  /// 0 means may attend (dense), or valid (padding, key-padding).
  bool keep_value_is_zero = false;
  /// The segment id of padding, which sees nothing.
  std::int32_t pad_id = -1;
  /// The block size of a block map, of lists of blocks that are stored without it, and of index
  /// lists whose entries are blocks; for ragged offsets, the elements of a query and of a key.
  std::optional<BlockSize> block = {};
  /// For arrays of floats: an element at or below this number is closed, any other finite one open.
  std::optional<double> closed_below = {};
  /// [B,H,Q,K]: gives extents that the array does not have (queries of key-padding; queries and
  /// keys of cu_seqlens, pairs and block maps; everything for bits). If the array has one batch,
  /// head or query, it is repeated. All other extents must agree.
  std::optional<std::vector<Index>> shape = {};
  /// read.max_bytes limits the memory of the packed mask, not the size of the file.
  ReadOptions read = {};
  /// Keeps the container open for the next read of one of its arrays; null: it is opened anew.
  ContainerCache* containers = nullptr;
  /// Kinds that layers above this one read: how a container may hold them.
  std::vector<const ObjectKind*> objects = {};
  /// Called with the fraction of work done, from any thread, but never by two threads at once.
  std::function<void(double fraction)> progress = {};
  /// Called with rows of the first batch and head of a dense mask as they are read, from any thread
  /// and in any order, so that a viewer can show them before the mask is complete.
  RowsSink rows_read = {};
};

/// A block map [B,H,Qb,Kb] of uint8: 0 not listed, 1 partial, 2 full.
struct BlockMapRead {
  Tensor map;
  BlockSize size;
};

struct LoadedMask {
  Mask mask;
  ArrayKind kind = ArrayKind::kDense;
  std::string dtype;               // dtype of the array
  std::vector<Index> array_shape;  // as in the file
  /// The number of axes of the array; 4 if they are not those of the mask (lengths, bits, runs).
  Index rank = 4;
  /// [B,S] int32: the ids of segments; for positions and padded lengths, the numbers of documents.
  std::optional<Tensor> q_segment_ids, kv_segment_ids;
  bool shared_ids = true;  // queries and keys have the same array of ids
  /// For flex, fa4 and bsr: the blocks. In `mask`, every cell of every listed block is open.
  std::optional<BlockMapRead> blocks;
  /// The object of another library that was read, if `kind` is one; empty for arrays.
  std::any object;
  /// The steps that make the mask of an all-open one, if the file has them (kind mask).
  std::optional<MaskSteps> steps;
  Index odd_bools = 0;  // bool bytes that are neither 0 nor 1; they count as true
  BiasSeen bias_seen;   // which values closed the cells of a bias
  ArrayFacts facts;     // what was noticed in lists of keys and slices; each has a note too
  std::vector<std::string> notes;
};

class Container;

/// How to read what a layer above this one knows: an object of another library, or a mask as steps,
/// that is stored as the arrays of a group of a container.
struct ObjectKind {
  ArrayKind kind;
  /// True if the group of the container holds such an object; an empty name means the whole
  /// container.
  bool (*is_in)(const Container& container, const std::string& group);
  /// Reads the mask, dtype, shape and object. Throws Error that starts with the container's name.
  LoadedMask (*read)(Container& container, const std::string& group, const ReadOptions& options);
};

/// The two SOURCEs in a text like "q=SOURCE,kv=SOURCE", in either order; nothing for a single
/// SOURCE. Throws Error(kInvalidArgument) when one of the two is missing.
struct TwoSources {
  std::string q, kv;
};
std::optional<TwoSources> two_sources(std::string_view text);

/// Reads the mask that `source` names:
/// - FILE, CONTAINER:KEY or "-";
/// - "q=SOURCE,kv=SOURCE" for segments, positions, cu_seqlens and pairs; a SOURCE may be quoted;
/// - a container (or with a KEY the arrays KEY/...) that holds q and kv and, unless options.as is
///   set, nothing else; indptr, begin, end and shape (runs); lists of blocks (flex, fa4, bsr; see
///   docs/formats.md); or one of options.objects.
/// Dense masks and biases in .npy and safetensors files are streamed: read by several threads from
/// files, in order from pipes, and held only in packed form. Values other than 0 and 1 in dense and
/// padding arrays give an Error that names the first one, except in bool arrays: there every
/// nonzero byte is true, with a note. Values of a bias that are neither open nor closed
/// (mask/arrays/bias.h) give an Error too. Throws Error; messages start with the source.
LoadedMask read_mask(const std::string& source, const MaskReadOptions& options = {});

/// How the `format` in the metadata of a file begins that holds a mask as steps; its version
/// follows. Without an object that reads them, read_mask() refuses these files.
inline constexpr std::string_view kMaskFileFormat = "maskctl.mask/";
/// The `format` of a container that begins so; empty if it has none.
std::string_view mask_file_format(const Container& container);

/// True if a SOURCE is a file with lists of blocks, or names a group of such lists; false for "-".
bool holds_block_lists(const std::string& source);

/// An array in memory that somebody else owns.
struct NamedView {
  std::string name;
  TensorView array;
};
/// The mask of arrays in memory, which are not needed afterwards: a single array, whose name does
/// not matter; or, with the names that a container has, q and kv, runs, or lists of blocks.
/// Messages start with `name`.
LoadedMask read_mask(const std::string& name, std::span<const NamedView> arrays,
                     const MaskReadOptions& options = {});

struct MaskWriteOptions {
  ArrayKind kind = ArrayKind::kDense;  // any kind that is_writable()
  std::optional<DType> dtype = {};     // of the elements; if not set, the default of the kind
  /// The number of axes to write, such as LoadedMask::rank. Dense arrays, biases and block maps are
  /// [Q,K] for 1 and 2, [B,Q,K] for 3; ids and padding are [S] for 1. All axes are written for 4,
  /// and when an axis that would be left out is longer than 1.
  Index rank = 4;
  bool keep_value_is_zero = false;      // 0 means open (dense) or valid (padding, key-padding)
  std::int32_t pad_id = -1;             // segments: the id of padding tokens
  BiasFill fill = BiasFill::kInf;       // bias: the number in closed cells
  std::optional<BlockSize> block = {};  // block size, for kinds that store blocks
  /// For cu_seqlens of a mask with several batch entries: what happens to padding tokens.
  PaddingTokens padding = PaddingTokens::kSegments;
  Index max_bytes = Index{4} << 30;  // memory for whole arrays, or for rows of a dense one
  bool force = false;                // these four as in WriteOptions
  bool append = false;
  bool replace_file = false;
  int gzip = 0;
  std::function<void(double fraction)> progress = {};
};

/// The result of converting a mask to a kind of array.
struct ConvertedMask {
  ArrayKind kind = ArrayKind::kDense;
  Mask source;  // the mask that was converted
  /// The mask that the arrays mean. If the kind has no heads, its one head stands for all.
  Mask mask;
  /// The number of cells in which `mask` differs from `source`.
  Index changed = 0;
  /// How many of the changed cells cannot be restored. Cells that a kernel's causal flag closes
  /// again do not count, nor does the padding of a packed batch, which becomes segments of its own
  /// or is dropped.
  Index lost = 0;
  /// The arrays to which the mask was converted. Empty for kinds whose arrays are made while they
  /// are written. If there are two, they are called q and kv.
  std::vector<NamedTensor> arrays;
  /// More arrays to write if the DEST is a container without a key: for cu_seqlens, the lengths of
  /// the longest segments.
  std::vector<NamedTensor> beside;
  /// True if reading the arrays back needs --as and the shape of `source`.
  bool needs_shape = false;
  std::vector<std::string> notes;
};

/// Converts exactly if the kind can hold the mask, else to the nearest mask that it can hold
/// (mask/arrays/nearest.h). Throws Error(kUnsupported) for kinds that are read only,
/// Error(kInvalidArgument) for options that do not apply to the kind.
ConvertedMask convert_mask(const Mask& mask, const MaskWriteOptions& options);

/// For a mask that no step has changed: its segment ids as they were read.
ConvertedMask kept_segments(const LoadedMask& loaded, const MaskWriteOptions& options);

/// Writes a mask. Dense arrays, biases and block maps get the axes of options.rank, byte for byte
/// as np.save writes them; bits are [N]. These are produced and written part by part. Runs, and
/// separate arrays for queries and keys, need a container or "-" (then an .npz). An array of a
/// container that is replaced by one of the same cells keeps its axes, whatever options.rank says.
void write_mask(const std::string& dest, const ConvertedMask& converted,
                const MaskWriteOptions& options);
void write_mask(const std::string& dest, const Mask& mask, const MaskWriteOptions& options = {});

/// The arrays that write_mask would write to a container, in memory. Throws Error(kLimit) when one
/// takes more than options.max_bytes.
std::vector<NamedTensor> mask_arrays(ConvertedMask converted, const MaskWriteOptions& options);

/// The arrays of a kind that lists blocks, with block_size and seq_lengths: flex as torch's
/// create_block_mask makes them; fa4 with lists as wide as the longest. `by_keys`: for fa4 and bsr,
/// rows are blocks of keys, for a backward pass. Throws Error(kLimit).
std::vector<NamedTensor> block_list_arrays(const MaskBlocks& blocks, ArrayKind kind, bool by_keys,
                                           Index max_bytes);

}  // namespace maskctl
