// Takes the place of the layer in a build without operations that have no mask.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/attention/calls/operation.h"

namespace maskctl::attention {

std::span<const Operation* const> maskless_operations() { return {}; }

std::string left_out(std::string_view name) {
  constexpr std::array<std::string_view, 10> kNames{
      "gla_attention",       "gla",         "lightning_attention", "lightning_attn",
      "recurrent_attention", "recurrent",   "gated_delta_rule",    "short_convolution",
      "grouped_matmul",      "mean_pooling"};
  if (std::ranges::find(kNames, name) == kNames.end()) return "";
  return fmt::format(
      "{}: this build has no operations without a mask; configure it with -DMASKCTL_KERNELS=ON",
      name);
}

}  // namespace maskctl::attention
