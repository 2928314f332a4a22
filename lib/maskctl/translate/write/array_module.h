// How code makes arrays: the words of torch and of JAX's numpy.
#pragma once

#include <string_view>

namespace maskctl {

struct ArrayModule {
  std::string_view name;         // "torch"
  std::string_view device = {};  // the argument that says where an array is made, with its comma
  /// The document of each token, with {} for the number of documents and {} for their lengths.
  std::string_view repeated;
  /// The line that defines Q_LEN and KV_LEN; empty: the writer has its own.
  std::string_view lengths = {};
  std::string_view head_axis = {};  // of q
};

/// Defines the lengths where the tokens are the last axis but one.
inline constexpr std::string_view kLengthsLine = "Q_LEN, KV_LEN = q.shape[-2], k.shape[-2]";

inline constexpr ArrayModule kTorch = {
    .name = "torch",
    .device = ", device=q.device",
    .repeated = "torch.repeat_interleave(torch.arange({}), torch.tensor([{}])).to(q.device)",
    .lengths = kLengthsLine,
    .head_axis = "1"};
inline constexpr ArrayModule kJaxNumpy = {.name = "jnp",
                                          .repeated = "jnp.repeat(jnp.arange({}), jnp.array([{}]))",
                                          .lengths = "Q_LEN, KV_LEN = q.shape[-3], k.shape[-3]",
                                          .head_axis = "-2"};

}  // namespace maskctl
