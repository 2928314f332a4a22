// The inputs of GPU benchmarks: normal numbers, and masks of long sequences.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "maskctl/attention/calls/by_name.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/tensor/convert.h"

namespace bench {

using namespace maskctl;

/// A tensor of normal numbers, which repeat, so that a large one is made as fast as a copy.
inline Tensor noise(DType dtype, std::vector<Index> shape) {
  static const Tensor kNumbers = attention::random_normal({Index{1} << 20}, 1);
  Tensor out = Tensor::unwritten(dtype, std::move(shape));
  const Tensor numbers = astype(kNumbers, dtype);
  const std::span<const std::byte> from = numbers.bytes();
  for (auto to = out.bytes(); !to.empty(); to = to.subspan(std::min(to.size(), from.size()))) {
    std::memcpy(to.data(), from.data(), std::min(to.size(), from.size()));
  }
  return out;
}

inline std::string tokens_text(Index tokens) {
  return tokens % 1024 == 0 ? fmt::format("{}k", tokens / 1024) : fmt::format("{}", tokens);
}

inline PlanePtr causal(Index tokens) { return diagonal_band(tokens, tokens, -kUnbounded, 0); }

inline PlanePtr causal_documents(const std::vector<std::int32_t>& ids) {
  return combine(Op::kAnd, equal_ids(ids, ids, -1, Side::kBoth), causal(std::ssize(ids)));
}

/// A mask of 16 causal documents of unequal lengths.
inline PlanePtr documents(Index tokens) {
  std::vector<std::int32_t> ids(as_size(tokens));
  for (Index t = 0; t < tokens; ++t) {
    const double at = static_cast<double>(t) / static_cast<double>(tokens);
    ids[as_size(t)] = static_cast<std::int32_t>(16 * at * std::sqrt(at));
  }
  return causal_documents(ids);
}

/// A mask of 16 causal documents (fewer where borders coincide) with random borders.
inline PlanePtr random_documents(Index tokens, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> ids(as_size(tokens));
  for (int i = 1; i < 16; ++i) ++ids[random() % ids.size()];
  std::partial_sum(ids.begin(), ids.end(), ids.begin());
  return causal_documents(ids);
}

}  // namespace bench
