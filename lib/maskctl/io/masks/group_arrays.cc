#include "maskctl/io/masks/group_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/io/masks/array_group.h"
#include "maskctl/io/masks/key_arrays.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/arrays/requests.h"
#include "maskctl/mask/arrays/slices.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

/// What reading a group needs: its arrays, the extents of all batch entries end to end and the
/// elements of tokens, where they are known, and the limit.
struct GroupRead {
  ArrayGroup arrays;
  std::optional<Index> queries, keys;
  std::optional<BlockSize> elements;
  Index max_bytes;
};

void read_runs(GroupRead& read, LoadedMask& out) {
  const RunArrays runs{read.arrays.take("indptr"), read.arrays.take("begin"),
                       read.arrays.take("end"), read.arrays.take("shape")};
  out.mask = mask_from_runs(runs);
  out.dtype = name(runs.begin.dtype());
  const auto shape = as_int64(runs.shape, "shape");
  out.array_shape.assign(shape.begin(), shape.end());
}

void read_slices(GroupRead& read, LoadedMask& out) {
  const SliceArrays slices{read.arrays.take("q_ranges"), read.arrays.take("k_ranges"),
                           read.arrays.take_if("attn_type_map")};
  if (!slices.types) out.notes.push_back("no attn_type_map: all slices are full");
  out.mask = mask_from_slices(slices, read.queries, read.keys, read.max_bytes, out.facts);
  if (!read.queries) {
    out.notes.push_back("the extents are the largest ends, for no shape was given");
  }
  out.dtype = name(slices.q.dtype());
  out.array_shape = slices.q.shape();
}

void read_request_bits(GroupRead& read, LoadedMask& out) {
  const RequestBits bits{read.arrays.take("packed_custom_mask"), read.arrays.take("qo_indptr"),
                         read.arrays.take("kv_indptr"), read.arrays.take_if("mask_indptr")};
  out.mask = mask_from_request_bits(bits, read.queries, read.keys, read.max_bytes);
  out.dtype = name(bits.packed.dtype());
  out.array_shape = bits.packed.shape();
}

void read_tree_bits(GroupRead& read, LoadedMask& out) {
  TreeBits bits{read.arrays.take("tree_mask"), read.arrays.take("tree_mask_lens")};
  if (const auto prefix = read.arrays.take_if("prefix_len")) {
    const auto keys = as_int64(*prefix, "prefix_len");
    if (keys.size() != 1) {
      throw Error(Errc::kShape, fmt::format("prefix_len has {} elements; expected 1, the keys "
                                            "before all trees",
                                            keys.size()));
    }
    bits.prefix = keys[0];
  }
  out.mask = mask_from_tree_bits(bits);
  out.dtype = name(bits.rows.dtype());
  out.array_shape = bits.rows.shape();
}

void read_lengths(const PaddedLengths& lengths, const GroupRead& read, LoadedMask& out) {
  out.mask = mask_from_padded_lengths(lengths, read.queries, read.keys);
  PaddedDocuments documents = documents_of_padded(lengths, out.mask.queries(), out.mask.keys());
  out.q_segment_ids = std::move(documents.q);
  out.kv_segment_ids = std::move(documents.kv);
}

/// Keys have the lengths of queries unless they have their own; without padded ones, no padding.
void read_padded_lengths(GroupRead& read, LoadedMask& out) {
  PaddedLengths lengths{
      read.arrays.take("cu_seqlens_q"), {}, read.arrays.take("cu_seqlens_q_padded"), {}};
  const auto kv = read.arrays.take_if("cu_seqlens_kv");
  const auto kv_padded = read.arrays.take_if("cu_seqlens_kv_padded");
  lengths.kv = kv.value_or(lengths.q);
  lengths.kv_padded = kv_padded.value_or(kv ? *kv : lengths.q_padded);
  read_lengths(lengths, read, out);
  out.shared_ids = !kv && !kv_padded;
  out.dtype = name(lengths.q.dtype());
  out.array_shape = lengths.q.shape();
}

constexpr const char* kElementsKey = "token_elements";

