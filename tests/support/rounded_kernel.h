// Attention with the roundings of a 16-bit kernel: weights, gradients of logits and results are
// rounded, and delta (the row sum of out * d_out) is computed from the rounded output.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "maskctl/attention/calls/by_name.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::twin {

using Rows = std::vector<std::vector<float>>;  // of one head: a vector for each token

inline Rows rows_of_head(const Tensor& array, Index head) {
  const Tensor wide = astype(array, DType::kFloat32);
  const Index tokens = array.extent(1), heads = array.extent(2), dim = array.extent(3);
  Rows out;
  for (Index t = 0; t < tokens; ++t) {
    const float* const row = wide.as<float>().data() + (t * heads + head) * dim;
    out.emplace_back(row, row + dim);
  }
  return out;
}

inline std::vector<float> rounded(const std::vector<float>& x, DType dtype) {
  Tensor wide(DType::kFloat32, {std::ssize(x)});
  std::ranges::copy(x, wide.as<float>().begin());
  const Tensor back = astype(astype(wide, dtype), DType::kFloat32);
  return {back.as<float>().begin(), back.as<float>().end()};
}

inline float dot(const std::vector<float>& a, const std::vector<float>& b) {
  float sum = 0;
  for (std::size_t n = 0; n < a.size(); ++n) sum += a[n] * b[n];
  return sum;
}
inline void add(const std::vector<float>& from, float factor, std::vector<float>& to) {
  for (std::size_t n = 0; n < to.size(); ++n) to[n] += factor * from[n];
}

/// Forward and backward of one head.
struct RoundedHead {
  Rows query, key, value, d_out;
  const Plane& plane;
  DType dtype;
  Rows out = {}, d_query = {}, d_key = {}, d_value = {};

  float scale() const { return 1 / std::sqrt(static_cast<float>(query[0].size())); }
  bool sees(std::size_t i, std::size_t j) const {
    const Index q = static_cast<Index>(i), k = static_cast<Index>(j);
    return plane.count({q, q + 1}, {k, k + 1}) > 0;
  }
  /// Returns exp(logit - maximum) for each key of row i, and 0 for closed keys.
  std::vector<float> powers(std::size_t i) const {
    std::vector<float> s(key.size(), -INFINITY);
    for (std::size_t j = 0; j < key.size(); ++j) {
      if (sees(i, j)) s[j] = scale() * dot(query[i], key[j]);
    }
    const float most = *std::ranges::max_element(s);
    for (float& x : s) x = std::isinf(x) ? 0 : std::exp(x - most);
    return s;
  }

  void run() {
    const std::vector<float> none(query[0].size());
    out.assign(query.size(), none), d_query = out;
    d_key.assign(key.size(), none), d_value = d_key;
    for (std::size_t i = 0; i < query.size(); ++i) run_row(i);
    for (Rows* const rows : {&d_query, &d_key, &d_value}) {
      for (auto& row : *rows) row = rounded(row, dtype);
    }
  }
  void run_row(std::size_t i) {
    const std::vector<float> p = powers(i), weights = rounded(p, dtype);
    float sum = 0;
    for (const float x : p) sum += x;
    if (sum == 0) return;
    for (std::size_t j = 0; j < key.size(); ++j) add(value[j], weights[j] / sum, out[i]);
    out[i] = rounded(out[i], dtype);
    const float delta = dot(out[i], d_out[i]);
    std::vector<float> share(key.size()), d_logit(key.size());
    for (std::size_t j = 0; j < key.size(); ++j) {
      share[j] = p[j] / sum;
      d_logit[j] = share[j] == 0 ? 0 : share[j] * (dot(d_out[i], value[j]) - delta);
    }
    share = rounded(share, dtype), d_logit = rounded(d_logit, dtype);
    for (std::size_t j = 0; j < key.size(); ++j) {
      add(d_out[i], share[j], d_value[j]);
      add(query[i], d_logit[j] * scale(), d_key[j]);
      add(key[j], d_logit[j] * scale(), d_query[i]);
    }
  }
};

inline void put_head(const Rows& rows, Index head, Index heads, Tensor& to) {
  for (std::size_t t = 0; t < rows.size(); ++t) {
    std::ranges::copy(rows[t], to.as<float>().begin() +
                                   (static_cast<Index>(t) * heads + head) * std::ssize(rows[t]));
  }
}

/// Runs a call [1,T,H,D] that has as many key heads as query heads. Returns the output, and the
/// gradients for "cotangent_out", as f32.
inline attention::NamedResults rounded_kernel(const attention::NamedArguments& call,
                                              const Mask& mask) {
  const auto& arrays = call.arrays;
  const Tensor& query = arrays.at("query");
  attention::NamedResults out;
  for (const char* name : {"out", "grad_query", "grad_key", "grad_value"}) {
    out.emplace(name, Tensor(DType::kFloat32, query.shape()));
  }
  const Index heads = query.extent(2);
  for (Index h = 0; h < heads; ++h) {
    RoundedHead head{rows_of_head(query, h),
                     rows_of_head(arrays.at("key"), h),
                     rows_of_head(arrays.at("value"), h),
                     rows_of_head(arrays.at("cotangent_out"), h),
                     *mask.plane(0, h),
                     query.dtype()};
    head.run();
    put_head(head.out, h, heads, out.at("out"));
    put_head(head.d_query, h, heads, out.at("grad_query"));
    put_head(head.d_key, h, heads, out.at("grad_key"));
    put_head(head.d_value, h, heads, out.at("grad_value"));
  }
  return out;
}

}  // namespace maskctl::twin
