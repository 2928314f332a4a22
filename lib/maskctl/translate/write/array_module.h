// How code that makes arrays is written with torch, numpy and JAX's numpy.
#pragma once

#include <string_view>

namespace maskctl {

struct ArrayModule {
  std::string_view name;         // "torch"
  std::string_view device = {};  // argument for the device of an array, with its comma
  /// Code for the document of each token. The first {} stands for the number of documents, the
  /// second for their lengths.
  std::string_view repeated;
  /// The line that defines Q_LEN and KV_LEN; empty if the writer defines them in its own way.
  std::string_view lengths = {};
  std::string_view head_axis = {};  // axis of the heads in q.shape
};

/// Defines Q_LEN and KV_LEN from arrays [..., tokens, head_dim].
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
/// For arrays [batch, tokens, heads, head_dim].
inline constexpr ArrayModule kTorchHeadsLast = {.name = kTorch.name,
                                                .device = kTorch.device,
                                                .repeated = kTorch.repeated,
                                                .lengths = kJaxNumpy.lengths,
                                                .head_axis = kJaxNumpy.head_axis};

inline constexpr ArrayModule kNumpy = {.name = "np",
                                       .repeated = "np.repeat(np.arange({}), np.array([{}]))",
                                       .lengths = kLengthsLine,
                                       .head_axis = "1"};
/// For arrays [batch, tokens, heads, head_dim].
inline constexpr ArrayModule kNumpyHeadsLast = {.name = kNumpy.name,
                                                .repeated = kNumpy.repeated,
                                                .lengths = kJaxNumpy.lengths,
                                                .head_axis = kJaxNumpy.head_axis};

}  // namespace maskctl
