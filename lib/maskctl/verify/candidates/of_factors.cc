// Candidates whose outputs are the declared ones times factors, or whose lse is the declared one
// plus a number.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/grouped.h"
#include "maskctl/base/text.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/verify/candidates/fitted.h"
#include "maskctl/verify/key_side.h"
#include "maskctl/verify/merged.h"
#include "maskctl/verify/rounding.h"

namespace maskctl::attention {
namespace {

constexpr Index kLeastProportional =
    8;  // of a row: fewer elements are easily proportional by chance

/// For each row of `declared`, the factor that brings the row nearest to `given`; 1 for a row of
/// zeros.
std::vector<double> row_factors(std::span<const float> given, std::span<const float> declared,
                                Index length) {
  std::vector<double> out;
  for (std::size_t from = 0; from < given.size(); from += as_size(length)) {
    double along = 0, squared = 0;
    for (std::size_t e = from; e < from + as_size(length); ++e) {
      const double a = given[e], d = declared[e];
      if (!std::isfinite(a) || !std::isfinite(d)) continue;
      along += a * d;
      squared += d * d;
    }
    out.push_back(squared > 0 ? along / squared : 1);
  }
  return out;
}

/// The declared results with the rows of one of them multiplied.
Candidate scaled(const NamedResults& declared, const std::string& name, std::vector<double> factors,
                 std::string text) {
  return {std::move(text), {}, [declared, name, factors = std::move(factors)] {
            NamedResults changed = declared;
            const auto values = changed.at(name).as<float>();
            const std::size_t length = values.size() / factors.size();
            for (std::size_t e = 0; e < values.size(); ++e) {
              values[e] = static_cast<float>(values[e] * factors[e / length]);
            }
            return changed;
          }};
}

void add_lse_shift(const std::shared_ptr<const CallVariants>& call, const NamedResults& declared,
                   const Tensor& lse, Candidates& out) {
  const Tensor given = astype(lse, DType::kFloat32);
  std::vector<double> apart;
  for (std::size_t n = 0; n < given.as<float>().size(); ++n) {
    const double by = static_cast<double>(given.as<float>()[n]) - declared.at("lse").as<float>()[n];
    if (std::isfinite(by)) apart.push_back(by);
  }
  const double shift = median(std::move(apart));
  if (shift == 0) return;
  out.push_back({fmt::format("lse {} by {:.5g}", shift > 0 ? "larger" : "smaller", std::abs(shift)),
                 {},
                 [call, shift] {
                   NamedResults results = call->declared();
                   for (float& x : results.at("lse").as<float>()) {
                     x = static_cast<float>(x + shift);
                   }
                   return results;
                 }});
}

/// ", which is ...", where the factor of an lse is one that kernels work with; else "".
std::string factor_words(const CallVariants& call, double by) {
  constexpr double kClose = 1e-3;
  const double dim = static_cast<double>(shape_of_call(call.operation(), call.arguments()).dim);
  const auto option = call.arguments().options.find("softmax_scale");
  const std::optional<double> given =
      option == call.arguments().options.end() ? std::nullopt : number_from<double>(option->second);
  const double scale = given.value_or(1 / std::sqrt(dim));
  const struct {
    double value;
    std::string_view words;
  } known[] = {{scale, "the scale"},
               {1 / scale, "1 / the scale"},
               {scale * std::numbers::log2e, "the scale / ln 2: to base 2"},
               {std::numbers::log2e / scale, "1 / (the scale times ln 2): to base 2"}};
  for (const auto& one : known) {
    if (std::abs(by / one.value - 1) < kClose) return fmt::format(", which is {}", one.words);
  }
  return "";
}

/// The lse times one factor, as by the scale or in another base; those to base 2 are told
/// elsewhere (of_lse()).
void add_lse_factor(const std::shared_ptr<const CallVariants>& call, const NamedResults& declared,
                    const Tensor& lse, Candidates& out) {
  constexpr double kClose = 1e-3, kChanged = 0.02;
  const Tensor given = astype(lse, DType::kFloat32);
  const std::span<const float> wanted = declared.at("lse").as<float>();
  std::vector<double> factors;
  for (std::size_t n = 0; n < wanted.size(); ++n) {
    const double factor = static_cast<double>(given.as<float>()[n]) / wanted[n];
    if (std::isfinite(factor)) factors.push_back(factor);
  }
  if (factors.empty()) return;
  const double by = median(std::move(factors));
  const auto is = [by](double other) { return std::abs(by / other - 1) < kClose; };
  if (std::abs(by - 1) < kChanged || is(std::numbers::ln2) || is(std::numbers::log2e)) return;
  out.push_back({fmt::format("lse times {:.4g}{}", by, factor_words(*call, by)), {}, [call, by] {
                   NamedResults results = call->declared();
                   for (float& x : results.at("lse").as<float>()) {
                     if (std::isfinite(x)) x = static_cast<float>(x * by);
                   }
                   return results;
                 }});
}

/// Another lse than minus infinity in the rows without a key, the same in all of them.
void add_lse_of_empty_rows(const std::shared_ptr<const CallVariants>& call,
                           const NamedResults& declared, const Tensor& lse, Candidates& out) {
  const Tensor given = astype(lse, DType::kFloat32);
  const std::span<const float> wanted = declared.at("lse").as<float>();
  std::optional<float> value;
  for (std::size_t n = 0; n < wanted.size(); ++n) {
    if (!(std::isinf(wanted[n]) && wanted[n] < 0)) continue;
    const float seen = given.as<float>()[n];
    const bool same = !value || seen == *value || (std::isnan(seen) && std::isnan(*value));
    if (!same) return;
    value = seen;
  }
  if (!value || (std::isinf(*value) && *value < 0)) return;
  out.push_back({fmt::format("an lse of {} instead of minus infinity in rows without a key",
                             std::isnan(*value) ? "NaN" : fmt::format("{:.6g}", *value)),
                 {},
                 [call, by = *value] {
                   NamedResults results = call->declared();
                   for (float& x : results.at("lse").as<float>()) {
                     if (std::isinf(x) && x < 0) x = by;
                   }
                   return results;
                 }});
}

/// The factors that differ from 1 by more than kChanged.
std::vector<double> changed_factors(const std::vector<double>& factors) {
  constexpr double kChanged = 0.02;
  std::vector<double> out;
  for (const double factor : factors) {
    if (std::abs(factor - 1) > kChanged) out.push_back(factor);
  }
  return out;
}

/// The factors of all rows of a given result; empty if there is no such result, or if its rows are
/// too short.
std::vector<double> factors_of(const std::string& name, const NamedResults& declared,
                               const NamedResults& given) {
  const auto found = given.find(name);
  if (found == given.end() || !is_floating(found->second.dtype())) return {};
  const Tensor& wanted = declared.at(name);
  const Index length = wanted.rank() == 0 ? 0 : wanted.shape().back();
  const bool can =
      length >= kLeastProportional && wanted.elements() > 0 && wanted.dtype() == DType::kFloat32;
  if (!can) return {};
  const Tensor seen = astype(found->second, DType::kFloat32);
  return row_factors(seen.as<float>(), wanted.as<float>(), length);
}

/// How many slots of logit 0 and value 0 explain the factors of most rows: a row is multiplied by
/// 1 / (1 + n exp(-lse)).
double slots_of(const CallVariants& call, const std::vector<double>& factors, const Tensor& lse) {
  std::vector<double> counts;
  for (Index n = 0; n < lse.elements(); ++n) {
    const double factor = factors[as_size(out_row(call, lse, n))];
    const double sum = std::exp(static_cast<double>(lse.as<float>()[as_size(n)]));
    if (factor > 0 && factor < 1 && sum > 0) counts.push_back((1 / factor - 1) * sum);
  }
  return std::nearbyint(median(std::move(counts)));
}

}  // namespace

Candidates of_slots(const std::shared_ptr<const CallVariants>& call, const NamedResults& declared,
                    const NamedResults& given) {
  if (call->gradients() || !can_merge(declared)) return {};
  const std::vector<double> factors = factors_of("out", declared, given);
  if (factors.empty()) return {};
  const double slots = slots_of(*call, factors, declared.at("lse"));
  if (!(slots >= 1)) return {};
  return {{fmt::format("{} of logit 0 and value 0 in the denominator, as of empty slots",
                       counted(static_cast<Index>(slots), "key")),
           {},
           [call, declared, slots] {
             NamedResults none = declared;
             for (float& x : none.at("out").as<float>()) x = 0;
             for (float& x : none.at("lse").as<float>()) x = static_cast<float>(std::log(slots));
             return merged(*call, declared, none, softmax_factors());
           }}};
}

Candidates of_one_factor(const std::shared_ptr<const CallVariants>& call,
                         const NamedResults& declared, const NamedResults& given) {
  Candidates out;
  for (const auto& [name, array] : given) {
    if (name == "lse") {
      if (!is_floating(array.dtype())) continue;
      add_lse_shift(call, declared, array, out);
      add_lse_factor(call, declared, array, out);
      add_lse_of_empty_rows(call, declared, array, out);
      continue;
    }
    const std::vector<double> factors = factors_of(name, declared, given);
    const std::vector<double> changed = changed_factors(factors);
    if (changed.empty()) continue;
    const double usual = median(changed);
    out.push_back(scaled(
        declared, name, std::vector<double>(factors.size(), usual),
        fmt::format("the declared {} times {:.3g}", name == "out" ? "output" : name, usual)));
  }
  return out;
}

Candidates of_row_factors(const std::shared_ptr<const CallVariants>& call,
                          const NamedResults& declared, const NamedResults& given) {
  if (call->gradients()) return {};
  std::vector<double> factors = factors_of("out", declared, given);
  const std::vector<double> changed = changed_factors(factors);
  if (changed.empty()) return {};
  const auto [least, most] = std::ranges::minmax(changed);
  Candidate out = scaled(declared, "out", std::move(factors),
                         fmt::format("the declared output, each row times a number of its own, "
                                     "{:.3g} to {:.3g}, as another denominator makes it",
                                     least, most));
  out.explains_noise = true;
  return {std::move(out)};
}

}  // namespace maskctl::attention
