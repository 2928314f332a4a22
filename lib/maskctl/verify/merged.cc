#include "maskctl/verify/merged.h"

#include <algorithm>
#include <cmath>

#include "maskctl/verify/key_side.h"

namespace maskctl::attention {
namespace {

double log_of_sum(double a, double b) {
  const double most = std::max(a, b);
  return std::isfinite(most) ? most + std::log(std::exp(a - most) + std::exp(b - most)) : most;
}

}  // namespace

PartFactors softmax_factors(double first_shift, double second_shift) {
  return [=](double first, double second) {
    const double all = log_of_sum(first + first_shift, second + second_shift);
    if (!std::isfinite(all)) return std::pair{0.0, 0.0};
    return std::pair{std::exp(first + first_shift - all), std::exp(second + second_shift - all)};
  };
}

bool can_merge(const NamedResults& results) {
  const auto lse = results.find("lse"), out = results.find("out");
  return lse != results.end() && out != results.end() && lse->second.rank() == 3 &&
         out->second.rank() == 4 && lse->second.dtype() == DType::kFloat32 &&
         out->second.dtype() == DType::kFloat32;
}

Index out_row(const CallVariants& call, const Tensor& lse, Index n) {
  const Index heads = lse.extent(1), tokens = lse.extent(2);
  const Layout layout = call.operation().heads_first() ? Layout::kBhtd : Layout::kBthd;
  return vector_at(layout, n / (heads * tokens), n % tokens, n / tokens % heads, tokens, heads);
}

NamedResults merged(const CallVariants& call, const NamedResults& first, const NamedResults& second,
                    const PartFactors& factors, double first_shift, double second_shift) {
  Tensor out = first.at("out"), lse = first.at("lse");
  const Index length = out.shape().back();
  const auto ours = out.as<float>();
  const auto theirs = second.at("out").as<float>();
  for (Index n = 0; n < lse.elements(); ++n) {
    const double a = lse.as<float>()[as_size(n)];
    const double b = second.at("lse").as<float>()[as_size(n)];
    const auto [f, g] = factors(a, b);
    const Index from = out_row(call, lse, n) * length;
    for (Index e = from; e < from + length; ++e) {
      // A part without keys may hold NaN or a mean, which counts for nothing.
      const double x = f == 0 ? 0 : f * ours[as_size(e)];
      const double y = g == 0 ? 0 : g * theirs[as_size(e)];
      ours[as_size(e)] = static_cast<float>(x + y);
    }
    lse.as<float>()[as_size(n)] = static_cast<float>(log_of_sum(a + first_shift, b + second_shift));
  }
  return {{"out", std::move(out)}, {"lse", std::move(lse)}};
}

}  // namespace maskctl::attention
