#include "maskctl/verify/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

std::string place_text(const Tensor& tensor, Index n) {
  std::vector<Index> index(tensor.shape().size());
  for (std::size_t axis = index.size(); axis-- > 0;) {
    index[axis] = n % tensor.shape()[axis];
    n /= tensor.shape()[axis];
  }
  return shape_text(index);
}

}  // namespace

double largest_finite(std::span<const double> values) {
  double most = 0;
  for (const double x : values) {
    if (std::isfinite(x)) most = std::max(most, std::abs(x));
  }
  return most;
}

bool is_gradient(const std::string& name) { return name.starts_with("grad_"); }

Tolerance usual_tolerance(DType dtype, bool gradient) {
  const auto both = [](double most) { return Tolerance{most, most}; };
  const double coarse = epsilon(dtype) / epsilon(DType::kBFloat16);
  if (coarse >= 1) return gradient ? both(2e-2 * coarse) : both(1e-2 * coarse);
  if (epsilon(dtype) > epsilon(DType::kFloat32)) return gradient ? both(1e-2) : both(2e-3);
  return gradient ? both(1e-4) : Tolerance{1e-5, 2e-5};
}

Distance distance(const Tensor& seen, const Tensor& expected, const Tolerance& tolerance) {
  if (seen.shape() != expected.shape()) {
    refuse_shape(fmt::format("the output is {}, expected {}", shape_text(seen.shape()),
                             shape_text(expected.shape())));
  }
  const Tensor x = astype(seen, DType::kFloat64), y = astype(expected, DType::kFloat64);
  const auto a = x.as<double>(), b = y.as<double>();
  const double absolute = tolerance.absolute * std::max(1.0, largest_finite(b));
  Distance out;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double error = std::abs(a[i] - b[i]);
    if (std::isfinite(error)) out.worst = std::max(out.worst, error);
    const bool both_nan = std::isnan(a[i]) && std::isnan(b[i]);
    if (a[i] == b[i] || both_nan || error <= absolute + tolerance.relative * std::abs(b[i])) {
      continue;
    }
    if (out.bad++ == 0) {
      out.first = fmt::format("{}: {:.7g} instead of {:.7g}",
                              place_text(seen, static_cast<Index>(i)), a[i], b[i]);
    }
  }
  return out;
}

VerifyCheck compare_results(const std::string& name, const NamedResults& seen,
                            const NamedResults& expected, bool gradients,
                            const std::optional<Tolerance>& tolerance) {
  VerifyCheck check{name, VerifyCheck::State::kSkipped, "there are none"};
  std::string bad, good;
  for (const auto& [key, array] : expected) {
    if (is_gradient(key) != gradients || !seen.contains(key)) continue;
    const Distance found =
        distance(seen.at(key), array,
                 tolerance.value_or(usual_tolerance(precision_of(seen.at(key)), gradients)));
    good += fmt::format("{}{} {:.2g}", good.empty() ? "largest error: " : ", ", key, found.worst);
    if (found.bad > 0) {
      bad += fmt::format("{}{} elements of {} are off, the first at {}", bad.empty() ? "" : "; ",
                         found.bad, key, found.first);
    }
  }
  if (good.empty()) return check;
  check.state = bad.empty() ? VerifyCheck::State::kPassed : VerifyCheck::State::kFailed;
  check.detail = bad.empty() ? good : bad;
  return check;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && std::ranges::equal(a.bytes(), b.bytes());
}

NamedArguments without_gradients(NamedArguments arguments) {
  std::erase_if(arguments.arrays,
                [](const auto& entry) { return entry.first.starts_with("cotangent_"); });
  arguments.gradient_seed.reset();
  return arguments;
}

void fill_row(Tensor& tensor, Index n, float value) {
  Tensor row(DType::kFloat32, {tensor.shape().back()});
  std::ranges::fill(row.as<float>(), value);
  const Tensor bits = astype(row, tensor.dtype());
  std::ranges::copy(bits.bytes(), tensor.bytes().begin() + n * std::ssize(bits.bytes()));
}

}  // namespace maskctl::attention
