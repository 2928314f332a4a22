#include "maskctl/attention/verify/residuals.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "maskctl/attention/verify/compare.h"
#include "maskctl/attention/verify/key_side.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

/// The largest error of one rounding, relative to the value.
double roundoff(DType precision) {
  if (precision == DType::kBFloat16) return 0x1p-8;
  if (precision == DType::kFloat16) return 0x1p-11;
  return 0x1p-24;
}
/// And of the smallest numbers, absolute.
double least_roundoff(DType precision) { return precision == DType::kFloat16 ? 0x1p-25 : 0; }

/// f32 sums of many products and the exponential: a few roundings.
constexpr double kSums = 4 * 0x1p-24;
/// Squared distance of two rows, in units of what sums do to one, from which it is no noise.
constexpr double kAboveSums = 2;

double square(double x) { return x * x; }

std::vector<double> doubles_of(const Tensor& tensor) {
  const Tensor converted = astype(tensor, DType::kFloat64);
  const auto values = converted.as<double>();
  return {values.begin(), values.end()};
}

/// The coarsest precision among the arrays that a kernel multiplies.
DType inputs_precision(const NamedArguments& arguments) {
  DType out = DType::kFloat32;
  for (const char* name : {"query", "key", "value", "key_value"}) {
    const auto found = arguments.arrays.find(name);
    if (found == arguments.arrays.end()) continue;
    const DType precision = precision_of(found->second);
    if (roundoff(precision) > roundoff(out)) out = precision;
  }
  return out;
}

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

bool both_nan(double a, double b) { return std::isnan(a) && std::isnan(b); }

/// Whether an infinity or NaN stands against something else.
bool clash(double a, double b) {
  return !both_nan(a, b) && a != b && !(std::isfinite(a) && std::isfinite(b));
}

}  // namespace

Residuals::Residuals(const VerifyRequest& request, const NamedResults& given,
                     const NamedResults& judged, const NamedResults& declared,
                     const NamedResults* spread) {
  for (const auto& [name, tensor] : given) {
    if (!is_floating(tensor.dtype()) || !declared.contains(name)) continue;
    const bool has_spread = spread && name == "out";
    add(request, name, tensor, judged.at(name), declared.at(name),
        has_spread ? &spread->at(name) : nullptr);
  }
}

void Residuals::add(const VerifyRequest& request, const std::string& name, const Tensor& given,
                    const Tensor& judged, const Tensor& declared, const Tensor* spread) {
  Array array;
  array.name = name;
  array.given = doubles_of(given);
  array.declared = doubles_of(declared);
  array.length = name == "lse" || given.rank() == 0 ? 1 : given.shape().back();
  array.count = array.length == 0 ? 0 : std::ssize(array.given) / array.length;
  array.first = rows();
  const DType precision = precision_of(given);
  const double weights = roundoff(inputs_precision(request.arguments)),
               stored = roundoff(precision);
  array.element_noise = square(stored) / 3;
  const std::vector<double> judge = doubles_of(judged);
  const Tolerance tolerance =
      request.tolerance.value_or(usual_tolerance(precision, is_gradient(name)));
  array.relative = tolerance.relative;
  array.absolute = tolerance.absolute * std::max(1.0, largest_finite(judge));
  // What rounds the weights of a row rounds its result as a sum of the values with random signs.
  const std::vector<double> mixed = spread ? doubles_of(*spread) : array.declared;
  // A gradient is a difference: where little is left of it, its terms' roundings are.
  const double least = is_gradient(name) ? 1 : 1e-4;
  const double floor = square(kSums) * least * mean_square(array.declared) +
                       square(least_roundoff(precision)) / 3 + 1e-60;
  for (Index row = 0; row < array.count; ++row) {
    const auto part = [&](const std::vector<double>& values) {
      return std::span(values).subspan(as_size(row * array.length), as_size(array.length));
    };
    const double size = mean_square(part(mixed));
    const double logits = name == "lse" ? 1 : 0;  // an lse is a logit, and as exact
    array.row_sums.push_back(square(kSums) * (size + mean_square(part(array.declared)) + logits));
    array.row_noise.push_back(square(weights) / 3 * size * (1 - logits) + array.row_sums.back() +
                              floor);
  }
  add_places(request, given, array);
  for (Index row = 0; row < array.count; ++row) {
    double misfit = 0;
    bool off = false;
    for (Index e = row * array.length; e < (row + 1) * array.length; ++e) {
      const double a = array.given[as_size(e)], b = array.declared[as_size(e)];
      const double exact = judge[as_size(e)];
      if (clash(a, exact)) misfit = std::numeric_limits<double>::infinity();
      if (std::isfinite(a) && std::isfinite(b)) misfit += square(a - b) / noise(array, row, b);
      off = off || clash(a, exact) ||
            std::abs(a - exact) > array.absolute + array.relative * std::abs(exact);
    }
    misfit_.push_back(misfit / static_cast<double>(array.length));
    off_.push_back(off);
  }
  arrays_.push_back(std::move(array));
}