BlockSize elements_of(const GroupRead& read) {
  const auto stored = read.arrays.two(kElementsKey, 1);
  if (!stored && read.elements) return *read.elements;
  if (!stored) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("offsets without an array {} do not say how many elements the tokens "
                            "of queries and keys have",
                            kElementsKey),
                {{Remedy::kReadAs, "ragged-offsets:QxK"}});
  }
  const BlockSize own{(*stored)[0], (*stored)[1]};
  if (!read.elements || *read.elements == own) return own;
  throw Error(Errc::kInvalidArgument,
              fmt::format("tokens of {} and {} elements are asked for, but {} says {} and {}",
                          read.elements->q, read.elements->k, kElementsKey, own.q, own.k));
}

/// Keys have the lengths of queries unless they have their own, and the offsets too.
void read_ragged_offsets(GroupRead& read, LoadedMask& out) {
  const BlockSize elements = elements_of(read);
  RaggedOffsets ragged{read.arrays.take("seq_len_q"),
                       {},
                       read.arrays.take("q_ragged_offset"),
                       {},
                       elements.q,
                       elements.k};
  const auto lens = read.arrays.take_if("seq_len_kv");
  const auto offsets = read.arrays.take_if("k_ragged_offset");
  ragged.k_lens = lens.value_or(ragged.q_lens);
  ragged.k = offsets.value_or(ragged.q);
  if (!offsets) ragged.k_elements = ragged.q_elements;
  read_lengths(lengths_of_ragged(ragged), read, out);
  out.shared_ids = !lens && !offsets;
  out.dtype = name(ragged.q.dtype());
  out.array_shape = ragged.q.shape();
}

std::optional<Index> end_to_end_extent(const MaskReadOptions& options, std::size_t axis) {
  if (!options.shape) return std::nullopt;
  if (const auto all = checked_mul((*options.shape)[0], (*options.shape)[axis])) return all;
  throw Error(Errc::kShape, fmt::format("{} batch entries of {} tokens are too many",
                                        (*options.shape)[0], (*options.shape)[axis]));
}

/// What a mask becomes as a group: its arrays, in the order of their names, of which the last may
/// be left out, and the mask that they say.
struct GroupWritten {
  std::vector<Tensor> arrays;
  Mask mask;
};

GroupWritten write_runs(const Mask& mask, Index max_bytes) {
  RunArrays runs = runs_from_mask(mask, max_bytes);
  return {
      {std::move(runs.indptr), std::move(runs.begin), std::move(runs.end), std::move(runs.shape)},
      mask};
}

GroupWritten write_slices(const Mask& mask, Index max_bytes) {
  SliceArrays slices = slices_from_mask(mask, max_bytes);
  return {{std::move(slices.q), std::move(slices.k), std::move(*slices.types)}, mask};
}

GroupWritten write_request_bits(const Mask& mask, Index max_bytes) {
  RequestBits bits = request_bits_from_mask(mask, max_bytes);
  return {{std::move(bits.packed), std::move(bits.qo), std::move(bits.kv), std::move(*bits.mask)},
          mask};
}

GroupWritten write_tree_bits(const Mask& mask, Index) {
  NearestTrees trees = nearest_tree_bits(mask);
  GroupWritten out{{std::move(trees.bits.rows), std::move(trees.bits.lens)}, std::move(trees.mask)};
  if (trees.bits.prefix > 0) out.arrays.push_back(int32_list({trees.bits.prefix}));
  return out;
}

GroupWritten write_padded_lengths(const Mask& mask, Index) {
  NearestLengths nearest = nearest_padded_lengths(mask);
  PaddedLengths& lengths = nearest.lengths;
  return {{std::move(lengths.q), std::move(lengths.kv), std::move(lengths.q_padded),
           std::move(lengths.kv_padded)},
          std::move(nearest.mask)};
}

GroupWritten write_ragged_offsets(const Mask& mask, Index) {
  NearestLengths nearest = nearest_padded_lengths(mask);
  RaggedOffsets ragged = ragged_of_lengths(nearest.lengths);
  return {{std::move(ragged.q_lens), std::move(ragged.k_lens), std::move(ragged.q),
           std::move(ragged.k), int32_list({ragged.q_elements, ragged.k_elements})},
          std::move(nearest.mask)};
}

