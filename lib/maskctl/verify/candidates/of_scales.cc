// The softmax_scale of a run, fitted to its output.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"
#include "maskctl/verify/candidates/fitted.h"
#include "maskctl/verify/candidates/some_queries.h"
#include "maskctl/verify/evidence.h"
#include "maskctl/verify/key_side.h"

namespace maskctl::attention {
namespace {

/// The heads of a call that share a scale.
using Heads = std::vector<Index>;

/// Multiplies the queries of some heads.
void multiply(NamedArguments& arguments, const ProbeShape& shape, const Heads& heads, double by) {
  if (by == 1) return;
  Tensor& query = arguments.arrays.at("query");
  for (Index b = 0; b < shape.batch; ++b) {
    for (Index t = 0; t < shape.queries; ++t) {
      for (const Index h : heads) {
        const Index at = vector_at(shape.layout, b, t, h, shape.queries, shape.heads);
        for (float& x : query.as<float>().subspan(as_size(at * shape.dim), as_size(shape.dim))) {
          x = static_cast<float>(x * by);
        }
      }
    }
  }
}

/// Fits a scale to each of several groups of heads, on a few queries.
class ScaleFit {
 public:
  ScaleFit(const CallVariants& call, const SomeQueries& some, std::vector<Heads> groups)
      : call_(call),
        some_(some),
        groups_(std::move(groups)),
        shape_(shape_of_call(call.operation(), some.arguments())),
        group_of_(as_size(shape_.heads)) {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (const Index h : groups_[g]) group_of_[as_size(h)] = g;
    }
  }

  /// For each group the scale among declared * 2^(n/2) at which the output is nearest, improved by
  /// steps along the change of the output with the logarithm of the scale.
  std::vector<double> fitted(double declared) {
    constexpr int kSteps = 20;
    std::vector<double> best(groups_.size(), declared), least = distances(out_of(best));
    before_ = least;
    for (int n = -kSteps; n <= kSteps; ++n) {
      const std::vector<double> scales(groups_.size(), declared * std::exp2(n / 2.0));
      keep_better(scales, best, least);
    }
    constexpr int kRounds = 14;
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<double> last = least;
      step(best, least);
      bool better = false;
      for (std::size_t g = 0; g < least.size(); ++g) better |= last[g] - least[g] > 1e-4 * last[g];
      if (!better) break;
    }
    after_ = std::move(least);
    return best;
  }

  /// After fitted(): whether the fit lowered the distance of a group by more than noise can, as
  /// large as what the fit has left: a log-likelihood ratio beyond kDecisive.
  bool tells(std::size_t group) const {
    const double elements = static_cast<double>(
        some_.given().elements() * std::ssize(groups_[group]) / std::max<Index>(shape_.heads, 1));
    return (before_[group] - after_[group]) * elements > 2 * kDecisive * after_[group];
  }

 private:
  Tensor out_of(const std::vector<double>& scales) const {
    NamedArguments changed = some_.arguments();
    changed.options["softmax_scale"] = fmt::format("{:.17g}", scales[0]);
    for (std::size_t g = 1; g < groups_.size(); ++g) {
      multiply(changed, shape_, groups_[g], scales[g] / scales[0]);
    }
    return std::move(call_.run(changed).at("out"));
  }

  std::size_t group_at(std::size_t element) const {
    const Index row = static_cast<Index>(element) / some_.given().shape().back();
    return group_of_[as_size(shape_.layout == Layout::kBthd ? row % shape_.heads
                                                            : row / shape_.queries % shape_.heads)];
  }

  /// The sum of |given - other|^2 of each group, without elements that are not finite.
  std::vector<double> distances(const Tensor& other) const {
    std::vector<double> out(groups_.size(), 0);
    const auto a = some_.given().as<float>(), b = other.as<float>();
    for (std::size_t e = 0; e < a.size(); ++e) {
      const double apart = static_cast<double>(a[e]) - b[e];
      if (std::isfinite(apart)) out[group_at(e)] += apart * apart;
    }
    return out;
  }

  void keep_better(const std::vector<double>& scales, std::vector<double>& best,
                   std::vector<double>& least) const {
    const std::vector<double> distance = distances(out_of(scales));
    for (std::size_t g = 0; g < best.size(); ++g) {
      if (distance[g] < least[g]) least[g] = distance[g], best[g] = scales[g];
    }
  }

