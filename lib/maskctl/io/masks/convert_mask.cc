// Converts a mask to arrays of another kind, and counts the cells that change.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/io/masks/block_lists_io.h"
#include "maskctl/io/masks/group_arrays.h"
#include "maskctl/io/masks/mask_axes.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/arrays/flashmask.h"
#include "maskctl/mask/arrays/index_lists.h"
#include "maskctl/mask/arrays/intervals.h"
#include "maskctl/mask/arrays/nearest.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

constexpr const char* kCausalNote =
    "the documents are exact; set the kernel's own flag for causal (causal=True)";

[[noreturn]] void refuse(const std::string& message) {
  throw Error(Errc::kInvalidArgument, message);
}

bool has_polarity(ArrayKind kind) {
  return kind == ArrayKind::kDense || kind == ArrayKind::kPadding || kind == ArrayKind::kKeyPadding;
}

void check_dtype(ArrayKind kind, DType dtype) {
  const auto expect = [&](bool holds, const char* what) {
    if (holds) return;
    refuse(fmt::format("the kind {} is written as {}, not {}", name(kind), what, name(dtype)));
  };
  switch (kind) {
    case ArrayKind::kSegments:
    case ArrayKind::kCuSeqlens:
    case ArrayKind::kPairs:
    case ArrayKind::kIndexLists:
    case ArrayKind::kFlashmask:
    case ArrayKind::kFlashmaskCausal:
    case ArrayKind::kIntervals:
      return expect(is_integer(dtype), "integers");
    case ArrayKind::kBias:
      expect(is_floating(dtype), "floats");
      if (-largest_number(dtype) <= kAlwaysCloses) return;
      return refuse(
          fmt::format("{} holds no number that closes a cell: its lowest is {}, and it "
                      "has no infinity",
                      name(dtype), -largest_number(dtype)));
    case ArrayKind::kBlockmap:
      return expect(is_integer(dtype) || dtype == DType::kBool, "bool or integers");
    case ArrayKind::kBits:
      return expect(dtype == DType::kUInt8, "uint8");
    case ArrayKind::kFlex:
    case ArrayKind::kFa4:
    case ArrayKind::kBsr:
    case ArrayKind::kRuns:
    case ArrayKind::kSlices:
    case ArrayKind::kRequestBits:
    case ArrayKind::kTreeBits:
    case ArrayKind::kPaddedLengths:
    case ArrayKind::kRaggedOffsets:
      return refuse(fmt::format(
          "arrays of {} have types of their own; a dtype is for single arrays", name(kind)));
    default:
      return;
  }
}

void check_options(const MaskWriteOptions& options) {
  if (!is_writable(options.kind)) {
    throw Error(
        Errc::kUnsupported,
        fmt::format("a mask cannot be written as {}; that kind can only be read, not written",
                    name(options.kind)));
  }
  if (options.dtype) check_dtype(options.kind, *options.dtype);
  if (options.keep_value_is_zero && !has_polarity(options.kind)) {
    refuse(
        fmt::format("0 cannot mean open in the kind {}; that is for dense, padding and "
                    "key-padding",
                    name(options.kind)));
  }
  if (options.fill != BiasFill::kInf && options.kind != ArrayKind::kBias) {
    refuse(fmt::format("what fills closed cells is for a bias, not for {}", name(options.kind)));
  }
  const bool blocks = options.kind == ArrayKind::kBlockmap || lists_blocks(options.kind);
  if (blocks && !options.block) {
    throw Error(Errc::kInvalidArgument, "a block map needs the size of its blocks",
                {{Remedy::kGiveBlockSize}});
  }
  if (!blocks && options.block) {
    refuse(fmt::format("the size of blocks is for a block map, not for {}", name(options.kind)));
  }
}

/// Converts the array to `dtype`; throws if an integer dtype cannot hold some value.
Tensor in_dtype(const Tensor& array, DType dtype, ArrayKind kind) {
  if (array.dtype() == dtype) return array;
  Tensor out = astype(array, dtype);
  if (!is_integer(dtype)) return out;
  const auto before = as_int64(array, "the array");
  const auto after = as_int64(out, "the array");
  const auto differs = std::ranges::mismatch(before, after).in1;
  if (differs == before.end()) return out;
  refuse(fmt::format("{} cannot hold {}, a value of the {} of this mask", name(dtype), *differs,
                     name(kind)));
}

