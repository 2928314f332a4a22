#include "maskctl/verify/rounding.h"

#include <algorithm>
#include <cmath>

#include "maskctl/tensor/convert.h"
#include "maskctl/verify/compare.h"
#include "maskctl/verify/key_side.h"

namespace maskctl::attention {
namespace {

/// The largest relative error of one rounding: half the distance between neighbouring numbers near
/// 1, but at least that of float32, in which kernels sum.
double roundoff(DType precision) {
  return std::max(epsilon(precision), epsilon(DType::kFloat32)) / 2;
}
/// The absolute error of rounding the smallest numbers.
double least_roundoff(DType precision) { return least_number(precision) / 2; }

/// The relative rounding error of the coarsest array that a kernel multiplies.
double inputs_roundoff(const NamedArguments& arguments) {
  double out = roundoff(DType::kFloat32);
  for (const char* name : {"query", "key", "value", "key_value"}) {
    const auto found = arguments.arrays.find(name);
    if (found == arguments.arrays.end()) continue;
    out = std::max(out, roundoff(precision_of(found->second)));
  }
  return out;
}

double results_roundoff(const NamedResults& given) {
  double out = roundoff(DType::kFloat32);
  for (const auto& [name, array] : given) {
    // Zeros do not show a precision.
    if (!is_floating(array.dtype()) || mean_square(doubles_of(array)) == 0) continue;
    out = std::max(out, roundoff(precision_of(array)));
  }
  return out;
}

std::span<const double> row_of(std::span<const double> values, Index row, Index length) {
  return values.subspan(as_size(row * length), as_size(length));
}

}  // namespace

double mean_square(std::span<const double> values) {
  double sum = 0;
  Index count = 0;
  for (const double x : values) {
    if (!std::isfinite(x)) continue;
    sum += square(x);
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

std::vector<double> doubles_of(const Tensor& tensor) {
  const Tensor converted = astype(tensor, DType::kFloat64);
  const auto values = converted.as<double>();
  return {values.begin(), values.end()};
}

double RowNoise::freedom(double relative, double length) const {
  const double single = own + relative;
  const double scatter = square(single) / length +
                         square(weights) / std::clamp(directions, 1.0, length) + square(delta);
  return scatter > 0 ? std::clamp(square(single + weights + delta) / scatter, 1.0, length) : length;
}

Rounding::Rounding(const VerifyRequest& request, const NamedResults& given,
                   const NamedResults& declared, const CallVariants& variants, double inputs)
    : request_(request),
      supposed_(inputs > inputs_roundoff(request.arguments)),
      inputs_(std::max(inputs, inputs_roundoff(request.arguments))),
      stored_(results_roundoff(given)),
      weights_(variants.with_random_signs()) {
  const auto value = request.arguments.arrays.find("value");
  if (value != request.arguments.arrays.end()) values_ = mean_square(doubles_of(value->second));
  bool any = false;
  for (const auto& [name, array] : declared) {
    if (!is_gradient(name)) continue;
    gradients_ = std::max(gradients_, mean_square(doubles_of(array)));
    any = any || given.contains(name);
  }
  if (!any || !variants.takes_lse_cotangent()) return;
  const Tensor none(DType::kFloat32, declared.at("out").shape());
  delta_ = variants.gradients_of(none, delta_errors(declared));
}

/// The errors of a kernel's delta, which is computed from its rounded output: the errors of the
/// output's elements times their cotangents, summed, with random signs.
Tensor Rounding::delta_errors(const NamedResults& declared) const {
  const Tensor& out = declared.at("out");
  const auto given = request_.arguments.arrays.find("cotangent_out");
  const std::vector<double> cotangents = doubles_of(
      given != request_.arguments.arrays.end() ? given->second
                                               : random_normal(out.shape(), request_.seed));
  const Index length = out.shape().back();
  const std::vector<double> values = doubles_of(out);
  const ArrayNoise noise = of("out", out, values, length);
  Tensor errors(DType::kFloat32, declared.at("lse").shape());
  const Tensor signs = random_normal(errors.shape(), 19);
  const Index tokens = errors.extent(2), heads = errors.extent(1);
  for (Index row = 0; row < errors.elements(); ++row) {
    const Index b = row / (heads * tokens), h = row / tokens % heads, t = row % tokens;
    const Layout layout = request_.operation->heads_first() ? Layout::kBhtd : Layout::kBthd;
    const Index from = vector_at(layout, b, t, h, tokens, heads);
    double sum = 0;
    for (Index e = from * length; e < (from + 1) * length; ++e) {
      const double x = values[as_size(e)], d = cotangents[as_size(e)];
      if (!std::isfinite(x)) continue;
      sum += square(d) * (noise.rows[as_size(from)].all() + square(stored_ * x) / 3);
    }
    errors.as<float>()[as_size(row)] =
        static_cast<float>(std::copysign(std::sqrt(sum), signs.as<float>()[as_size(row)]));
  }
  return errors;
}

ArrayNoise Rounding::of(const std::string& name, const Tensor& given,
                        std::span<const double> declared, Index length) const {
  const DType precision = precision_of(given);
  const bool gradient = is_gradient(name), is_lse = name == "lse";
  ArrayNoise out;
  out.relative = square(roundoff(precision)) / 3;
  // Without a mask there are no cells, and no weights of theirs.
  const bool has_cells = request_.operation->over_borders.empty();
  if (!gradient && has_cells) out.cell = is_lse ? 1 : values_;
  // Rounded weights change a row of the result about as much as giving the values random signs
  // does.
  const bool has_spread = weights_ && name == "out";
  const std::vector<double> spread =
      has_spread ? doubles_of(weights_->at(name)) : std::vector(declared.begin(), declared.end());
  const bool has_delta = gradient && delta_ && delta_->contains(name);
  const std::vector<double> delta =
      has_delta ? doubles_of(delta_->at(name)) : std::vector<double>();
  // Elements of a gradient are differences of terms. Where the terms nearly cancel, their rounding
  // remains; it is known (has_delta) or taken to be as large as in other rows.
  out.floor = square(kSums) * (gradient ? 1 : 1e-4) * mean_square(declared) +
              square(least_roundoff(precision)) / 3 + kLeastVariance;
  if (gradient && !has_delta) out.floor += square(inputs_ + kSums) * gradients_;
  out.is_lse = is_lse;
  out.weighted = is_lse ? 0 : square(inputs_) / 3;
  const Index rows = length == 0 ? 0 : std::ssize(declared) / length;
  for (Index n = 0; n < rows; ++n) {
    const double size = mean_square(row_of(spread, n, length));
    RowNoise row = out.row(mean_square(row_of(declared, n, length)), size);
    row.directions = has_spread && size > 0 ? values_ / size : static_cast<double>(length);
    if (has_delta) row.delta = mean_square(row_of(delta, n, length));
    out.rows.push_back(row);
  }
  return out;
}

RowNoise ArrayNoise::row(double size, double spread) const {
  RowNoise row;
  // An lse also has the rounding of one logit.
  row.sums = square(kSums) * (spread + size + (is_lse ? 1 : 0));
  row.own = row.sums + floor;
  row.weights = weighted * spread;
  return row;
}

double rare_mean_square(double freedom, double deviations) {
  const double part = 2 / (9 * freedom);
  return std::pow(1 - part + deviations * std::sqrt(part), 3);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace maskctl::attention
