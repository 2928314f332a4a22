// Attention over listed blocks in float64 and plain loops, each listed block by itself: the judge
// of the fast path.
#include <cmath>
#include <functional>
#include <limits>

#include "maskctl/attention/arrays/to_double.h"
#include "maskctl/attention/operations/native_sparse/block_call.h"

namespace maskctl::attention {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Token `token` (of its row of the batch) and head h: the keys it sees, one as often as it counts.
struct Row {
  Index b = 0, h = 0, token = 0;
  std::vector<Index> keys;
  std::vector<double> weights;  // of the softmax
  double lse = -kInfinity;
};

struct Call {
  explicit Call(const BlockCall& call)
      : c(call), q(doubles(call.query)), k(doubles(call.key)), v(doubles(call.value)) {}

  Index query_at(const Row& row) const {
    return ((row.b * c.d.queries + row.token) * c.d.q_heads + row.h) * c.d.dim;
  }
  Index out_at(const Row& row) const {
    return ((row.b * c.d.queries + row.token) * c.d.q_heads + row.h) * c.d.value_dim;
  }
  Index key_row(const Row& row, Index j) const {
    return (row.b * c.d.keys + j) * c.d.kv_heads + c.d.kv_head(row.h);
  }
  Index lse_at(const Row& row) const {
    return (row.b * c.d.q_heads + row.h) * c.d.queries + row.token;
  }

  const BlockCall& c;
  std::vector<double> q, k, v;
};

void weigh(const Call& call, Row& row) {
  double top = -kInfinity, sum = 0;
  for (const Index j : row.keys) {
    row.weights.push_back(call.c.scale * dot(&call.q[as_size(call.query_at(row))],
                                             &call.k[as_size(call.key_row(row, j) * call.c.d.dim)],
                                             call.c.d.dim));
    top = std::max(top, row.weights.back());
  }
  for (const double s : row.weights) sum += std::exp(s - top);
  if (!row.keys.empty()) row.lse = top + std::log(sum);
  for (double& s : row.weights) s = std::exp(s - row.lse);
}

void for_each_row(const Call& call, const std::function<void(const Row&)>& f) {
  for (std::size_t n = 0; n < call.c.sequences.size(); ++n) {
    const TokenSequence& s = call.c.sequences[n];
    for (Index t = 0; t < s.tokens.size(); ++t) {
      for (Index h = 0; h < call.c.d.q_heads; ++h) {
        Row row{s.batch, h, s.tokens.begin + t, {}, {}, -kInfinity};
        for (const KeyBlock& block : call.c.blocks(n, t, call.c.d.kv_head(h))) {
          for (Index time = 0; time < block.times; ++time) {
            for (Index j = block.keys.begin; j < block.keys.end; ++j) row.keys.push_back(j);
          }
        }
        weigh(call, row);
        f(row);
      }
    }
  }
}

void write_out(const Call& call, const Row& row, double* out) {
  const Index n = call.c.d.value_dim;
  for (std::size_t i = 0; i < row.keys.size(); ++i) {
    const double* const v = &call.v[as_size(call.key_row(row, row.keys[i]) * n)];
    for (Index x = 0; x < n; ++x) out[x] += row.weights[i] * v[x];
  }
}

}  // namespace

SoftmaxResult blocks_reference_forward(const BlockCall& c) {
  const Call call(c);
  std::vector<double> out(as_size(c.d.batch * c.d.queries * c.d.q_heads * c.d.value_dim));
  Tensor lse(DType::kFloat32, {c.d.batch, c.d.q_heads, c.d.queries});
  std::fill(lse.as<float>().begin(), lse.as<float>().end(),
            -std::numeric_limits<float>::infinity());
  for_each_row(call, [&](const Row& row) {
    write_out(call, row, out.data() + call.out_at(row));
    lse.as<float>()[as_size(call.lse_at(row))] = static_cast<float>(row.lse);
  });
  return {tensor_of(out, c.query->dtype(), {c.d.batch, c.d.queries, c.d.q_heads, c.d.value_dim}),
          std::move(lse)};
}

SoftmaxGradients blocks_reference_backward(const BlockCall& c, const Tensor& d_out) {
  const Call call(c);
  const std::vector<double> slopes = doubles(&d_out);
  std::vector<double> dq(call.q.size()), dk(call.k.size()), dv(call.v.size());
  for_each_row(call, [&](const Row& row) {
    const Index n = c.d.value_dim, dim = c.d.dim;
    std::vector<double> out(as_size(n));
    write_out(call, row, out.data());
    const double* const slope = slopes.data() + call.out_at(row);
    const double delta = dot(slope, out.data(), n);
    const Index qi = call.query_at(row);
    for (std::size_t i = 0; i < row.keys.size(); ++i) {
      const Index key = call.key_row(row, row.keys[i]), kj = key * dim, vj = key * n;
      const double p = row.weights[i];
      for (Index x = 0; x < n; ++x) dv[as_size(vj + x)] += p * slope[x];
      const double dz = c.scale * p * (dot(slope, &call.v[as_size(vj)], n) - delta);
      for (Index x = 0; x < dim; ++x) {
        dq[as_size(qi + x)] += dz * call.k[as_size(kj + x)];
        dk[as_size(kj + x)] += dz * call.q[as_size(qi + x)];
      }
    }
  });
  return {tensor_of(dq, *c.query), tensor_of(dk, *c.key), tensor_of(dv, *c.value), {}, {}};
}

}  // namespace maskctl::attention