void Residuals::add_places(const VerifyRequest& request, const Tensor& tensor, const Array& array) {
  // [B,T,H,D] or [B,H,T,D]; [B,T,R] of a latent has one head; an lse is [B,H,T].
  const bool heads_first = request.operation->heads_first() || array.name == "lse";
  std::vector<Index> extents = tensor.shape();
  if (array.name != "lse" && !extents.empty()) extents.pop_back();
  while (extents.size() < 3) extents.push_back(1);
  const Index inner = extents[2], heads = heads_first ? extents[1] : inner;
  for (Index n = 0; n < array.count; ++n) {
    const Index batch = n / (extents[1] * inner), middle = n / inner % extents[1];
    const Index head = heads_first ? middle : n % inner, time = heads_first ? n % inner : middle;
    places_.push_back({arrays_.size(), batch, head, time});
    groups_.push_back(group_count_ + batch * heads + head);
  }
  group_count_ += extents[0] * heads;
  batches_ = std::max(batches_, extents[0]);
}

double Residuals::noise(const Array& array, Index row, double value) const {
  return array.row_noise[as_size(row)] +
         (std::isfinite(value) ? array.element_noise * square(value) : 0);
}

std::vector<RowResidual> Residuals::under(const NamedResults& other) const {
  std::vector<RowResidual> out;
  for (const Array& array : arrays_) {
    const std::vector<double> others = doubles_of(other.at(array.name));
    for (Index row = 0; row < array.count; ++row) {
      RowResidual sums;
      sums.row = array.first + row;
      bool clashes = false;
      double distance = 0;
      for (Index e = row * array.length; e < (row + 1) * array.length; ++e) {
        const double a = array.given[as_size(e)], d = array.declared[as_size(e)];
        const double x = others[as_size(e)];
        sums.off = sums.off || clash(a, x) ||
                   std::abs(a - x) > array.absolute + array.relative * std::abs(x);
        if (clash(a, x)) sums.misfit = std::numeric_limits<double>::infinity();
        clashes = clashes || clash(d, x);
        if (std::isfinite(d) && std::isfinite(x)) distance += square(x - d);
        if (!std::isfinite(a) || !std::isfinite(d) || !std::isfinite(x)) continue;
        const double s = noise(array, row, d);
        sums.along += (a - d) * (x - d) / s;
        sums.squared += square(x - d) / s;
        sums.misfit += square(a - x) / s;
      }
      sums.misfit /= static_cast<double>(array.length);
      const double sums_alone = array.row_sums[as_size(row)] * static_cast<double>(array.length);
      if (clashes || distance > kAboveSums * sums_alone) out.push_back(sums);
    }
  }
  return out;
}

}  // namespace maskctl::attention
