#include "maskctl/kit/expected.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "maskctl/mask/arrays/dense.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::kit {
namespace {

constexpr Index kMostMaskBytes = Index{1} << 24;

/// The vector of a token and a head in an array [B,T,H,D] of float64.
template <typename Array>
auto vector_of(Array& array, Index b, Index token, Index h) {
  const Index dim = array.extent(3);
  const Index first = ((b * array.extent(1) + token) * array.extent(2) + h) * dim;
  return array.template as<double>().subspan(as_size(first), as_size(dim));
}

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// to += factor * from.
void add(std::span<double> to, double factor, std::span<const double> from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
}

/// One query of one batch entry and head, and the keys that it sees.
struct Row {
  Index b, h, query;
  Index kv_head;
  std::vector<Index> open;
  std::vector<double> logits, weights;  // of the open keys
};

class Attention {
 public:
  explicit Attention(const MadeCase& made)
      : call_(made.call()), mask_(dense_from_mask(made.mask, kMostMaskBytes)) {
    for (const auto& [name, array] : made.arrays) arrays_[name] = astype(array, DType::kFloat64);
    scale_ = call_.scale.value_or(1 / std::sqrt(static_cast<double>(call_.dim)));
    out_.out = Tensor(DType::kFloat64, {call_.batch, call_.queries, call_.heads, call_.value_dim});
    out_.lse = Tensor(DType::kFloat64, {call_.batch, call_.heads, call_.queries});
    if (!arrays_.contains("cotangent_out")) return;
    const auto zeros = [this](const char* name) {
      return Tensor(DType::kFloat64, arrays_.at(name).shape());
    };
    out_.grad_query = zeros("query");
    out_.grad_key = zeros("key");
    out_.grad_value = zeros("value");
  }

  Expected run() {
    for (Index b = 0; b < call_.batch; ++b) {
      for (Index h = 0; h < call_.heads; ++h) {
        for (Index q = 0; q < call_.queries; ++q) {
          Row row{b, h, q, h / (call_.heads / call_.kv_heads), {}, {}, {}};
          add_logits(row);
          add_results(row);
          if (out_.grad_query) add_gradients(row);
        }
      }
    }
    return std::move(out_);
  }

 private:
  bool is_open(const Row& row, Index key) const {
    const Index h = mask_.extent(1) == 1 ? 0 : row.h;
    const Index at = ((row.b * mask_.extent(1) + h) * call_.queries + row.query) * call_.keys + key;
    return mask_.as<std::uint8_t>()[as_size(at)] != 0;
  }

  double biased(const Row& row, Index key) const {
    const auto bias = arrays_.find("bias");
    if (bias == arrays_.end()) return 0;
    return bias->second
        .as<double>()[as_size((row.h * call_.queries + row.query) * call_.keys + key)];
  }

  void add_logits(Row& row) const {
    const auto query = vector_of(arrays_.at("query"), row.b, row.query, row.h);
    for (Index k = 0; k < call_.keys; ++k) {
      if (!is_open(row, k)) continue;
      double s = scale_ * dot(query, vector_of(arrays_.at("key"), row.b, k, row.kv_head));
      if (call_.soft_cap) s = *call_.soft_cap * std::tanh(s / *call_.soft_cap);
      row.open.push_back(k);
      row.logits.push_back(s + biased(row, k));
    }
  }

  void add_results(Row& row) {
    std::vector<double> all = row.logits;
    if (const auto sinks = arrays_.find("sinks"); sinks != arrays_.end()) {
      for (Index t = 0; t < call_.sinks; ++t) {
        all.push_back(sinks->second.as<double>()[as_size(row.h * call_.sinks + t)]);
      }
    }
    double lse = -std::numeric_limits<double>::infinity();
    if (!all.empty()) {
      const double most = *std::ranges::max_element(all);
      double sum = 0;
      for (const double s : all) sum += std::exp(s - most);
      lse = most + std::log(sum);
    }
    out_.lse.as<double>()[as_size((row.b * call_.heads + row.h) * call_.queries + row.query)] = lse;
    const auto out = vector_of(out_.out, row.b, row.query, row.h);
    for (std::size_t i = 0; i < row.open.size(); ++i) {
      row.weights.push_back(std::exp(row.logits[i] - lse));
      add(out, row.weights[i], vector_of(arrays_.at("value"), row.b, row.open[i], row.kv_head));
    }
  }

  void add_gradients(const Row& row) {
    const auto d_out = vector_of(arrays_.at("cotangent_out"), row.b, row.query, row.h);
    const double delta = dot(d_out, vector_of(out_.out, row.b, row.query, row.h));
    for (std::size_t i = 0; i < row.open.size(); ++i) {
      const Index k = row.open[i];
      const auto value = vector_of(arrays_.at("value"), row.b, k, row.kv_head);
      add(vector_of(*out_.grad_value, row.b, k, row.kv_head), row.weights[i], d_out);
      double d_s = row.weights[i] * (dot(d_out, value) - delta);
      if (call_.soft_cap) {
        const double tanh = (row.logits[i] - biased(row, k)) / *call_.soft_cap;
        d_s *= 1 - tanh * tanh;
      }
      const auto query = vector_of(arrays_.at("query"), row.b, row.query, row.h);
      const auto key = vector_of(arrays_.at("key"), row.b, k, row.kv_head);
      add(vector_of(*out_.grad_query, row.b, row.query, row.h), scale_ * d_s, key);
      add(vector_of(*out_.grad_key, row.b, k, row.kv_head), scale_ * d_s, query);
    }
  }

  const Call& call_;
  Tensor mask_;
  std::map<std::string, Tensor> arrays_;
  double scale_;
  Expected out_;
};

}  // namespace

Expected expected(const MadeCase& made) { return Attention(made).run(); }

}  // namespace maskctl::kit
