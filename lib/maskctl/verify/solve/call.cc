#include "maskctl/verify/solve/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <mutex>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/to_double.h"
#include "maskctl/attention/softmax/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/base/threads.h"
#include "maskctl/verify/key_side.h"
#include "maskctl/verify/rounding.h"
#include "maskctl/verify/solve/dense.h"

namespace maskctl::attention::solving {
namespace {

/// At most this many bytes of dot products between values are kept.
constexpr double kMostProducts = 400e6;
/// Relative errors that f32 arithmetic causes in a weight: kWeightSums for a few roundings, and
/// kLogitSums times the size of the logit for the sum that makes the logit.
constexpr double kWeightSums = 8 * 0x1p-24, kLogitSums = 0x1p-24;
/// In a gradient, the factor of a key (GradientFactors) contains the f32 sum d_out . v. The
/// rounding of this sum adds this fraction of |d_out|^2 |v|^2 to the square of the factor's size
/// (GradientFactors::sizes).
constexpr double kFactorSums = 1.0 / 64;

std::string option(const NamedArguments& arguments, const char* name) {
  const auto found = arguments.options.find(name);
  return found == arguments.options.end() || found->second == "none" ? "" : found->second;
}

std::optional<double> number(const NamedArguments& arguments, const char* name) {
  return number_from<double>(option(arguments, name));
}

const Tensor* array(const NamedArguments& arguments, const char* name) {
  const auto found = arguments.arrays.find(name);
  return found == arguments.arrays.end() ? nullptr : &found->second;
}

SoftmaxOptions options_of(const Operation& operation, const NamedArguments& arguments) {
  SoftmaxOptions out;
  out.scale = number(arguments, "softmax_scale");
  out.soft_cap = number(arguments, "logits_soft_cap");
  const std::string policy = option(arguments, "empty_row");
  out.empty_row = policy == "mean"  ? EmptyRow::kMean
                  : policy == "nan" ? EmptyRow::kNan
                                    : EmptyRow::kZero;
  const bool after = operation.name == "attention" || operation.name == "ring_attention";
  if (after) out.bias_order = BiasOrder::kAfterCap;
  return out;
}

void check_call(const Operation& operation, const NamedArguments& arguments,
                const NamedResults& given) {
  const bool plain = operation.takes_mask() && operation.find("value", true);
  if (!plain) {
    untold(fmt::format("{} is not softmax attention over query, key and value", operation.name));
  }
  if (!given.contains("out")) untold("give the output of the kernel, out");
  for (const auto& [name, unused] : given) {
    constexpr std::array kRead{"out", "lse", "grad_query"};
    if (std::ranges::find(kRead, name) != kRead.end()) continue;
    untold(
        fmt::format("{} is not read, since it mixes the weights of all queries; give out, lse "
                    "or grad_query, and leave it out",
                    name));
  }
  for (const char* name : {"dropout_prob", "pdrop"}) {
    if (number(arguments, name).value_or(0) > 0) {
      untold(fmt::format("weights are dropped at random; give a run with {}=0", name));
    }
  }
  if (option(arguments, "normalize_output") == "false") {
    untold("give the output that is divided by its sum of weights, normalize_output=true");
  }
}

void check_finite(std::span<const double> values, const char* name) {
  for (const double x : values) {
    if (!std::isfinite(x))
      untold(fmt::format("{} holds NaN or infinities; give a run without", name));
  }
}

/// Throws if the arrays do not belong to one call.
void check_shapes(const Operation& operation, const NamedArguments& arguments, const Mask* mask,
                  const NamedResults& given) {
  for (const char* name : {"query", "key", "value"}) {
    check_rank(name, array(arguments, name), 4);
  }
  const ProbeShape s = shape_of_call(operation, arguments);
  const Index value_dim = array(arguments, "value")->extent(3);
  check_head_groups(s.heads, s.kv_heads);
  check_shape("key", *array(arguments, "key"),
              arranged(s.layout, s.batch, s.keys, s.kv_heads, s.dim));
  check_shape("value", *array(arguments, "value"),
              arranged(s.layout, s.batch, s.keys, s.kv_heads, value_dim));
  check_shape("the output", given.at("out"),
              arranged(s.layout, s.batch, s.queries, s.heads, value_dim));
  if (const auto lse = given.find("lse"); lse != given.end()) {
    check_shape("lse", lse->second, std::array{s.batch, s.heads, s.queries});
  }
  if (s.keys == 0 || s.queries == 0 || value_dim == 0) untold("there are no cells, or no values");
  const bool fits = !mask || ((mask->batch() == 1 || mask->batch() == s.batch) &&
                              (mask->heads() == 1 || mask->heads() == s.heads) &&
                              mask->queries() == s.queries && mask->keys() == s.keys);
  if (fits) return;
  refuse_shape(fmt::format("the mask is {}, expected [B {}, H {}, Q {}, K {}] for these arrays",
                           shape_text(*mask), s.batch, s.heads, s.queries, s.keys));
}

Dims dims_of(const Operation& operation, const NamedArguments& arguments) {
  const ProbeShape shape = shape_of_call(operation, arguments);
  return {shape.batch,
          shape.queries,
          shape.keys,
          shape.heads,
          shape.kv_heads,
          shape.dim,
          arguments.arrays.at("value").extent(3)};
}

/// Returns a bound of each query's logits, [B,H,Tq]: |scale| |q| times the largest |k|.
std::vector<double> logit_sizes(const std::vector<double>& q, const std::vector<double>& k,
                                const Dims& d, double scale) {
  std::vector<double> largest(as_size(d.batch * d.kv_heads)), out;
  for (Index n = 0; n < d.batch * d.kv_heads * d.keys; ++n) {
    const double* const key = k.data() + n * d.dim;
    double& most = largest[as_size(n / d.keys)];
    most = std::max(most, solving::dot(key, key, d.dim));
  }
  out.reserve(as_size(d.batch * d.q_heads * d.queries));
  for (Index n = 0; n < d.batch * d.q_heads * d.queries; ++n) {
    const double* const query = q.data() + n * d.dim;
    const Index b = n / (d.q_heads * d.queries), h = n / d.queries % d.q_heads;
    const double key = largest[as_size(b * d.kv_heads + d.kv_head(h))];
    out.push_back(std::abs(scale) * std::sqrt(solving::dot(query, query, d.dim) * key));
  }
  return out;
}

}  // namespace

struct SolveCall::Products {
  struct One {
    std::once_flag made;
    std::vector<double> all;
  };
  explicit Products(std::size_t count) : heads(count) {}
  std::deque<One> heads;
};

SolveCall::SolveCall(const VerifyRequest& request, const NamedResults& given, Index tile)
    : tile_(tile) {
  const NamedArguments& arguments = request.arguments;
  check_call(*request.operation, arguments, given);
  check_shapes(*request.operation, arguments, request.declared ? &*request.declared : nullptr,
               given);
  const bool heads_first = request.operation->heads_first();
  options_ = options_of(*request.operation, arguments);
  check_soft_cap(options_.soft_cap);
  d_ = dims_of(*request.operation, arguments);
  scale_ = options_.scale.value_or(default_scale(d_.dim));
  q_ = by_heads(arguments.arrays.at("query"), heads_first);
  k_ = by_heads(arguments.arrays.at("key"), heads_first);
  v_ = by_heads(arguments.arrays.at("value"), heads_first);
  out_ = by_heads(given.at("out"), heads_first);
  leave_out_nan_keys();
  check_finite(q_, "query"), check_finite(k_, "key");
  if (const auto found = given.find("lse"); found != given.end()) {
    lse_ = to_double(TensorView(found->second));
    lse_step_ = std::max(epsilon(precision_of(found->second)), epsilon(DType::kFloat32));
  }
  if (const Tensor* bias = array(arguments, "bias")) {
    check_bias(*bias, d_);
    bias_ = to_double(TensorView(*bias));
    bias_at_ = broadcast_strides(bias->shape());
  }
  if (const Tensor* sinks = array(arguments, "softmax_aux")) {
    kept_sinks_ = *sinks;
    sink_array_ = TensorView(kept_sinks_);
    check_sinks(*sink_array_, d_);
    sinks_ = to_double(sink_array_);
  }
  squares_ = squares_of(v_, d_.value_dim);
  if (given.contains("grad_query")) {
    gradients_.emplace(request, given, d_, k_);
    check_finite(gradients_->d_out, "cotangent_out");
    check_finite(gradients_->d_lse, "cotangent_lse");
  }
  logit_sizes_ = logit_sizes(q_, k_, d_, scale_);
  empty_out_.resize(as_size(d_.batch * d_.kv_heads * d_.value_dim));
  if (options_.empty_row == EmptyRow::kMean) {
    for (Index n = 0; n < std::ssize(v_); ++n) {
      const Index x = n % d_.value_dim, head = n / (d_.keys * d_.value_dim);
      empty_out_[as_size(head * d_.value_dim + x)] += v_[as_size(n)] / static_cast<double>(d_.keys);
    }
  }
  out_steps_ = FloatSteps::of(given.at("out"));
  double inputs = 0;
  for (const char* name : {"query", "key", "value"}) {
    inputs = std::max(inputs, epsilon(precision_of(arguments.arrays.at(name))));
  }
  const bool short_inputs = inputs > 2 * epsilon(DType::kFloat32);
  weights_ = square(kWeightSums) + (short_inputs ? square(inputs / 2) / 3 : 0);
  // The first half is for products of values, the second half for products of keys.
  products_ = std::make_shared<Products>(as_size(2 * d_.batch * d_.kv_heads));
}

/// Marks keys as unread that hold NaN, or whose values hold NaN or infinities; both become zeros.
void SolveCall::leave_out_nan_keys() {
  unread_.resize(as_size(d_.batch * d_.kv_heads * d_.keys));
  for (Index n = 0; n < std::ssize(unread_); ++n) {
    const auto key = std::span(k_).subspan(as_size(n * d_.dim), as_size(d_.dim));
    const auto value = std::span(v_).subspan(as_size(n * d_.value_dim), as_size(d_.value_dim));
    const bool is_unread = std::ranges::any_of(key, [](double x) { return std::isnan(x); }) ||
                           !std::ranges::all_of(value, [](double x) { return std::isfinite(x); });
    if (!is_unread) continue;
    unread_[as_size(n)] = 1;
    has_unread_ = true;
    std::ranges::fill(key, 0.0);
    std::ranges::fill(value, 0.0);
  }
}

bool SolveCall::is_unread(Head head, Index key) const {
  return has_unread_ && unread_[value_head(head) * as_size(d_.keys) + as_size(key)] != 0;
}

double SolveCall::weight_variance(Head head, Index i) const {
  const double variance = weights_ + square(kLogitSums * logit_sizes_[row_of(head, i)]);
  return head.gradient ? variance * gradient_noise_ : variance;
}

const double* SolveCall::values(Head head) const {
  const std::vector<double>& all = head.gradient ? k_ : v_;
  return &all[value_head(head) * as_size(d_.keys * dim(head))];
}

const double* SolveCall::squares(Head head) const {
  const std::vector<double>& all = head.gradient ? gradients_->key_squares : squares_;
  return &all[value_head(head) * as_size(d_.keys)];
}

std::span<const double> SolveCall::out(Head head, Index i) const {
  const std::size_t n = as_size(dim(head));
  return std::span(head.gradient ? gradients_->given : out_).subspan(row_of(head, i) * n, n);
}

std::span<const double> SolveCall::empty_out(Head head, Index i) const {
  // The gradient of a row that averages all values depends on how the kernel does that, so any
  // gradient is accepted.
  const bool any = options_.empty_row == EmptyRow::kMean;
  if (head.gradient) return any ? out(head, i) : std::span<const double>(gradients_->none);
  const std::size_t dim = as_size(d_.value_dim);
  return std::span(empty_out_).subspan(value_head(head) * dim, dim);
}

/// Returns the derivative of the soft cap at each logit, [rows, Tk].
std::vector<double> SolveCall::slopes(Head head, Range rows) const {
  std::vector<double> out(as_size(rows.size() * d_.keys), 1.0);
  if (!options_.soft_cap) return out;
  products_of_queries(head, rows, out.data());
  for (double& x : out) x = 1 - square(std::tanh(x / *options_.soft_cap));
  return out;
}

GradientFactors SolveCall::factors(Head head, Range rows) const {
  const Index dim = d_.value_dim;
  const Head output{head.b, head.h};
  GradientFactors out{
      std::vector<double>(as_size(rows.size() * d_.keys)), {}, slopes(head, rows), {}};
  out.sizes.resize(out.factors.size());
  multiply_transposed(&gradients_->d_out[row_of(head, rows.begin) * as_size(dim)], values(output),
                      rows.size(), dim, d_.keys, out.factors.data());
  for (Index r = 0; r < rows.size(); ++r) {
    const std::size_t row = row_of(head, rows.begin + r);
    const double* const d_out = &gradients_->d_out[row * as_size(dim)];
    const double delta = solving::dot(d_out, this->out(output, rows.begin + r).data(), dim);
    const double d_lse = gradients_->d_lse.empty() ? 0 : gradients_->d_lse[row];
    const double length = solving::dot(d_out, d_out, dim);
    out.shifts.push_back(length * own_variance(output, rows.begin + r) * gradient_noise_);
    for (Index j = 0; j < d_.keys; ++j) {
      const std::size_t at = as_size(r * d_.keys + j);
      double& factor = out.factors[at];
      const double terms = std::abs(factor) + std::abs(delta) + std::abs(d_lse);
      const double slope = out.slopes[at] *= scale_;
      out.sizes[at] =
          std::abs(slope) * std::sqrt(square(terms) + kFactorSums * length * squares(output)[j]);
      factor = slope * (factor - delta + d_lse);
    }
  }
  return out;
}

std::optional<double> SolveCall::lse(Head head, Index i) const {
  if (lse_.empty() || head.gradient) return {};
  return lse_[row_of(head, i)];
}

bool SolveCall::is_nan(Head head, Index i) const {
  // Looks at the output even for gradients: a row without keys whose output is NaN may have a
  // gradient of 0.
  for (const double x : out({head.b, head.h}, i)) {
    if (!std::isfinite(x)) return true;
  }
  return false;
}

/// Computes the scaled products of queries and keys, to which a soft cap is applied later, together
/// with a bias that comes before the cap.
void SolveCall::products_of_queries(Head head, Range rows, double* s) const {
  const double* q = &q_[row_of(head, rows.begin) * as_size(d_.dim)];
  const double* k = &k_[value_head(head) * as_size(d_.keys * d_.dim)];
  multiply_transposed(q, k, rows.size(), d_.dim, d_.keys, s);
  for (Index n = 0; n < rows.size() * d_.keys; ++n) s[n] *= scale_;
  if (options_.bias_order == BiasOrder::kBeforeCap) add_bias(head, rows, s);
}

void SolveCall::logits(Head head, Range rows, double* s) const {
  products_of_queries(head, rows, s);
  if (options_.soft_cap) {
    const double cap = *options_.soft_cap;
    for (Index n = 0; n < rows.size() * d_.keys; ++n) s[n] = cap * std::tanh(s[n] / cap);
  }
  if (options_.bias_order != BiasOrder::kBeforeCap) add_bias(head, rows, s);
  if (!has_unread_) return;
  for (Index n = 0; n < rows.size() * d_.keys; ++n) {
    if (is_unread(head, n % d_.keys)) s[n] = -std::numeric_limits<double>::infinity();
  }
}

void SolveCall::add_bias(Head head, Range rows, double* s) const {
  if (bias_.empty()) return;
  for (Index i = rows.begin; i < rows.end; ++i) {
    for (Index j = 0; j < d_.keys; ++j) *s++ += bias_[as_size(bias_at_.at(head.b, head.h, i, j))];
  }
}

std::span<const double> SolveCall::sinks(Head head) const {
  if (!sink_array_) return {};
  return std::span(sinks_).subspan(as_size(first_sink(*sink_array_, d_, head.h)),
                                   as_size(sink_count(sink_array_)));
}

double SolveCall::own_variance(Head head, Index i) const {
  const FloatSteps& steps = head.gradient ? gradients_->steps : out_steps_;
  double sum = 0, size = 0;
  for (const double x : out(head, i)) {
    sum += steps.variance(x);
    size += x * x;
  }
  const double n = static_cast<double>(std::max<Index>(dim(head), 1));
  const double all = (sum + square(kSums) * size) / n + square(steps.least) / 12 + kLeastVariance;
  return head.gradient ? all * gradient_noise_ : all;
}

double SolveCall::lse_variance(double lse) const {
  return square(kWeightSums * (1 + std::abs(lse))) + FloatSteps{lse_step_, 0}.variance(lse) +
         weights_;
}

const double* SolveCall::value_products(Head head) const {
  const double keys = static_cast<double>(d_.keys);
  if (keys * keys * 8 * static_cast<double>(d_.batch * d_.kv_heads) > kMostProducts) return nullptr;
  const std::size_t first = head.gradient ? as_size(d_.batch * d_.kv_heads) : 0;
  Products::One& one = products_->heads[first + value_head(head)];
  std::call_once(one.made, [&] {
    one.all.resize(as_size(d_.keys * d_.keys));
    multiply_transposed(values(head), values(head), d_.keys, dim(head), d_.keys, one.all.data());
  });
  return one.all.data();
}

}  // namespace maskctl::attention::solving
