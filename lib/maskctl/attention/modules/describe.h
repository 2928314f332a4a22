// What the descriptions of operations share.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "maskctl/attention/runtime/configs.h"
#include "maskctl/attention/runtime/op_info.h"
#include "maskctl/attention/sharded/plan.h"
#include "maskctl/attention/softmax/softmax.h"

namespace maskctl::attention {

/// The three arrays that every dense operation has; the rest is in its options.
struct QkvInputs {
  const Tensor* query = nullptr;
  const Tensor* key = nullptr;
  const Tensor* value = nullptr;
};

/// Both sides of a window.
template <class Window, class F>
void window_scalars(const std::optional<Window>& window, F&& f) {
  if (!window) return;
  f("sliding_window", true);
  f("window_left", window->left);
  f("window_right", window->right);
}

/// Operations whose kernels take no hints.
struct NoHints {
  template <class Config, class Options>
  static void apply(const Config&, Options&, bool) {}
};

/// The dense operations that have heads after time.
struct DenseOp {
  using Inputs = QkvInputs;
  using Gradients = SoftmaxGradients;
  static constexpr std::string_view kOutLabels = "b q h e";

  template <class I, class F>
  static void qkv_arrays(I& in, F&& f) {
    f("query", in.query, "b q h d");
    f("key", in.key, "b k u d");
    f("value", in.value, "b k u e");
  }
  template <class Output, class F>
  static void outputs(Output& out, F&& f) {
    f("out", out.out, kOutLabels);
    f("lse", out.lse, "b h q");
  }
  template <class F>
  static void gradients(Gradients& gradients, F&& f) {
    f("query", gradients.query);
    f("key", gradients.key);
    f("value", gradients.value);
    f("bias", gradients.bias);
    f("softmax_aux", gradients.sinks);
  }
};

/// Tile sizes of one pass, from FwdParams or BwdParams, to options of these names.
template <class Params, class Options>
void apply_blocks(const std::optional<Params>& params, Options& options) {
  if (!params) return;
  options.q_blocksize = params->q_blocksize.value_or(options.q_blocksize);
  options.kv_blocksize = params->kv_blocksize.value_or(options.kv_blocksize);
}

/// The seed's tiles for its portable path, in both passes.
template <class Config>
std::vector<Config> block_candidates() {
  std::vector<Config> candidates;
  for (const Index q : {128, 256}) {
    for (const Index kv : {128, 256, 512}) {
      candidates.push_back({.fwd_params = FwdParams{.q_blocksize = q, .kv_blocksize = kv},
                            .bwd_params = BwdParams{.q_blocksize = q, .kv_blocksize = kv}});
    }
  }
  return candidates;
}

/// Numbers of pages that are worth reading at a time: 64 to 512 keys. `axis` of the cache is that
/// of slots; where it is missing, the operation refuses the call.
inline std::vector<Index> page_counts(const Tensor* cache, Index axis) {
  const Index page_size = cache && cache->rank() > axis ? cache->extent(axis) : 1;
  std::vector<Index> counts;
  for (const Index keys : {64, 128, 512}) {
    const Index pages = ceil_div(keys, std::max<Index>(page_size, 1));
    if (counts.empty() || counts.back() != pages) counts.push_back(pages);
  }
  return counts;
}

/// Hints of the ragged operations over pages.
struct RaggedPageOp {
  template <class Config, class Options>
  static void apply(const Config& config, Options& o, bool) {
    o.num_kv_pages_per_block = config.num_kv_pages_per_block.value_or(o.num_kv_pages_per_block);
    o.num_queries_per_block = config.num_queries_per_block.value_or(o.num_queries_per_block);
  }
  template <class Config>
  static std::vector<Config> candidates_of(const Tensor* cache) {
    std::vector<Config> candidates;
    for (const Index pages : page_counts(cache, 1)) {
      candidates.push_back({.num_kv_pages_per_block = pages});
    }
    for (const Index queries : {96, 288}) candidates.push_back({.num_queries_per_block = queries});
    return candidates;
  }
};

/// Weights are dropped by their place in the whole call: says where a shard of it begins.
template <class Options>
void place(const Shard& shard, Options& options) {
  options.first_batch += shard.first("b");
  options.first_head += shard.first("h");
}

}  // namespace maskctl::attention
