// Attention over listed blocks in float64 and plain loops, each listed block by itself.
#include <cmath>
#include <functional>
#include <limits>

#include "maskctl/attention/arrays/to_double.h"
#include "maskctl/attention/reference/kernels.h"

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

/// A problem with its arrays in float64.
struct BlocksInDouble {
  explicit BlocksInDouble(const BlockProblem& problem)
      : c(problem),
        q(to_double(problem.query)),
        k(to_double(problem.key)),
        v(to_double(problem.value)) {}

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

  const BlockProblem& c;
  std::vector<double> q, k, v;
};

void weigh(const BlocksInDouble& call, Row& row) {
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

void for_each_row(const BlocksInDouble& call, const std::function<void(const Row&)>& f) {
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

void write_out(const BlocksInDouble& call, const Row& row, double* out) {
  const Index n = call.c.d.value_dim;
  for (std::size_t i = 0; i < row.keys.size(); ++i) {
    const double* const v = &call.v[as_size(call.key_row(row, row.keys[i]) * n)];
    for (Index x = 0; x < n; ++x) out[x] += row.weights[i] * v[x];
  }
}

}  // namespace

void reference::blocks_forward(const BlockProblem& c, const SoftmaxOutputs& outputs,
                               const Context&) {
  const BlocksInDouble call(c);
  std::vector<double> out(as_size(outputs.out.elements()));
  const std::span<float> lse = outputs.lse.as<float>();
  std::ranges::fill(lse, -std::numeric_limits<float>::infinity());
  for_each_row(call, [&](const Row& row) {
    write_out(call, row, out.data() + call.out_at(row));
    lse[as_size(call.lse_at(row))] = static_cast<float>(row.lse);
  });
  store(out, outputs.out);
}

void reference::blocks_backward(const BlockProblem& c, const SoftmaxBackwardInputs& inputs,
                                const SoftmaxGradientOutputs& gradients, const Context&) {
  const BlocksInDouble call(c);
  const std::vector<double> d_out = to_double(inputs.d_out);
  std::vector<double> dq(call.q.size()), dk(call.k.size()), dv(call.v.size());
  for_each_row(call, [&](const Row& row) {
    const Index n = c.d.value_dim, dim = c.d.dim;
    std::vector<double> out(as_size(n));
    write_out(call, row, out.data());
    const double* const d_row = d_out.data() + call.out_at(row);
    const double delta = dot(d_row, out.data(), n);
    const Index qi = call.query_at(row);
    for (std::size_t i = 0; i < row.keys.size(); ++i) {
      const Index key = call.key_row(row, row.keys[i]), kj = key * dim, vj = key * n;
      const double p = row.weights[i];
      for (Index x = 0; x < n; ++x) dv[as_size(vj + x)] += p * d_row[x];
      const double dz = c.scale * p * (dot(d_row, &call.v[as_size(vj)], n) - delta);
      for (Index x = 0; x < dim; ++x) {
        dq[as_size(qi + x)] += dz * call.k[as_size(kj + x)];
        dk[as_size(kj + x)] += dz * call.q[as_size(qi + x)];
      }
    }
  });
  store(dq, gradients.query);
  store(dk, gradients.key);
  store(dv, gradients.value);
}

}  // namespace maskctl::attention
