// PyTorch's CPU attention algorithm on a BLAS, which the benchmark compares our fused kernel with.
#pragma once

#ifdef MASKCTL_OPENBLAS
#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/base/threads.h"
#include "maskctl/tensor/tensor.h"

extern "C" void openblas_set_num_threads(int threads);

namespace bench {

using maskctl::Index;
using maskctl::Tensor;

/// Takes q, k, v [1,S,H,D] in f32, returns [1,S,H,D]. Works in blocks of 256 queries and 512 keys,
/// with two matrix products a block and a softmax between them. `causal` ends the loop over blocks
/// of keys at the last query; an additive mask [S,S] is read in every block, and no block is
/// skipped.
/// Source: aten/src/ATen/native/cpu/FlashAttentionKernel.cpp.
class BlasAttention {
 public:
  BlasAttention(const Tensor& q, const Tensor& k, const Tensor& v) : q_(q), k_(k), v_(v) {
    openblas_set_num_threads(1);  // run() shares heads and blocks among threads
  }

  Tensor run(bool causal, const float* mask) const {
    const Index s = q_.extent(1), h = q_.extent(2);
    Tensor out(q_.dtype(), q_.shape());
    const Index blocks = maskctl::ceil_div(s, kQueries);
    maskctl::parallel_for(h * blocks, [&](Index task) {
      block(task / blocks, {task % blocks * kQueries, std::min(s, (task % blocks + 1) * kQueries)},
            causal, mask, out);
    });
    return out;
  }

 private:
  static constexpr Index kQueries = 256, kKeys = 512;

  void block(Index head, maskctl::Range rows, bool causal, const float* mask, Tensor& out) const {
    const Index s = q_.extent(1), stride = q_.extent(2) * q_.extent(3), d = q_.extent(3);
    const float scale = 1 / std::sqrt(static_cast<float>(d));
    std::vector<float> scores(static_cast<std::size_t>(kQueries * kKeys)),
        sums(static_cast<std::size_t>(kQueries * d)), top(kQueries, kClosed), weight(kQueries);
    const float* const q = q_.as<float>().data() + rows.begin * stride + head * d;
    const Index end = causal ? std::min(s, rows.end) : s;
    for (Index first = 0; first < end; first += kKeys) {
      const Index keys = std::min(kKeys, s - first);  // the whole block, as PyTorch does
      const float* const k = k_.as<float>().data() + first * stride + head * d;
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n(rows.size()), n(keys), n(d), scale, q,
                  n(stride), k, n(stride), 0, scores.data(), n(kKeys));
      for (Index r = 0; r < rows.size(); ++r) {
        float* const x = scores.data() + r * kKeys;
        const Index query = rows.begin + r;
        if (causal) std::fill(x + std::clamp<Index>(query + 1 - first, 0, keys), x + keys, kClosed);
        if (mask) add(mask + query * s + first, keys, x);
        update(x, keys, top[static_cast<std::size_t>(r)], weight[static_cast<std::size_t>(r)],
               sums.data() + r * d, d);
      }
      const float* const v = v_.as<float>().data() + first * stride + head * d;
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n(rows.size()), n(d), n(keys), 1,
                  scores.data(), n(kKeys), v, n(stride), 1, sums.data(), n(d));
    }
    float* to = out.as<float>().data() + rows.begin * stride + head * d;
    for (Index r = 0; r < rows.size(); ++r, to += stride) {
      for (Index x = 0; x < d; ++x) {
        to[x] = sums[static_cast<std::size_t>(r * d + x)] / weight[static_cast<std::size_t>(r)];
      }
    }
  }

  /// Updates the running softmax of one row, with our own vector code for exponentials.
  static void update(float* x, Index keys, float& top, float& weight, float* sum, Index d) {
    const Index width = maskctl::attention::round_up(keys, maskctl::attention::kColumnGroup);
    std::fill(x + keys, x + width, kClosed);
    const float now = std::max(top, maskctl::attention::max_of(x, width));
    if (now == kClosed) {
      std::fill(x, x + width, 0.0f);
      return;
    }
    const float factor = std::exp(top - now);
    for (Index i = 0; i < d; ++i) sum[i] *= factor;
    weight = weight * factor + maskctl::attention::exp_and_sum(x, width, now);
    top = now;
  }
  static void add(const float* mask, Index keys, float* x) {
    for (Index j = 0; j < keys; ++j) x[j] += mask[j];
  }
  static int n(Index value) { return static_cast<int>(value); }

  static constexpr float kClosed = -std::numeric_limits<float>::infinity();
  const Tensor &q_, &k_, &v_;
};

}  // namespace bench
#endif  // MASKCTL_OPENBLAS