void negate(Tensor& flags) {
  for (std::uint8_t& flag : flags.as<std::uint8_t>()) flag ^= 1;
}

bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::ranges::equal(a.bytes(), b.bytes());
}

std::int32_t last_of(const Tensor& list) {
  const auto values = list.as<std::int32_t>();
  return values.empty() ? 0 : *std::ranges::max_element(values);
}

void take(ConvertedMask& out, Nearest nearest, const MaskWriteOptions& options, DType dtype) {
  dtype = options.dtype.value_or(dtype);
  if (options.keep_value_is_zero) negate(nearest.q);
  const bool two = has_two_sides(out.kind) && !same(nearest.q, nearest.kv);
  for (Tensor* array : {&nearest.q, &nearest.kv}) {
    const bool one_row = array->rank() == 2 && array->extent(0) == 1;
    if (options.rank == 1 && one_row) array->reshape({array->elements()});
  }
  out.arrays.push_back({two ? "q" : "", in_dtype(nearest.q, dtype, out.kind)});
  if (two) out.arrays.push_back({"kv", in_dtype(nearest.kv, dtype, out.kind)});
  out.mask = std::move(nearest.mask);
  out.changed = nearest.changed;
  out.lost = nearest.changed;
}

/// Converts a packed batch to one sequence, as variable-length kernels take it.
void convert_batch(ConvertedMask& out, const MaskWriteOptions& options) {
  Varlen made = varlen_batch(out.source, options.padding);
  const bool one = same(made.cu_q, made.cu_kv);
  const DType dtype = options.dtype.value_or(DType::kInt32);
  const auto whole = [](Index value) {
    Tensor number(DType::kInt32, {});
    number.as<std::int32_t>()[0] = static_cast<std::int32_t>(value);
    return number;
  };
  const auto add = [&](const char* side, Tensor cumulative, Index longest, Tensor indices) {
    const std::string suffix = one ? "" : fmt::format("_{}", side);
    out.arrays.push_back({"cu_seqlens" + suffix, in_dtype(cumulative, dtype, out.kind)});
    out.beside.push_back({"max_seqlen" + suffix, whole(longest)});
    if (indices.rank() == 1) out.beside.push_back({"indices" + suffix, std::move(indices)});
  };
  const bool dropped = options.padding == PaddingTokens::kDrop;
  const Tensor none(DType::kInt64, {});
  add("q", made.cu_q, made.max_q, dropped ? made.q_indices : none);
  if (!one) add("kv", made.cu_kv, made.max_kv, dropped ? made.kv_indices : none);
  out.notes.push_back(fmt::format(
      "{} rows are laid end to end, as variable-length kernels take them: {} documents, max_seqlen "
      "{}; {} tokens of padding {}",
      out.source.batch(), made.documents,
      one ? fmt::format("{}", made.max_q) : fmt::format("{} and {}", made.max_q, made.max_kv),
      made.padding, dropped ? "are dropped (indices says which tokens stay)" : "are segments"));
  if (made.needs_causal) out.notes.push_back(kCausalNote);
  out.mask = std::move(made.mask);
  out.changed = made.changed;
  out.lost = made.lost;
}

/// Cells that a kernel's causal flag closes again are no loss.
void allow_causal(ConvertedMask& out) {
  if (out.changed == 0 || !is_causal_part(out.source, out.mask)) return;
  out.notes.push_back(kCausalNote);
  out.lost = 0;
}

void convert_lengths(ConvertedMask& out, Nearest nearest, const MaskWriteOptions& options) {
  const Mask& mask = out.source;
  const bool extents = last_of(nearest.q) == mask.queries() && last_of(nearest.kv) == mask.keys();
  const bool batches = out.kind == ArrayKind::kPairs || mask.batch() == 1;
  out.needs_shape = !(extents && batches && mask.heads() == 1);
  take(out, std::move(nearest), options, DType::kInt32);
  if (out.kind == ArrayKind::kCuSeqlens) allow_causal(out);
}

void convert_index_lists(ConvertedMask& out, const MaskWriteOptions& options) {
  Tensor lists = index_lists_from_mask(out.source, options.max_bytes);
  lists.reshape(in_rank(lists.shape(), options.rank));
  out.arrays.push_back({"", in_dtype(lists, options.dtype.value_or(DType::kInt32), out.kind)});
  out.needs_shape = out.source.queries() != out.source.keys();
}