  /// One Gauss-Newton step of each group, halved where it does not come nearer.
  void step(std::vector<double>& best, std::vector<double>& least) const {
    constexpr double kStep = 0x1p-9, kLongest = 0.5;
    const std::vector<double> from = best;
    std::vector<double> beside = from;
    for (double& scale : beside) scale *= std::exp(kStep);
    const Tensor at = out_of(from), changed = out_of(beside);
    std::vector<double> along(groups_.size(), 0), squared(groups_.size(), 0);
    const auto x = at.as<float>(), y = changed.as<float>(), given = some_.given().as<float>();
    for (std::size_t e = 0; e < x.size(); ++e) {
      const double slope = (static_cast<double>(y[e]) - x[e]) / kStep;
      const double off = static_cast<double>(given[e]) - x[e];
      if (!std::isfinite(slope) || !std::isfinite(off)) continue;
      along[group_at(e)] += off * slope;
      squared[group_at(e)] += slope * slope;
    }
    for (int halved = 0; halved < 4; ++halved) {
      std::vector<double> scales = best;
      bool any = false;
      for (std::size_t g = 0; g < scales.size(); ++g) {
        if (squared[g] == 0 || best[g] != from[g]) continue;
        const double longest = std::clamp(along[g] / squared[g], -kLongest, kLongest);
        scales[g] = from[g] * std::exp(std::ldexp(longest, -halved));
        any = true;
      }
      if (!any) return;
      keep_better(scales, best, least);
    }
  }

  const CallVariants& call_;
  const SomeQueries& some_;
  std::vector<Heads> groups_;
  ProbeShape shape_;
  std::vector<std::size_t> group_of_;
  std::vector<double> before_, after_;  // the distances at the declared scale and at the fit
};

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

/// What the fits of scales begin with.
struct ScaledCall {
  SomeQueries some;
  ProbeShape shape;  // of the whole call
  double declared = 0;
};

/// Absent where no scale can be fitted.
std::optional<ScaledCall> scaled_call(const CallVariants& call, const NamedResults& declared,
                                      const NamedResults& given) {
  if (!call.operation().has("softmax_scale")) return {};
  auto some = SomeQueries::of(call, declared, given);
  if (!some) return {};
  const ProbeShape shape = shape_of_call(call.operation(), call.arguments());
  const auto& options = call.arguments().options;
  const auto option = options.find("softmax_scale");
  const auto written = option == options.end() ? std::nullopt : number_from<double>(option->second);
  const double scale =
      written.value_or(1 / std::sqrt(static_cast<double>(std::max<Index>(shape.dim, 1))));
  if (!(scale > 0)) return {};
  return ScaledCall{*std::move(some), shape, scale};
}

/// Fits that are no farther apart, relative to each other, are one scale.
constexpr double kOneScale = 1e-3;

/// No mistake: less than rounding of the inputs may fit.
bool is_declared(double scale, double declared) { return std::abs(scale / declared - 1) < 1e-3; }

/// A usual scale, where the fit is about one; otherwise the fit.
NamedScale named(double fit, const ScaledCall& call) {
  const auto dim = static_cast<double>(std::max<Index>(call.shape.dim, 1));
  for (NamedScale& usual : usual_scales(call.declared, dim)) {
    if (std::abs(fit / usual.value - 1) < kOneScale && !is_declared(usual.value, call.declared)) {
      return std::move(usual);
    }
  }
  return {fit, ""};
}

std::string number_text(const NamedScale& scale) {
  return scale.words.empty() ? fmt::format("{:.5g}", scale.value)
                             : fmt::format("{:.5g} ({})", scale.value, scale.words);
}

/// Heads whose scale is not the declared one, but about the same, and the scale of each.
struct OffHeads {
  NamedScale scale;
  Heads heads;
  std::vector<double> scales;
};