/// A kind of several arrays: those that it may have, what reads them, and what writes them all.
struct GroupKind {
  ArrayKind kind;
  std::vector<const char*> arrays;
  void (*read)(GroupRead& read, LoadedMask& out);
  GroupWritten (*write)(const Mask& mask, Index max_bytes);  // of batches end to end if is_packed()
};

const GroupKind& group_kind(ArrayKind kind) {
  static const std::array kKinds{
      GroupKind{ArrayKind::kRuns, {"indptr", "begin", "end", "shape"}, read_runs, write_runs},
      GroupKind{
          ArrayKind::kSlices, {"q_ranges", "k_ranges", "attn_type_map"}, read_slices, write_slices},
      GroupKind{ArrayKind::kRequestBits,
                {"packed_custom_mask", "qo_indptr", "kv_indptr", "mask_indptr"},
                read_request_bits,
                write_request_bits},
      GroupKind{ArrayKind::kTreeBits,
                {"tree_mask", "tree_mask_lens", "prefix_len"},
                read_tree_bits,
                write_tree_bits},
      GroupKind{ArrayKind::kPaddedLengths,
                {"cu_seqlens_q", "cu_seqlens_kv", "cu_seqlens_q_padded", "cu_seqlens_kv_padded"},
                read_padded_lengths,
                write_padded_lengths},
      GroupKind{ArrayKind::kRaggedOffsets,
                {"seq_len_q", "seq_len_kv", "q_ragged_offset", "k_ragged_offset", kElementsKey},
                read_ragged_offsets,
                write_ragged_offsets}};
  const auto found = std::ranges::find(kKinds, kind, &GroupKind::kind);
  if (found != kKinds.end()) return *found;
  throw Error(Errc::kInvalidArgument, fmt::format("{} is no kind of several arrays", name(kind)));
}

}  // namespace

LoadedMask load_group(Container& container, const std::string& group, ArrayKind kind,
                      const MaskReadOptions& options) {
  LoadedMask out;
  out.kind = kind;
  const GroupKind& row = group_kind(kind);
  ArrayGroup arrays(container, group, row.arrays, options.read, out.notes);
  const auto read_before = out.notes.size();
  try {
    GroupRead read{std::move(arrays), end_to_end_extent(options, 2), end_to_end_extent(options, 3),
                   options.block, options.read.max_bytes};
    row.read(read, out);
  } catch (const Error& error) {
    throw error.within(container.name());
  }
  for (auto i = read_before; i < out.notes.size(); ++i) {
    out.notes[i] = fmt::format("{}: {}", container.name(), out.notes[i]);
  }
  note_facts(container.name(), out);
  return out;
}

void convert_group(ConvertedMask& out, const MaskWriteOptions& options) {
  const GroupKind& row = group_kind(out.kind);
  const Mask& mask = out.source;
  const bool packed = is_packed(out.kind);
  if (out.kind == ArrayKind::kTreeBits && mask.batch() > 1 && mask.queries() != mask.keys()) {
    throw Error(Errc::kShape,
                fmt::format("{} batch entries of {} queries and {} keys: trees that lie end to end "
                            "share their prefix; expected one entry, or as many keys as queries",
                            mask.batch(), mask.queries(), mask.keys()),
                {{Remedy::kSliceMask}});
  }
  GroupWritten written =
      row.write(packed ? end_to_end(mask, options.max_bytes) : mask, options.max_bytes);
  for (std::size_t i = 0; i < written.arrays.size(); ++i) {
    out.arrays.push_back({row.arrays[i], std::move(written.arrays[i])});
  }
  if (!packed) return;
  if (out.kind == ArrayKind::kRaggedOffsets) {
    out.notes.push_back(
        "offsets count tokens; cuDNN's count elements, as many for each token as its array has");
  }
  out.needs_shape = mask.batch() != 1 || mask.heads() != 1 || out.kind == ArrayKind::kSlices;
  if (mask.batch() > 1) {
    out.notes.push_back(fmt::format("{} batch entries are laid end to end", mask.batch()));
  }
  out.mask = batches_of(written.mask, mask.batch(), mask.queries(), mask.keys());
  out.changed = out.lost = differing_cells(mask, out.mask);
}

}  // namespace maskctl
