// Converts the arrays of a call to f32, and changes logits and weights element by element.
#include "maskctl/attention/cpu/heads.h"

#include <algorithm>

#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/attention/problems/dropout.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {

CpuCall::CpuCall(const SoftmaxProblem& p)
    : d(p.d),
      options(p.options),
      scale(static_cast<float>(p.scale)),
      mask(p.mask),
      block_map(p.block_map),
      q(p.query),
      k(p.key),
      v(p.value),
      bias(p.bias),
      sinks(p.sinks),
      sink_array(p.sinks) {
  if (p.bias) bias_at = broadcast_strides(p.bias->shape());
}

const float* CpuCall::query(Index b, Index h) const {
  return q.data() + (b * d.queries * d.q_heads + h) * d.dim;
}
const float* CpuCall::key(Index b, Index u) const {
  return k.data() + (b * d.keys * d.kv_heads + u) * d.dim;
}
const float* CpuCall::value(Index b, Index u) const {
  return v.data() + (b * d.keys * d.kv_heads + u) * d.value_dim;
}

std::vector<Index> CpuCall::poisoned_keys(Index b, Index u) const {
  std::vector<Index> found;
  for (Index j = 0; j < d.keys; ++j) {
    if (all_finite(key(b, u) + j * key_stride(), d.dim) &&
        all_finite(value(b, u) + j * value_stride(), d.value_dim)) {
      continue;
    }
    Index seen = 0;
    for (Index h = u * d.group(); h < (u + 1) * d.group(); ++h) {
      seen += mask.plane(b, h)->count({0, d.queries}, {j, j + 1});
    }
    if (seen == 0) found.push_back(j);
  }
  return found;
}

HeadRows::HeadRows(const CpuCall& c, Index b, Index u)
    : call_(c),
      b_(b),
      u_(u),
      key_(c.key(b, u)),
      value_(c.value(b, u)),
      key_stride_(c.key_stride()),
      value_stride_(c.value_stride()) {}

void HeadRows::clean() {
  const std::vector<Index> poisoned = call_.poisoned_keys(b_, u_);
  if (poisoned.empty()) return;
  const Dims& d = call_.d;
  clean_.resize(as_size(d.keys * (d.dim + d.value_dim)));
  float* const keys = clean_.data();
  float* const values = keys + d.keys * d.dim;
  for (Index j = 0; j < d.keys; ++j) {
    std::copy_n(key(j), d.dim, keys + j * d.dim);
    std::copy_n(value(j), d.value_dim, values + j * d.value_dim);
  }
  for (const Index j : poisoned) {
    std::fill_n(keys + j * d.dim, d.dim, 0.0f);
    std::fill_n(values + j * d.value_dim, d.value_dim, 0.0f);
  }
  key_ = keys, value_ = values;
  key_stride_ = d.dim, value_stride_ = d.value_dim;
}

Index parts_of_head(Index heads) {
  constexpr Index kTasks = 8, kMost = 4;
  return std::clamp<Index>(kTasks / std::max<Index>(heads, 1), 1, kMost);
}

void CpuCall::adjust(float* logits, Index b, Index h, Index i, Range keys, Index width,
                     float* derivative) const {
  const auto add_bias = [&] {
    const float* row = bias.data() + bias_at.at(b, h, i, keys.begin);
    for (Index j = 0; j < keys.size(); ++j) logits[j] += row[j * bias_at.stride[3]];
  };
  const bool before = options.bias_order == BiasOrder::kBeforeCap;
  if (bias && before) add_bias();
  if (options.soft_cap)
    soft_cap_all(logits, width, static_cast<float>(*options.soft_cap), derivative);
  if (bias && !before) add_bias();
}

float CpuCall::dropout_at(Index b, Index h, Index i, Index j) const {
  return dropout_multiplier(options.dropout_seed, options.dropout, options.first_batch + b,
                            options.first_head + h, options.first_query + i, options.first_key + j);
}

void CpuCall::drop(float* weights, Index b, Index h, Index i, Range keys) const {
  for (Index j = keys.begin; j < keys.end; ++j) weights[j - keys.begin] *= dropout_at(b, h, i, j);
}

}  // namespace maskctl::attention
