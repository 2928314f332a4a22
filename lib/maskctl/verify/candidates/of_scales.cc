// The softmax_scale of a run, fitted to its output.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "maskctl/base/text.h"
#include "maskctl/verify/candidates/fitted.h"
#include "maskctl/verify/candidates/some_queries.h"
#include "maskctl/verify/key_side.h"

namespace maskctl::attention {
namespace {

Tensor out_of(const CallVariants& call, const SomeQueries& some, double scale) {
  NamedArguments changed = some.arguments();
  changed.options["softmax_scale"] = fmt::format("{:.17g}", scale);
  return std::move(call.run(changed).at("out"));
}

/// The scale among declared * 2^(n/2) at which the output is nearest.
double nearest_power(const CallVariants& call, const SomeQueries& some, double declared) {
  constexpr int kSteps = 20;
  double best = declared, least = some.distance(out_of(call, some, declared));
  for (int n = -kSteps; n <= kSteps; ++n) {
    const double scale = declared * std::exp2(n / 2.0);
    const double distance = some.distance(out_of(call, some, scale));
    if (distance < least) least = distance, best = scale;
  }
  return best;
}

/// Improves a scale by steps along the change of the output with the logarithm of the scale.
double refined(const CallVariants& call, const SomeQueries& some, double scale) {
  constexpr int kRounds = 14;
  constexpr double kStep = 0x1p-9, kLongest = 0.5;
  double least = some.distance(out_of(call, some, scale));
  for (int round = 0; round < kRounds; ++round) {
    const Tensor at = out_of(call, some, scale);
    const Tensor beside = out_of(call, some, scale * std::exp(kStep));
    double along = 0, squared = 0;
    const auto x = at.as<float>(), y = beside.as<float>(), given = some.given().as<float>();
    for (std::size_t e = 0; e < x.size(); ++e) {
      const double slope = (static_cast<double>(y[e]) - x[e]) / kStep;
      const double off = static_cast<double>(given[e]) - x[e];
      if (!std::isfinite(slope) || !std::isfinite(off)) continue;
      along += off * slope;
      squared += slope * slope;
    }
    if (squared == 0) return scale;
    double step = std::clamp(along / squared, -kLongest, kLongest);
    double better = scale, distance = least;
    for (int halved = 0; halved < 4 && distance >= least; ++halved, step /= 2) {
      better = scale * std::exp(step);
      distance = some.distance(out_of(call, some, better));
    }
    if (distance >= least) return scale;
    const bool close = least - distance < 1e-4 * least;
    scale = better, least = distance;
    if (close) return scale;
  }
  return scale;
}

struct NamedScale {
  double value;
  std::string words;  // how it comes about; empty for a number that says enough
};

std::vector<NamedScale> usual_scales(double declared, double dim) {
  return {{1, "as if there were none"},
          {1 / std::sqrt(dim), "1/sqrt(D)"},
          {1 / dim, "1/D"},
          {std::sqrt(dim), "sqrt(D)"},
          {declared * std::numbers::ln2, "times ln 2, as by exp2 without log2 e"},
          {declared * std::numbers::log2e, "times log2 e, as by exp with log2 e"},
          {declared * declared, "applied twice"}};
}

}  // namespace

Candidates of_scales(const std::shared_ptr<const CallVariants>& call, const NamedResults& declared,
                     const NamedResults& given) {
  if (!call->operation().has("softmax_scale")) return {};
  const auto some = SomeQueries::of(*call, declared, given);
  if (!some) return {};
  const ProbeShape shape = shape_of_call(call->operation(), call->arguments());
  const auto dim = static_cast<double>(std::max<Index>(shape.dim, 1));
  const auto option = call->arguments().options.find("softmax_scale");
  const std::optional<double> written = option == call->arguments().options.end()
                                            ? std::nullopt
                                            : number_from<double>(option->second);
  const double before = written.value_or(1 / std::sqrt(dim));
  if (!(before > 0)) return {};
  const double nearest = nearest_power(*call, *some, before);
  const double fit = refined(*call, *some, nearest);
  Candidates out;
  const auto put = [&](double scale, const std::string& words) {
    constexpr double kSame = 1e-3;  // no mistake: less than rounding of the inputs may fit
    if (std::abs(scale / before - 1) < kSame) return;
    std::string text = fmt::format("softmax_scale {:.5g} instead of {:.5g}", scale, before);
    if (!words.empty()) text += fmt::format(" ({})", words);
    out.push_back(with_arguments(call, std::move(text), {}, [scale](NamedArguments& arguments) {
      arguments.options["softmax_scale"] = fmt::format("{:.17g}", scale);
    }));
  };
  constexpr double kAbout = 3e-3;
  for (const NamedScale& usual : usual_scales(before, dim)) {
    if (std::abs(fit / usual.value - 1) < kAbout) put(usual.value, usual.words);
  }
  if (out.empty()) put(fit, "");
  return out;
}

}  // namespace maskctl::attention
