// The names of the kinds, and the rule that chooses one.
#include "maskctl/io/kind.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "maskctl/base/error.h"
#include "maskctl/mask/elements.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

constexpr std::array kKinds{Kind::kDense,    Kind::kPadding,   Kind::kKeyPadding,
                            Kind::kSegments, Kind::kPositions, Kind::kCuSeqlens,
                            Kind::kPairs,    Kind::kBias,      Kind::kBlockmap,
                            Kind::kBits,     Kind::kRuns,      Kind::kTokenTypes};

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

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::kDense:
      return "dense";
    case Kind::kPadding:
      return "padding";
    case Kind::kKeyPadding:
      return "key-padding";
    case Kind::kSegments:
      return "segments";
    case Kind::kPositions:
      return "positions";
    case Kind::kCuSeqlens:
      return "cu_seqlens";
    case Kind::kPairs:
      return "pairs";
    case Kind::kBias:
      return "bias";
    case Kind::kBlockmap:
      return "blockmap";
    case Kind::kBits:
      return "bits";
    case Kind::kRuns:
      return "runs";
    case Kind::kTokenTypes:
      return "token-types";
  }
  return "";
}

std::span<const Kind> all_kinds() { return kKinds; }

bool is_writable(Kind kind) { return kind != Kind::kPositions && kind != Kind::kTokenTypes; }

bool has_two_sides(Kind kind) {
  return kind == Kind::kSegments || kind == Kind::kPositions || kind == Kind::kCuSeqlens ||
         kind == Kind::kPairs;
}

Kind kind_from_name(std::string_view text) {
  const std::string wanted = with_dashes(text);
  std::string names;
  for (const Kind kind : kKinds) {
    if (with_dashes(name(kind)) == wanted) return kind;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name(kind));
  }
  throw Error(Errc::kInvalidArgument,
              fmt::format("unknown kind '{}'; expected one of {}", text, names));
}

KindChoice kinds_of_shape(DType dtype, std::span<const Index> shape) {
  if (shape.size() == 3 || shape.size() == 4) return {{Kind::kDense}};
  if (shape.size() == 2 && shape[0] == shape[1]) return {{Kind::kDense}};
  if (shape.size() != 1 && shape.size() != 2) return {};
  if (is_integer(dtype)) return {{}, true};
  if (shape.size() == 1) return {{Kind::kPadding, Kind::kKeyPadding}};
  return {{Kind::kDense, Kind::kPadding, Kind::kKeyPadding}};
}

std::vector<Kind> fitting_kinds(const Tensor& array) {
  std::vector<Kind> kinds;
  if (!first_not_binary(array.dtype(), array.bytes())) {
    if (array.rank() == 2) kinds.push_back(Kind::kDense);
    kinds.insert(kinds.end(), {Kind::kPadding, Kind::kKeyPadding});
  }
  kinds.push_back(Kind::kSegments);
  if (array.rank() == 1) {
    const auto values = as_int64(array, "the array");
    if (fits_cu_seqlens(values)) kinds.push_back(Kind::kCuSeqlens);
    if (fits_pairs(values)) kinds.push_back(Kind::kPairs);
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

std::string as_options(std::span<const Kind> kinds) {
  std::string out;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const char* joint = i == 0 ? "" : i + 1 == kinds.size() ? " or " : ", ";
    out += fmt::format("{}--as {}", joint, name(kinds[i]));
  }
  return out;
}

}  // namespace maskctl
