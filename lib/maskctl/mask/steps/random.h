// random: keeps cells drawn from a stream of random numbers.
#pragma once

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

/// Keeps jax.random.bernoulli(PRNGKey(seed), 1 - sparsity, [B,H,Q,K]), computed when the mask is
/// read. Or, with kNumpy, np.random.seed(seed); np.random.binomial(1, 1 - sparsity, [B,H,Q,K]): its
/// cells can only be drawn in order, so they are drawn once and stored as bits. The seed must then
/// be below 2^32.
struct Random {
  double sparsity = 0.5;
  std::uint64_t seed = 0;
  enum class Stream : std::uint8_t { kJax, kNumpy } stream = Stream::kJax;
  Index max_bytes = Index{4} << 30;  // limit for the bits stored by kNumpy
  friend bool operator==(const Random&, const Random&) = default;
};
const RuleInfo& row(const Random*);

}  // namespace maskctl::step
