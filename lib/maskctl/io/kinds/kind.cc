// The names of the kinds of arrays, and the rules that choose the kind of an array.
#include "maskctl/io/kinds/kind.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/elements.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

constexpr std::array kKinds{ArrayKind::kDense,
                            ArrayKind::kPadding,
                            ArrayKind::kKeyPadding,
                            ArrayKind::kSegments,
                            ArrayKind::kPositions,
                            ArrayKind::kCuSeqlens,
                            ArrayKind::kPairs,
                            ArrayKind::kBias,
                            ArrayKind::kBlockmap,
                            ArrayKind::kFlex,
                            ArrayKind::kFa4,
                            ArrayKind::kBsr,
                            ArrayKind::kBits,
                            ArrayKind::kRuns,
                            ArrayKind::kMaskInfo,
                            ArrayKind::kTokenTypes,
                            ArrayKind::kIndexLists,
                            ArrayKind::kFlashmask,
                            ArrayKind::kFlashmaskCausal,
                            ArrayKind::kIntervals,
                            ArrayKind::kSlices,
                            ArrayKind::kRequestBits,
                            ArrayKind::kTreeBits,
                            ArrayKind::kPaddedLengths,
                            ArrayKind::kRaggedOffsets,
                            ArrayKind::kMaskFile};

/// The arrays that say a kind by their names. Kinds with more names stand before those with fewer
/// of the same.
struct NamesOfKind {
  ArrayKind kind;
  std::array<std::string_view, 4> names;
};
constexpr std::array kNames{
    NamesOfKind{ArrayKind::kRuns, {"indptr", "begin", "end", "shape"}},
    NamesOfKind{ArrayKind::kFlex, {"kv_num_blocks", "kv_indices"}},
    NamesOfKind{ArrayKind::kFa4, {"mask_block_cnt", "mask_block_idx"}},
    NamesOfKind{ArrayKind::kBsr, {"indptr", "indices"}},
    NamesOfKind{ArrayKind::kSlices, {"q_ranges", "k_ranges"}},
    NamesOfKind{ArrayKind::kRequestBits, {"packed_custom_mask", "qo_indptr", "kv_indptr"}},
    NamesOfKind{ArrayKind::kTreeBits, {"tree_mask", "tree_mask_lens"}},
    NamesOfKind{ArrayKind::kPaddedLengths, {"cu_seqlens_q", "cu_seqlens_q_padded"}},
    NamesOfKind{ArrayKind::kRaggedOffsets, {"seq_len_q", "q_ragged_offset"}}};

std::string with_dashes(std::string_view text) {
  std::string out(text);
  std::ranges::replace(out, '_', '-');
  return out;
}

bool fits_cu_seqlens(std::span<const std::int64_t> values) {
  if (values.size() < 2 || values[0] != 0) return false;
  bool repeats = false;
  bool jumps = false;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i] < values[i - 1]) return false;
    repeats |= values[i] == values[i - 1];
    jumps |= values[i] > values[i - 1] + 1;
  }
  return jumps || !repeats;
}

bool fits_pairs(std::span<const std::int64_t> values) {
  if (values.empty() || values.size() % 2 != 0) return false;
  for (std::size_t i = 0; i < values.size(); i += 2) {
    if (values[i] < 0 || values[i] >= values[i + 1]) return false;
  }
  return true;
}

/// True when no row names a key twice, -1 aside, and some name several.
bool fits_index_lists(const Tensor& array, std::span<const std::int64_t> values) {
  const auto width = static_cast<std::size_t>(array.extent(1));
  if (width < 2 || looks_like_positions(array)) return false;
  bool several = false;
  std::unordered_set<std::int64_t> known;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % width == 0) known.clear();
    if (values[i] < -1) return false;
    if (values[i] >= 0 && !known.insert(values[i]).second) return false;
    several |= known.size() > 1;
  }
  return several;
}

/// Whether some column of a bool array of rank 2 is true in each row that has any true element.
bool share_token(const Tensor& array) {
  const auto flags = array.as<std::uint8_t>();
  const auto tokens = static_cast<std::size_t>(array.extent(1));
  std::vector<std::uint8_t> shared(tokens, 1);
  for (std::size_t at = 0; at < flags.size(); at += tokens) {
    const auto row = flags.subspan(at, tokens);
    if (std::ranges::count(row, 0) == std::ssize(row)) continue;
    for (std::size_t i = 0; i < tokens; ++i) shared[i] &= row[i];
  }
  return std::ranges::find(shared, 1) != shared.end();
}

}  // namespace

std::string_view name(ArrayKind kind) {
  switch (kind) {
    case ArrayKind::kDense:
      return "dense";
    case ArrayKind::kPadding:
      return "padding";
    case ArrayKind::kKeyPadding:
      return "key-padding";
    case ArrayKind::kSegments:
      return "segments";
    case ArrayKind::kPositions:
      return "positions";
    case ArrayKind::kCuSeqlens:
      return "cu_seqlens";
    case ArrayKind::kPairs:
      return "pairs";
    case ArrayKind::kBias:
      return "bias";
    case ArrayKind::kBlockmap:
      return "blockmap";
    case ArrayKind::kFlex:
      return "flex";
    case ArrayKind::kFa4:
      return "fa4";
    case ArrayKind::kBsr:
      return "bsr";
    case ArrayKind::kBits:
      return "bits";
    case ArrayKind::kRuns:
      return "runs";
    case ArrayKind::kMaskInfo:
      return "mask-info";
    case ArrayKind::kTokenTypes:
      return "token-types";
    case ArrayKind::kIndexLists:
      return "index-lists";
    case ArrayKind::kFlashmask:
      return "flashmask";
    case ArrayKind::kFlashmaskCausal:
      return "flashmask-causal";
    case ArrayKind::kIntervals:
      return "intervals";
    case ArrayKind::kSlices:
      return "slices";
    case ArrayKind::kRequestBits:
      return "request-bits";
    case ArrayKind::kTreeBits:
      return "tree-bits";
    case ArrayKind::kPaddedLengths:
      return "cu_seqlens-padded";
    case ArrayKind::kRaggedOffsets:
      return "ragged-offsets";
    case ArrayKind::kMaskFile:
      return "mask";
  }
  return "";
}

