// Kernels without a mistake, which a rule should accept: other roundings, and caches of 8 bits.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "maskctl/tensor/convert.h"
#include "maskctl/verify/mutants/kinds.h"

namespace maskctl::attention {
namespace {

std::string exact_weights(const DeclaredCall&, Draw&, KernelCall& call) {
  call.weights = DType::kFloat32;
  return "weights in float32, rounded results";
}

std::string rounded_weights(const DeclaredCall&, Draw&, KernelCall& call) {
  if (call.weights == DType::kFloat32) return "";
  return fmt::format("weights and results in {}", name(call.weights));
}

std::string other_tiles(const DeclaredCall&, Draw& draw, KernelCall& call) {
  call.tile = draw.coin() ? 64 : 32;
  call.last_tile_first = true;
  return fmt::format("tiles of {} keys, the last one first", call.tile);
}

/// Rounds each vector, scaled by its largest number, to 127 whole numbers of each sign, or to e4m3.
void quantise(Tensor& x, bool integers) {
  const Index dim = x.extent(3);
  const auto numbers = x.as<float>();
  for (Index at = 0; at < x.elements(); at += dim) {
    const auto part = numbers.subspan(as_size(at), as_size(dim));
    float largest = 0;
    for (const float number : part) largest = std::max(largest, std::fabs(number));
    if (largest == 0) continue;
    const float unit = largest / (integers ? 127.0F : 448.0F);
    for (float& number : part) number /= unit;
    if (integers) {
      for (float& number : part) number = std::nearbyint(number) * unit;
      continue;
    }
    Tensor small(DType::kFloat32, {dim});
    std::ranges::copy(part, small.as<float>().begin());
    small = rounded(small, DType::kFloat8E4M3);
    std::ranges::transform(small.as<float>(), part.begin(), [unit](float y) { return y * unit; });
  }
}

template <bool kIntegers>
std::string small_cache(const DeclaredCall&, Draw&, KernelCall& call) {
  quantise(call.key, kIntegers);
  quantise(call.value, kIntegers);
  return fmt::format("keys and values in {}, scaled by vector",
                     kIntegers ? "int8" : "float8_e4m3fn");
}

constexpr MutantKind kRightKinds[] = {
    kind_row(MutantGroup::kRight, "right-exact", "weights in float32, only results are rounded",
             exact_weights),
    kind_row(MutantGroup::kRight, "right-rounded", "weights rounded as results are",
             rounded_weights, "float16 or bfloat16"),
    kind_row(MutantGroup::kRight, "right-tiles", "other tiles, summed from the last to the first",
             other_tiles),
    kind_row(MutantGroup::kCoarse, "cache-int8", "keys and values from a cache of int8",
             small_cache<true>),
    kind_row(MutantGroup::kCoarse, "cache-fp8", "keys and values from a cache of float8_e4m3fn",
             small_cache<false>),
};

}  // namespace

std::span<const MutantKind> right_kinds() { return kRightKinds; }

}  // namespace maskctl::attention