void convert_flashmask(ConvertedMask& out, const MaskWriteOptions& options) {
  const bool causal = out.kind == ArrayKind::kFlashmaskCausal;
  Nearest nearest = nearest_flashmask(out.source, causal, options.max_bytes);
  out.arrays.push_back({"", in_dtype(nearest.q, options.dtype.value_or(DType::kInt32), out.kind)});
  out.needs_shape = out.source.queries() != out.source.keys();
  out.mask = std::move(nearest.mask);
  out.changed = out.lost = nearest.changed;
}

}  // namespace

ConvertedMask kept_segments(const LoadedMask& loaded, const MaskWriteOptions& options) {
  ConvertedMask out;
  out.kind = ArrayKind::kSegments;
  out.source = out.mask = loaded.mask;
  const DType dtype = options.dtype.value_or(DType::kInt32);
  const auto as_read = [&](Tensor ids) {
    if (loaded.array_shape.size() == 1) ids.reshape({ids.elements()});
    return in_dtype(ids, dtype, out.kind);
  };
  const Tensor& q = *loaded.q_segment_ids;
  const Tensor& kv = *loaded.kv_segment_ids;
  const bool two = !same(q, kv);
  out.arrays.push_back({two ? "q" : "", as_read(q)});
  if (two) out.arrays.push_back({"kv", as_read(kv)});
  return out;
}

ConvertedMask convert_mask(const Mask& mask, const MaskWriteOptions& options) {
  check_options(options);
  ConvertedMask out;
  out.kind = options.kind;
  out.source = out.mask = mask;
  switch (options.kind) {
    case ArrayKind::kPadding:
      out.needs_shape = mask.heads() > 1;
      take(out, nearest_padding(mask), options, DType::kBool);
      break;
    case ArrayKind::kKeyPadding:
      out.needs_shape = mask.heads() > 1 || mask.queries() != mask.keys();
      take(out, nearest_key_padding(mask), options, DType::kBool);
      break;
    case ArrayKind::kSegments:
      out.needs_shape = mask.heads() > 1;
      take(out, nearest_segments(mask, options.pad_id), options, DType::kInt32);
      break;
    case ArrayKind::kCuSeqlens:
      if (mask.batch() > 1) {
        convert_batch(out, options);
        break;
      }
      convert_lengths(out, nearest_cu_seqlens(mask), options);
      break;
    case ArrayKind::kPairs:
      convert_lengths(out, nearest_pairs(mask), options);
      break;
    case ArrayKind::kBlockmap:
      out.mask = opened_blocks(mask, options.block->q, options.block->k);
      out.changed = out.lost = out.mask.count() - mask.count();
      out.needs_shape =
          mask.queries() % options.block->q != 0 || mask.keys() % options.block->k != 0;
      break;
    case ArrayKind::kFlex:
    case ArrayKind::kFa4:
    case ArrayKind::kBsr:
      out.mask = opened_blocks(mask, options.block->q, options.block->k);
      out.changed = out.lost = out.mask.count() - mask.count();
      out.arrays = block_list_arrays(mask_blocks(mask, *options.block), options.kind, false,
                                     options.max_bytes);
      break;
    case ArrayKind::kBits:
      out.needs_shape = true;
      break;
    case ArrayKind::kIndexLists:
      convert_index_lists(out, options);
      break;
    case ArrayKind::kFlashmask:
    case ArrayKind::kFlashmaskCausal:
      convert_flashmask(out, options);
      break;
    case ArrayKind::kIntervals:
      out.needs_shape = true;
      out.arrays.push_back({"", in_dtype(intervals_from_mask(mask, options.max_bytes),
                                         options.dtype.value_or(DType::kInt32), out.kind)});
      break;
    case ArrayKind::kRuns:
    case ArrayKind::kSlices:
    case ArrayKind::kRequestBits:
    case ArrayKind::kTreeBits:
      convert_group(out, options);
      break;
    case ArrayKind::kPaddedLengths:
    case ArrayKind::kRaggedOffsets:
      convert_group(out, options);
      allow_causal(out);
      break;
    default:
      break;
  }
  return out;
}

}  // namespace maskctl
