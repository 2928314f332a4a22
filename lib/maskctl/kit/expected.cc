#include "maskctl/kit/expected.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

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

/// How large the sum of the products may have been on the way: no less than it is.
double dot_size(std::span<const double> a, std::span<const double> b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += a[i] * b[i] * a[i] * b[i];
  return std::max(std::abs(dot(a, b)), std::sqrt(squares));
}

/// Elements as sums of terms.
struct Sums {
  explicit Sums(const std::vector<Index>& shape)
      : values(DType::kFloat64, shape),
        squares(DType::kFloat64, shape),
        sizes(DType::kFloat64, shape),
        counts(DType::kFloat64, shape) {}

  Tensor values, squares, sizes, counts;  // of the terms: sum, sum of squares, of sizes, number

  /// Adds factor * from to the vector of a token and a head. `size`: with what the factor counts,
  /// where that is more.
  void add(Index b, Index token, Index h, double factor, double size,
           std::span<const double> from) {
    const auto value = vector_of(values, b, token, h), square = vector_of(squares, b, token, h);
    const auto of_sizes = vector_of(sizes, b, token, h), count = vector_of(counts, b, token, h);
    for (std::size_t i = 0; i < value.size(); ++i) {
      const double term = std::abs(size * from[i]);
      value[i] += factor * from[i];
      square[i] += term * term;
      of_sizes[i] += term;
      ++count[i];
    }
  }

  Bounded bounded(DType dtype, Index dim) const {
    const double u = epsilon(dtype) / 2, sums = kSums * 0x1p-24;
    Bounded out{values, Tensor(DType::kFloat64, values.shape())};
    const auto value = values.as<double>(), square = squares.as<double>();
    const auto size = sizes.as<double>(), count = counts.as<double>();
    const auto tolerance = out.tolerance.as<double>();
    for (std::size_t i = 0; i < value.size(); ++i) {
      const double result = std::isfinite(value[i]) ? kResult * u * std::abs(value[i]) : 0;
      tolerance[i] = result + kTerms * u * std::sqrt(square[i]) +
                     sums * (std::sqrt(static_cast<double>(dim)) + std::sqrt(count[i])) * size[i];
    }
    return out;
  }
};

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
      : call_(made.call()),
        dtype_(made.dtype),
        mask_(dense_from_mask(made.mask, kMostMaskBytes)),
        out_({call_.batch, call_.queries, call_.heads, call_.value_dim}),
        lse_({call_.batch, call_.heads, call_.queries, 1}) {
    for (const auto& [name, array] : made.arrays) arrays_[name] = astype(array, DType::kFloat64);
    scale_ = call_.scale.value_or(1 / std::sqrt(static_cast<double>(call_.dim)));
    if (!arrays_.contains("cotangent_out")) return;
    for (auto [sums, name] : {std::pair(&grad_query_, "query"), std::pair(&grad_key_, "key"),
                              std::pair(&grad_value_, "value")}) {
      sums->emplace(arrays_.at(name).shape());
    }
  }

  Expected run() {
    for (Index b = 0; b < call_.batch; ++b) {
      for (Index h = 0; h < call_.heads; ++h) {
        for (Index q = 0; q < call_.queries; ++q) {
          Row row{b, h, q, h / (call_.heads / call_.kv_heads), {}, {}, {}};
          add_logits(row);
          add_results(row);
          if (grad_query_) add_gradients(row);
          depth_ = std::max(depth_, std::ssize(row.open));
        }
      }
    }
    Expected all;
    all.out = out_.bounded(dtype_, call_.dim);
    all.lse = lse_.bounded(dtype_, call_.dim);
    for (Tensor* one : {&all.lse.values, &all.lse.tolerance}) {
      one->reshape({call_.batch, call_.heads, call_.queries});
    }
    if (grad_query_) {
      all.grad_query = grad_query_->bounded(dtype_, call_.dim);
      all.grad_key = grad_key_->bounded(dtype_, call_.dim);
      all.grad_value = grad_value_->bounded(dtype_, call_.dim);
    }
    all.depth = depth_;
    return all;
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
    // The lse as an array of one element for each query, in the order of [B,Hq,Q,1].
    const std::size_t at = as_size((row.b * call_.heads + row.h) * call_.queries + row.query);
    lse_.values.as<double>()[at] = lse;
    for (std::size_t i = 0; i < row.open.size(); ++i) {
      const double logit = std::abs(row.logits[i]);
      const double weight = std::exp(row.logits[i] - lse), size = weight * logit;
      row.weights.push_back(weight);
      lse_.squares.as<double>()[at] += size * size;
      lse_.sizes.as<double>()[at] += std::max(size, weight);  // the sum of weights is rounded, too
      lse_.counts.as<double>()[at] += 1;
      out_.add(row.b, row.query, row.h, weight, weight * (1 + logit),
               vector_of(arrays_.at("value"), row.b, row.open[i], row.kv_head));
    }
  }

  void add_gradients(const Row& row) {
    const auto d_out = vector_of(arrays_.at("cotangent_out"), row.b, row.query, row.h);
    const auto out = vector_of(out_.values, row.b, row.query, row.h);
    const double delta = dot(d_out, out), delta_size = dot_size(d_out, out);
    for (std::size_t i = 0; i < row.open.size(); ++i) {
      const Index k = row.open[i];
      const auto value = vector_of(arrays_.at("value"), row.b, k, row.kv_head);
      const double of_logit = 1 + std::abs(row.logits[i]);
      grad_value_->add(row.b, k, row.kv_head, row.weights[i], row.weights[i] * of_logit, d_out);
      const double d_weight = dot(d_out, value), d_size = dot_size(d_out, value);
      double slope = scale_ * row.weights[i];
      const double size = slope * of_logit * (d_size + delta_size);
      if (call_.soft_cap) {
        const double tanh = (row.logits[i] - biased(row, k)) / *call_.soft_cap;
        slope *= 1 - tanh * tanh;
      }
      const double by = slope * (d_weight - delta);
      const auto query = vector_of(arrays_.at("query"), row.b, row.query, row.h);
      const auto key = vector_of(arrays_.at("key"), row.b, k, row.kv_head);
      grad_query_->add(row.b, row.query, row.h, by, size, key);
      grad_key_->add(row.b, k, row.kv_head, by, size, query);
    }
  }

  const Call& call_;
  DType dtype_;
  Tensor mask_;
  std::map<std::string, Tensor> arrays_;
  double scale_;
  Sums out_, lse_;
  std::optional<Sums> grad_query_, grad_key_, grad_value_;
  Index depth_ = 0;
};

}  // namespace

Expected expected(const MadeCase& made) { return Attention(made).run(); }

}  // namespace maskctl::kit
