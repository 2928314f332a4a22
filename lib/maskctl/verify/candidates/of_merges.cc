// Two ranges of keys whose results were merged by wrong weights.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "maskctl/mask/leaves.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/verify/candidates/fitted.h"
#include "maskctl/verify/candidates/merge.h"
#include "maskctl/verify/candidates/some_queries.h"

namespace maskctl::attention {
namespace {

constexpr Index kLeastFitted = 16;  // of a row, from which two weights are fitted

/// Where a kernel may cut `keys` keys in two.
std::set<Index> cuts_of(Index keys) {
  std::set<Index> out;
  for (const Index parts : {2, 3, 4, 8}) {
    for (const Index n : {Index{1}, parts - 1}) out.insert(keys * n / parts);
  }
  for (Index block = 16; block < keys; block *= 2) {
    out.insert(block);
    out.insert((keys - 1) / block * block);
  }
  std::erase_if(out, [keys](Index cut) { return cut <= 0 || cut >= keys; });
  return out;
}

NamedResults over_keys(const CallVariants& call, NamedArguments arguments, Range keys,
                       bool with_sinks) {
  const Mask& mask = *arguments.mask;
  const Mask only(key_ranges(mask.queries(), mask.keys(), std::vector<Range>{keys}));
  arguments.mask = zip(Op::kAnd, mask, only);
  if (!with_sinks) arguments.arrays.erase("softmax_aux");
  if (!arguments.arrays.contains("softmax_aux")) arguments.options["empty_row"] = "zero";
  return call.run(arguments);
}

/// The weights by which each row of `given` is nearest to a sum of two rows, and the squared
/// distance that is left.
struct Weights {
  std::vector<std::pair<double, double>> rows;
  double left = 0;
};

Weights fitted_weights(std::span<const float> given, std::span<const float> first,
                       std::span<const float> second, Index length) {
  Weights out;
  for (std::size_t from = 0; from < given.size(); from += as_size(length)) {
    double aa = 0, ab = 0, bb = 0, ag = 0, bg = 0, gg = 0;
    for (std::size_t e = from; e < from + as_size(length); ++e) {
      const double a = first[e], b = second[e], g = given[e];
      if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(g)) continue;
      aa += a * a, ab += a * b, bb += b * b, ag += a * g, bg += b * g, gg += g * g;
    }
    const double determinant = aa * bb - ab * ab;
    double f = aa > 0 ? ag / aa : 0, g = 0;
    if (determinant > 1e-9 * aa * bb) {
      f = (ag * bb - bg * ab) / determinant;
      g = (bg * aa - ag * ab) / determinant;
    } else if (aa == 0 && bb > 0) {
      g = bg / bb;
    }
    out.rows.emplace_back(f, g);
    out.left +=
        std::max(0.0, gg - 2 * (f * ag + g * bg) + f * f * aa + 2 * f * g * ab + g * g * bb);
  }
  return out;
}

struct NamedFactors {
  const char* text;
  PartFactors factors;
};

std::vector<NamedFactors> usual_mistakes() {
  const PartFactors right = softmax_factors();
  return {
      {"by equal weights",
       [](double, double) {
         return std::pair{0.5, 0.5};
       }},
      {"as a sum, without weights",
       [](double, double) {
         return std::pair{1.0, 1.0};
       }},
      {"by the weights of the other part",
       [right](double a, double b) {
         const auto [f, g] = right(a, b);
         return std::pair{g, f};
       }},
      {"by powers of 2 of an lse to base e",
       [right](double a, double b) { return right(a * std::numbers::ln2, b * std::numbers::ln2); }},
      {"by powers of e of an lse to base 2", [right](double a, double b) {
         return right(a * std::numbers::log2e, b * std::numbers::log2e);
       }}};
}

/// What a kernel may have done with two ranges of keys that meet at `cut`.
class CutKeys {
 public:
  CutKeys(std::shared_ptr<const CallVariants> call, Index cut)
      : call_(std::move(call)), cut_(cut), keys_(call_->mask()->keys()) {}

  Candidate only(bool first) const {
    const Range lost = first ? Range{cut_, keys_} : Range{0, cut_};
    const Mask& mask = *call_->mask();
    Mask other =
        zip(Op::kSub, mask, Mask(key_ranges(mask.queries(), keys_, std::vector<Range>{lost})));
    return {fmt::format("keys {}-{} not read", lost.begin, lost.end - 1), other,
            [call = call_, other] { return call->under(other); }};
  }