/// Puts heads with about the same scale together, the smallest scale first.
std::vector<OffHeads> together(std::vector<std::pair<double, Index>> fits, const ScaledCall& call) {
  std::ranges::sort(fits);
  std::vector<OffHeads> out;
  for (std::size_t from = 0, to = 0; from < fits.size(); from = to) {
    OffHeads one;
    double sum = 0;
    for (; to < fits.size() && fits[to].first / fits[from].first - 1 < kOneScale; ++to) {
      sum += fits[to].first;
      one.heads.push_back(fits[to].second);
      one.scales.push_back(fits[to].first);
    }
    one.scale = named(sum / static_cast<double>(one.heads.size()), call);
    if (!one.scale.words.empty()) std::ranges::fill(one.scales, one.scale.value);
    if (!is_declared(one.scale.value, call.declared)) out.push_back(std::move(one));
  }
  return out;
}

std::string heads_text(Heads heads) {
  std::ranges::sort(heads);
  constexpr std::size_t kMostRanges = 6;
  return range_words(ranges_of(heads), "head", "heads", kMostRanges);
}

/// "softmax_scale 0.1 in head 1 and 0.2 in heads 2-3, instead of 0.125".
std::string off_text(const std::vector<OffHeads>& off, double declared) {
  constexpr std::size_t kMostScales = 4;
  if (off.size() == 1) {
    return fmt::format("softmax_scale {} instead of {:.5g}", number_text(off[0].scale), declared);
  }
  if (off.size() > kMostScales) {
    Heads all;
    for (const OffHeads& one : off) all.insert(all.end(), one.heads.begin(), one.heads.end());
    return fmt::format("{} values of softmax_scale, {:.5g} to {:.5g}, in {}, instead of {:.5g}",
                       off.size(), off.front().scale.value, off.back().scale.value, heads_text(all),
                       declared);
  }
  std::string out;
  for (std::size_t n = 0; n < off.size(); ++n) {
    out += fmt::format("{}{} in {}",
                       n == 0                ? ""
                       : n + 1 == off.size() ? " and "
                                             : ", ",
                       number_text(off[n].scale), heads_text(off[n].heads));
  }
  return fmt::format("softmax_scale {}, instead of {:.5g}", out, declared);
}

}  // namespace

Candidates of_scales(const std::shared_ptr<const CallVariants>& call, const NamedResults& declared,
                     const NamedResults& given) {
  const auto scaled = scaled_call(*call, declared, given);
  if (!scaled) return {};
  Heads all(as_size(scaled->shape.heads));
  std::iota(all.begin(), all.end(), 0);
  const double fit = ScaleFit(*call, scaled->some, {all}).fitted(scaled->declared)[0];
  const NamedScale scale = named(fit, *scaled);
  if (is_declared(scale.value, scaled->declared)) return {};
  return {with_arguments(call, off_text({{scale, all, {}}}, scaled->declared), {},
                         [value = scale.value](NamedArguments& arguments) {
                           arguments.options["softmax_scale"] = fmt::format("{:.17g}", value);
                         })};
}

Candidates of_head_scales(const std::shared_ptr<const CallVariants>& call,
                          const NamedResults& declared, const NamedResults& given) {
  constexpr Index kLeastRows = 8;  // of a head: one number explains fewer easily
  const auto scaled = scaled_call(*call, declared, given);
  if (!scaled) return {};
  const ProbeShape& shape = scaled->shape;
  if (shape.heads < 2 || shape.batch * shape.queries < kLeastRows) return {};
  std::vector<Heads> each;
  for (Index h = 0; h < shape.heads; ++h) each.push_back({h});
  ScaleFit fit(*call, scaled->some, each);
  const std::vector<double> scales = fit.fitted(scaled->declared);
  std::vector<std::pair<double, Index>> told;
  for (Index h = 0; h < shape.heads; ++h) {
    if (fit.tells(as_size(h))) told.emplace_back(scales[as_size(h)], h);
  }
  const std::vector<OffHeads> off = together(std::move(told), *scaled);
  if (off.empty()) return {};
  return {with_arguments(call, off_text(off, scaled->declared), {},
                         [off, shape, was = scaled->declared](NamedArguments& arguments) {
                           for (const OffHeads& one : off) {
                             for (std::size_t n = 0; n < one.heads.size(); ++n) {
                               multiply(arguments, shape, {one.heads[n]}, one.scales[n] / was);
                             }
                           }
                         })};
}

}  // namespace maskctl::attention
