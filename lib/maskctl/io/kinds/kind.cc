// The names of the kinds of arrays, and the rules that choose the kind of an array.
#include "maskctl/io/kinds/kind.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/elements.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

constexpr std::array kKinds{
    ArrayKind::kDense,     ArrayKind::kPadding,   ArrayKind::kKeyPadding, ArrayKind::kSegments,
    ArrayKind::kPositions, ArrayKind::kCuSeqlens, ArrayKind::kPairs,      ArrayKind::kBias,
    ArrayKind::kBlockmap,  ArrayKind::kFlex,      ArrayKind::kFa4,        ArrayKind::kBsr,
    ArrayKind::kBits,      ArrayKind::kRuns,      ArrayKind::kMaskInfo,   ArrayKind::kTokenTypes};

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
  }
  return "";
}

std::span<const ArrayKind> all_kinds() { return kKinds; }

bool is_writable(ArrayKind kind) {
  return kind != ArrayKind::kPositions && kind != ArrayKind::kMaskInfo &&
         kind != ArrayKind::kTokenTypes;
}

bool has_two_sides(ArrayKind kind) {
  return kind == ArrayKind::kSegments || kind == ArrayKind::kPositions ||
         kind == ArrayKind::kCuSeqlens || kind == ArrayKind::kPairs;
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
  if (shape.size() == 1) return {{ArrayKind::kPadding, ArrayKind::kKeyPadding}};
  return {{ArrayKind::kDense, ArrayKind::kPadding, ArrayKind::kKeyPadding}};
}

std::vector<ArrayKind> fitting_kinds(const Tensor& array) {
  std::vector<ArrayKind> kinds;
  if (!first_not_binary(array.dtype(), array.bytes())) {
    if (array.rank() == 2) kinds.push_back(ArrayKind::kDense);
    kinds.insert(kinds.end(), {ArrayKind::kPadding, ArrayKind::kKeyPadding});
  }
  kinds.push_back(ArrayKind::kSegments);
  if (array.rank() == 1) {
    const auto values = as_int64(array, "the array");
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