std::span<const ArrayKind> all_kinds() { return kKinds; }

bool is_writable(ArrayKind kind) {
  return kind != ArrayKind::kPositions && kind != ArrayKind::kMaskInfo &&
         kind != ArrayKind::kTokenTypes && kind != ArrayKind::kMaskFile;
}

bool has_two_sides(ArrayKind kind) {
  return kind == ArrayKind::kSegments || kind == ArrayKind::kPositions ||
         kind == ArrayKind::kCuSeqlens || kind == ArrayKind::kPairs;
}

bool is_packed(ArrayKind kind) {
  return kind == ArrayKind::kSlices || kind == ArrayKind::kRequestBits ||
         kind == ArrayKind::kTreeBits || kind == ArrayKind::kPaddedLengths ||
         kind == ArrayKind::kRaggedOffsets;
}

std::string array_names(ArrayKind kind) {
  const auto row = std::ranges::find(kNames, kind, &NamesOfKind::kind);
  std::vector<std::string_view> names;
  if (row != kNames.end()) names.assign(row->names.begin(), row->names.end());
  std::erase(names, "");
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += fmt::format("{}{}", i == 0 ? "" : i + 1 == names.size() ? " and " : ", ", names[i]);
  }
  return out;
}

std::optional<ArrayKind> kind_of_names(const std::function<bool(std::string_view)>& has) {
  for (const NamesOfKind& row : kNames) {
    const auto known = [&](std::string_view name) { return name.empty() || has(name); };
    if (std::ranges::all_of(row.names, known)) return row.kind;
  }
  return std::nullopt;
}

bool lists_blocks(ArrayKind kind) {
  return kind == ArrayKind::kFlex || kind == ArrayKind::kFa4 || kind == ArrayKind::kBsr;
}

ArrayKind kind_from_name(std::string_view text) {
  const std::string wanted = with_dashes(text);
  std::string names;
  for (const ArrayKind kind : kKinds) {
    if (with_dashes(name(kind)) == wanted) return kind;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name(kind));
  }
  throw Error(Errc::kInvalidArgument,
              fmt::format("unknown kind '{}'; expected one of {}", text, names));
}

KindChoice kinds_of_shape(DType dtype, std::span<const Index> shape) {
  if (shape.size() == 3 || shape.size() == 4) return {{ArrayKind::kDense}};
  if (shape.size() == 2 && shape[0] == shape[1]) return {{ArrayKind::kDense}};
  if (shape.size() != 1 && shape.size() != 2) return {};
  if (is_integer(dtype)) return {{}, true};
  if (dtype == DType::kBool && shape.size() == 2) return {{}, true};
  if (shape.size() == 1) return {{ArrayKind::kPadding, ArrayKind::kKeyPadding}};
  return {{ArrayKind::kDense, ArrayKind::kPadding, ArrayKind::kKeyPadding}};
}

std::vector<ArrayKind> fitting_kinds(const Tensor& array) {
  std::vector<ArrayKind> kinds;
  if (array.dtype() == DType::kBool) {
    kinds.push_back(ArrayKind::kDense);
    if (share_token(array))
      kinds.insert(kinds.end(), {ArrayKind::kPadding, ArrayKind::kKeyPadding});
    return kinds;
  }
  if (!first_not_binary(array.dtype(), array.bytes())) {
    if (array.rank() == 2) kinds.push_back(ArrayKind::kDense);
    kinds.insert(kinds.end(), {ArrayKind::kPadding, ArrayKind::kKeyPadding});
  }
  kinds.push_back(ArrayKind::kSegments);
  const auto values = as_int64(array, "the array");
  if (array.rank() == 2 && array.extent(0) > 1 && kinds.size() == 1 &&
      fits_index_lists(array, values)) {
    kinds.push_back(ArrayKind::kIndexLists);
  }
  if (array.rank() == 1) {
    if (fits_cu_seqlens(values)) kinds.push_back(ArrayKind::kCuSeqlens);
    if (fits_pairs(values)) kinds.push_back(ArrayKind::kPairs);
  }
  return kinds;
}

bool looks_like_positions(const Tensor& array) {
  if (array.rank() == 0 || array.elements() == 0) return false;
  const auto values = as_int64(array, "the array");
  const auto length = static_cast<std::size_t>(array.extent(array.rank() - 1));
  bool past_one = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool follows = i % length != 0 && values[i] == values[i - 1] + 1;
    if (values[i] != 0 && !follows) return false;
    past_one |= values[i] > 1;
  }
  return past_one;
}

std::vector<Remedy> read_as(std::span<const ArrayKind> kinds) {
  std::vector<Remedy> out;
  out.reserve(kinds.size());
  for (const ArrayKind kind : kinds) out.push_back({Remedy::kReadAs, name(kind)});
  return out;
}

}  // namespace maskctl
