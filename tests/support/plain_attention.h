// Attention in plain loops over arrays of double, without any code of the library: the twin of
// kernels that are wrong on purpose.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl::twin {

/// A call on arrays in C order: query and out [B,Q,H,D], key and value [B,K,G,D], `open` and
/// weights [B,H,Q,K], bias [H,K] or empty, sinks [H,n] or empty, lse [B,H,Q].
struct PlainCall {
  Index batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, dim = 1;
  std::vector<double> query, key, value, bias, sinks;
  double scale = 1, cap = 0;    // cap 0: none
  bool caps_closed = false;     // closed logits are -cap
  std::vector<Index> key_head;  // of each query head
  std::vector<char> open;

  std::size_t cell(Index b, Index h, Index q, Index k) const {
    return as_size(((b * heads + h) * queries + q) * keys + k);
  }
};

struct PlainResult {
  std::vector<double> weights, out, lse;
};

inline double plain_logit(const PlainCall& c, Index b, Index h, Index q, Index k) {
  const bool open = c.open[c.cell(b, h, q, k)] != 0;
  const double none = -std::numeric_limits<double>::infinity();
  if (!open) return c.caps_closed ? -c.cap : none;
  double dot = 0;
  for (Index d = 0; d < c.dim; ++d) {
    dot += c.query[as_size(((b * c.queries + q) * c.heads + h) * c.dim + d)] *
           c.key[as_size(((b * c.keys + k) * c.kv_heads + c.key_head[as_size(h)]) * c.dim + d)];
  }
  double logit = dot * c.scale;
  if (!c.bias.empty()) logit += c.bias[as_size(h * c.keys + k)];
  return c.cap > 0 ? c.cap * std::tanh(logit / c.cap) : logit;
}

inline PlainResult plain_softmax(const PlainCall& c) {
  PlainResult r;
  r.weights.resize(as_size(c.batch * c.heads * c.queries * c.keys));
  r.lse.resize(as_size(c.batch * c.heads * c.queries));
  const Index sinks = static_cast<Index>(c.sinks.size()) / c.heads;
  for (Index b = 0; b < c.batch; ++b) {
    for (Index h = 0; h < c.heads; ++h) {
      for (Index q = 0; q < c.queries; ++q) {
        double sum = 0;
        for (Index k = 0; k < c.keys; ++k) sum += std::exp(plain_logit(c, b, h, q, k));
        for (Index t = 0; t < sinks; ++t) sum += std::exp(c.sinks[as_size(h * sinks + t)]);
        for (Index k = 0; k < c.keys && sum > 0; ++k) {
          r.weights[c.cell(b, h, q, k)] = std::exp(plain_logit(c, b, h, q, k)) / sum;
        }
        r.lse[as_size((b * c.heads + h) * c.queries + q)] = std::log(sum);
      }
    }
  }
  return r;
}

/// Fills out from the weights, the key heads and the values.
inline void plain_sum(const PlainCall& c, PlainResult& r) {
  r.out.assign(as_size(c.batch * c.queries * c.heads * c.dim), 0);
  for (Index b = 0; b < c.batch; ++b) {
    for (Index h = 0; h < c.heads; ++h) {
      for (Index q = 0; q < c.queries; ++q) {
        for (Index k = 0; k < c.keys; ++k) {
          const Index from = ((b * c.keys + k) * c.kv_heads + c.key_head[as_size(h)]) * c.dim;
          for (Index d = 0; d < c.dim; ++d) {
            r.out[as_size(((b * c.queries + q) * c.heads + h) * c.dim + d)] +=
                r.weights[c.cell(b, h, q, k)] * c.value[as_size(from + d)];
          }
        }
      }
    }
  }
}

}  // namespace maskctl::twin