  Candidate merged_by(const NamedFactors& mistake) const {
    return {text(mistake.text), {}, [self = *this, factors = mistake.factors] {
              return self.merged_results(self.call_->arguments(), factors);
            }};
  }
  NamedResults merged_results(const NamedArguments& arguments, const PartFactors& factors) const {
    NamedResults results = merged(*call_, over_keys(*call_, arguments, {0, cut_}, true),
                                  over_keys(*call_, arguments, {cut_, keys_}, false), factors);
    results.erase("lse");
    return results;
  }

  /// By the weights that fit each row of `given` best.
  Candidate fitted(const Tensor& given) const {
    return {text("by other weights than the softmax's"), {}, [self = *this, given] {
              const NamedArguments& all = self.call_->arguments();
              Tensor sum = over_keys(*self.call_, all, {0, self.cut_}, true).at("out");
              const Tensor second =
                  over_keys(*self.call_, all, {self.cut_, self.keys_}, false).at("out");
              const auto x = sum.as<float>();
              const auto y = second.as<float>();
              const Index length = sum.shape().back();
              const Weights weights = fitted_weights(given.as<float>(), x, y, length);
              for (std::size_t e = 0; e < x.size(); ++e) {
                const auto [f, g] = weights.rows[e / as_size(length)];
                x[e] = static_cast<float>(f * x[e] + g * y[e]);
              }
              return NamedResults{{"out", std::move(sum)}};
            }};
  }

 private:
  std::string text(const char* how) const {
    return fmt::format("keys 0-{} and {}-{} merged {}", cut_ - 1, cut_, keys_ - 1, how);
  }

  std::shared_ptr<const CallVariants> call_;
  Index cut_, keys_;
};

/// The cut between two ranges of keys that explains most, where each row has weights of its own.
struct FoundCut {
  SomeQueries some;
  Index cut = 0;
};

std::optional<FoundCut> found_cut(const CallVariants& call, const NamedResults& declared,
                                  const NamedResults& given) {
  auto some = SomeQueries::of(call, declared, given);
  if (!some || !can_merge(declared)) return {};
  const Index length = some->given().shape().back();
  if (length < kLeastFitted) return {};
  const Index keys = some->arguments().mask->keys();
  const double before = some->distance(some->declared());
  Index best = 0;
  double least = before;
  for (const Index cut : cuts_of(keys)) {
    const NamedResults first = over_keys(call, some->arguments(), {0, cut}, true);
    const NamedResults second = over_keys(call, some->arguments(), {cut, keys}, false);
    const Weights weights = fitted_weights(some->given().as<float>(), first.at("out").as<float>(),
                                           second.at("out").as<float>(), length);
    if (weights.left < least) least = weights.left, best = cut;
  }
  // Two numbers for each row explain a part of any difference.
  constexpr double kLeft = 1e-2;
  if (best == 0 || least > kLeft * before) return {};
  return FoundCut{*std::move(some), best};
}

}  // namespace

Candidates of_merges(const std::shared_ptr<const CallVariants>& call, const NamedResults& declared,
                     const NamedResults& given) {
  const auto found = found_cut(*call, declared, given);
  if (!found) return {};
  constexpr double kExplained = 1e-2;
  const double before = found->some.distance(found->some.declared());
  const CutKeys keys(call, found->cut);
  const auto explains = [&](const PartFactors& factors) {
    const NamedResults results = keys.merged_results(found->some.arguments(), factors);
    return found->some.distance_in_part(results.at("out")) <= kExplained * before;
  };
  Candidates out;
  if (explains([](double, double) { return std::pair{1.0, 0.0}; })) out.push_back(keys.only(true));
  if (explains([](double, double) { return std::pair{0.0, 1.0}; })) out.push_back(keys.only(false));
  for (const NamedFactors& mistake : usual_mistakes()) {
    if (explains(mistake.factors)) out.push_back(keys.merged_by(mistake));
  }
  return out;
}

Candidates of_row_merges(const std::shared_ptr<const CallVariants>& call,
                         const NamedResults& declared, const NamedResults& given) {
  const auto found = found_cut(*call, declared, given);
  if (!found) return {};
  return {CutKeys(call, found->cut).fitted(astype(given.at("out"), DType::kFloat32))};
}

}  // namespace maskctl::attention
