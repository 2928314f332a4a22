#include "maskctl/verify/merge_mistakes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <set>
#include <utility>

#include "maskctl/verify/merged.h"

namespace maskctl::attention {
namespace {

constexpr double kNoKeys = -std::numeric_limits<double>::infinity();

double largest(RowLses lses) { return *std::ranges::max_element(lses); }

/// Weighs the parts as they are merged one after another.
void softmax_weights(RowLses lses, std::span<double> weights) {
  const PartFactors factors = softmax_factors();
  double merged = kNoKeys, most = kNoKeys;
  for (std::size_t p = 0; p < lses.size(); ++p) {
    const auto [before, own] = factors(merged, lses[p]);
    for (double& weight : weights.first(p)) weight *= before;
    weights[p] = own;
    most = std::max(most, lses[p]);
    // The part with the largest lse has a weight that is no less than 1 / parts.
    const double heaviest = *std::ranges::max_element(weights.first(p + 1));
    merged = heaviest > 0 ? most - std::log(heaviest) : kNoKeys;
  }
}

double log_sum(RowLses lses) {
  std::vector<double> weights(lses.size());
  softmax_weights(lses, weights);
  const double heaviest = *std::ranges::max_element(weights);
  return heaviest > 0 ? largest(lses) - std::log(heaviest) : kNoKeys;
}

std::vector<double> scaled(RowLses lses, double factor) {
  std::vector<double> out(lses.begin(), lses.end());
  for (double& lse : out) lse *= factor;
  return out;
}

std::vector<double> without(RowLses lses, std::size_t part) {
  std::vector<double> out(lses.begin(), lses.end());
  out[part] = kNoKeys;
  return out;
}

std::vector<double> only(RowLses lses, std::size_t part) {
  std::vector<double> out(lses.size(), kNoKeys);
  out[part] = lses[part];
  return out;
}

std::vector<double> twice(RowLses lses, std::size_t part) {
  std::vector<double> out(lses.begin(), lses.end());
  out[part] += std::numbers::ln2;
  return out;
}

/// The softmax in float32 without the maximum, which overflows and underflows.
void plain_weights(RowLses lses, std::span<double> weights) {
  float sum = 0;
  for (std::size_t p = 0; p < lses.size(); ++p) {
    const float power = std::exp(static_cast<float>(lses[p]));
    weights[p] = power;
    sum += power;
  }
  for (double& weight : weights) weight = static_cast<float>(weight) / sum;
}

/// The weights of a merge of each part with those before it, whose lse is taken to be `carried(p)`.
template <typename Carried>
void weights_after(RowLses lses, std::span<double> weights, Carried carried) {
  const PartFactors factors = softmax_factors();
  weights[0] = std::isinf(lses[0]) ? 0 : 1;
  for (std::size_t p = 1; p < lses.size(); ++p) {
    const auto [before, own] = factors(carried(p), lses[p]);
    for (double& weight : weights.first(p)) weight *= before;
    weights[p] = own;
  }
}

struct Permutation {
  std::string text;
  std::vector<std::size_t> order;  // part p has the weight of part order[p]
};

/// Permutations that a kernel may apply to the weights of the parts by mistake.
std::vector<Permutation> permutations(std::size_t parts) {
  std::vector<std::size_t> own(parts);
  std::iota(own.begin(), own.end(), 0);
  std::vector<Permutation> all;
  constexpr std::size_t kMostSwapped = 16;  // there are parts * parts / 2 swaps
  for (std::size_t i = 0; i < parts && parts <= kMostSwapped; ++i) {
    for (std::size_t j = i + 1; j < parts; ++j) {
      all.push_back({fmt::format("the weights of parts {} and {} swapped", i, j), own});
      std::swap(all.back().order[i], all.back().order[j]);
    }
  }
  all.push_back({"the weights in reverse order", {own.rbegin(), own.rend()}});
  all.push_back({"each part weighed by the next one's weight", own});
  std::ranges::rotate(all.back().order, all.back().order.begin() + 1);
  all.push_back({"each part weighed by the weight of the one before", own});
  std::ranges::rotate(all.back().order, all.back().order.end() - 1);
  std::set<std::vector<std::size_t>> seen;
  std::erase_if(all, [&seen](const Permutation& one) { return !seen.insert(one.order).second; });
  return all;
}

/// A rule that gives every part the same weight in all rows.
WeightRule fixed(std::string text, double weight) {
  return {std::move(text),
          [weight](RowLses, std::span<double> out) { std::ranges::fill(out, weight); }};
}

/// The softmax of other lse.
template <typename Change>
WeightRule softmax_of(std::string text, Change change) {
  return {std::move(text), [change](RowLses lses, std::span<double> weights) {
            softmax_weights(change(lses), weights);
          }};
}

/// Changed after the softmax.
template <typename Change>
WeightRule softmax_then(std::string text, Change change) {
  return {std::move(text), [change](RowLses lses, std::span<double> weights) {
            softmax_weights(lses, weights);
            change(lses, weights);
          }};
}

void add_bases(bool base_2, std::vector<WeightRule>& out) {
  const char* const low = base_2 ? "powers of 2 of an lse that was converted to base e"
                                 : "powers of 2 of an lse to base e";
  const char* const high = base_2 ? "powers of e of an lse to base 2"
                                  : "powers of e of an lse that was converted to base 2";
  out.push_back(softmax_of(fmt::format("weights that are {}", low),
                           [](RowLses lses) { return scaled(lses, std::numbers::ln2); }));
  out.push_back(softmax_of(fmt::format("weights that are {}", high),
                           [](RowLses lses) { return scaled(lses, std::numbers::log2e); }));
}

void add_unnormalised(std::vector<WeightRule>& out) {
  out.push_back({"weights exp(lse - largest lse), not divided by their sum",
                 [](RowLses lses, std::span<double> weights) {
                   const double most = largest(lses);
                   for (std::size_t p = 0; p < lses.size(); ++p) {
                     weights[p] = std::isinf(most) ? 0 : std::exp(lses[p] - most);
                   }
                 }});
  out.push_back(
      {"weights exp(lse), not divided by their sum", [](RowLses lses, std::span<double> weights) {
         for (std::size_t p = 0; p < lses.size(); ++p) weights[p] = std::exp(lses[p]);
       }});
  out.push_back({"exp(lse) in float32 without the largest lse subtracted, which overflows or is 0",
                 plain_weights, LseRows::kOwn, true});
}

void add_equal(Index parts, std::vector<WeightRule>& out) {
  out.push_back(fixed("equal weights", 1 / static_cast<double>(parts)));
  out.push_back(
      {"equal weights of the parts that have keys", [](RowLses lses, std::span<double> weights) {
         const auto is_empty = [](double lse) { return lse == kNoKeys; };
         const auto full = static_cast<double>(lses.size()) -
                           static_cast<double>(std::ranges::count_if(lses, is_empty));
         for (std::size_t p = 0; p < lses.size(); ++p) {
           weights[p] = is_empty(lses[p]) ? 0 : 1 / full;
         }
       }});
  out.push_back(fixed("a sum without weights", 1));
  out.push_back(fixed("zeros, so that nothing was merged", 0));
  out.push_back(
      {"the part with the largest lse alone", [](RowLses lses, std::span<double> weights) {
         std::ranges::fill(weights, 0);
         const auto most = std::ranges::max_element(lses) - lses.begin();
         if (lses[static_cast<std::size_t>(most)] != kNoKeys) {
           weights[static_cast<std::size_t>(most)] = 1;
         }
       }});
  out.push_back({"weights in proportion to the lse, not to exp(lse)",
                 [](RowLses lses, std::span<double> weights) {
                   double sum = 0;
                   for (std::size_t p = 0; p < lses.size(); ++p) {
                     weights[p] = lses[p] == kNoKeys ? 0 : lses[p];
                     sum += weights[p];
                   }
                   for (double& weight : weights) weight = sum == 0 ? 0 : weight / sum;
                 }});
}

void add_parts(std::size_t parts, std::vector<WeightRule>& out) {
  for (std::size_t i = 0; i < parts; ++i) {
    out.push_back(softmax_of(fmt::format("part {} left out", i),
                             [i](RowLses lses) { return without(lses, i); }));
    out.push_back(softmax_of(fmt::format("part {} merged twice", i),
                             [i](RowLses lses) { return twice(lses, i); }));
    out.push_back(softmax_then(fmt::format("part {} weighed, but not added", i),
                               [i](RowLses, std::span<double> weights) { weights[i] = 0; }));
    out.push_back(softmax_then(fmt::format("part {} weighed once, but added twice", i),
                               [i](RowLses, std::span<double> weights) { weights[i] *= 2; }));
    if (parts == 2) continue;
    out.push_back(
        softmax_of(fmt::format("part {} alone", i), [i](RowLses lses) { return only(lses, i); }));
  }
}

void add_sequences(std::size_t parts, std::vector<WeightRule>& out) {
  if (parts < 3) return;
  out.push_back({"merges one after another in which the lse of part 0 is kept",
                 [](RowLses lses, std::span<double> weights) {
                   weights_after(lses, weights, [lses](std::size_t) { return lses[0]; });
                 }});
  out.push_back({"merges one after another in which the lse is that of the last part",
                 [](RowLses lses, std::span<double> weights) {
                   weights_after(lses, weights, [lses](std::size_t p) { return lses[p - 1]; });
                 }});
}

/// A rule whose lse is that of the merge after `change` has changed the lse of the parts, in units
/// of `unit`.
template <typename Change>
LseRule lse_of(std::string text, double unit, Change change) {
  return {std::move(text), [unit, change](RowLses lses) { return log_sum(change(lses)) / unit; }};
}

/// Adds the rules that leave out, double or single out one part.
void add_lse_parts(std::size_t parts, double unit, std::vector<LseRule>& out) {
  for (std::size_t i = 0; i < parts; ++i) {
    out.push_back(lse_of(fmt::format("part {} left out", i), unit,
                         [i](RowLses lses) { return without(lses, i); }));
    out.push_back(lse_of(fmt::format("part {} counted twice", i), unit,
                         [i](RowLses lses) { return twice(lses, i); }));
    if (parts == 2) continue;
    out.push_back(lse_of(fmt::format("the lse of part {} alone", i), unit,
                         [i](RowLses lses) { return only(lses, i); }));
  }
}

void add_lse_bases(bool base_2, std::vector<LseRule>& out) {
  // An lse to base 2 that is read as one to base e is too large by the factor 1 / ln 2; an lse to
  // base e that is read as one to base 2 is too small by the factor ln 2.
  const double read = base_2 ? std::numbers::log2e : std::numbers::ln2;
  const auto misread = [read](RowLses lses) { return log_sum(scaled(lses, read)); };
  constexpr double kLn2 = std::numbers::ln2;
  if (base_2) {
    out.push_back({"the lse to base e", log_sum});
    out.push_back({"ln of the sum of powers of e", misread});
    out.push_back({"log2 of the sum of powers of e",
                   [misread](RowLses lses) { return misread(lses) / kLn2; }});
  } else {
    out.push_back({"the lse to base 2", [](RowLses lses) { return log_sum(lses) / kLn2; }});
    out.push_back({"log2 of the sum of powers of 2",
                   [misread](RowLses lses) { return misread(lses) / kLn2; }});
    out.push_back({"ln of the sum of powers of 2", misread});
  }
}

void add_lse_sums(double unit, std::vector<LseRule>& out) {
  const auto sum = [](RowLses lses) { return std::accumulate(lses.begin(), lses.end(), 0.0); };
  out.push_back({"the largest lse", [unit](RowLses lses) { return largest(lses) / unit; }});
  out.push_back({"the sum of the lse", [sum, unit](RowLses lses) { return sum(lses) / unit; }});
  out.push_back({"the mean of the lse", [sum, unit](RowLses lses) {
                   return sum(lses) / unit / static_cast<double>(lses.size());
                 }});
  out.push_back({"every part counted twice",
                 [unit](RowLses lses) { return (log_sum(lses) + std::numbers::ln2) / unit; }});
  out.push_back({"the sum divided by the number of parts", [unit](RowLses lses) {
                   return (log_sum(lses) - std::log(static_cast<double>(lses.size()))) / unit;
                 }});
  out.push_back(
      {"the sum without its logarithm", [](RowLses lses) { return std::exp(log_sum(lses)); }});
  out.push_back({"the largest lse not added back", [unit](RowLses lses) {
                   const double most = largest(lses);
                   return std::isinf(most) ? kNoKeys : (log_sum(lses) - most) / unit;
                 }});
  out.push_back({"zeros, so that nothing was merged", [](RowLses) { return 0.0; }});
  out.push_back({"exp(lse) in float32 without the largest lse subtracted, which overflows or is 0",
                 [unit](RowLses lses) {
                   float all = 0;
                   for (const double lse : lses) all += std::exp(static_cast<float>(lse));
                   return static_cast<double>(std::log(all)) / unit;
                 },
                 LseRows::kOwn, true});
}

}  // namespace

std::vector<WeightRule> weight_rules(Index parts, bool base_2) {
  const std::size_t count = as_size(parts);
  std::vector<WeightRule> out{{"the right weights", softmax_weights}};
  add_bases(base_2, out);
  add_equal(parts, out);
  for (const Permutation& one : permutations(count)) {
    out.push_back(softmax_then(one.text, [order = one.order](RowLses, std::span<double> weights) {
      const std::vector<double> own(weights.begin(), weights.end());
      for (std::size_t p = 0; p < own.size(); ++p) weights[p] = own[order[p]];
    }));
  }
  add_parts(count, out);
  add_unnormalised(out);
  add_sequences(count, out);
  out.push_back({"weights from an lse [B,H,T] that was read as [B,T,H]", softmax_weights,
                 LseRows::kReadAsBth});
  return out;
}

std::vector<LseRule> lse_rules(Index parts, bool base_2) {
  const double unit = base_2 ? std::numbers::ln2 : 1;
  std::vector<LseRule> out{
      {"the right lse", [unit](RowLses lses) { return log_sum(lses) / unit; }}};
  add_lse_bases(base_2, out);
  add_lse_sums(unit, out);
  add_lse_parts(as_size(parts), unit, out);
  out.push_back({"an lse [B,H,T] that was read as [B,T,H]", out.front().lse, LseRows::kReadAsBth});
  out.push_back(
      {"an lse [B,H,T] that was written as [B,T,H]", out.front().lse, LseRows::kWrittenAsBth});
  return out;
}

std::vector<EmptyRule> empty_rules_of_out() {
  return {
      {"rows without keys as they should be"},
      {"NaN where no part has keys (inf - inf)", true},
      {"the output of a part without keys multiplied by 0, which keeps its NaN", false, true},
      {"NaN where no part has keys (inf - inf), and the output of a part without keys multiplied "
       "by 0, which keeps its NaN",
       true, true},
      {"NaN where the lse of a part is +inf", false, false, true}};
}

std::vector<EmptyRule> empty_rules_of_lse() {
  constexpr double kUnset = std::numeric_limits<double>::quiet_NaN();
  constexpr double kAbove = std::numeric_limits<double>::infinity();
  return {{"rows without keys as they should be"},
          {"NaN where no part has keys (inf - inf)", true, false, false, kUnset},
          {"0 instead of -inf where no part has keys", true, false, false, 0},
          {"+inf instead of -inf where no part has keys", true, false, false, kAbove},
          {"NaN where the lse of a part is +inf", false, false, true, kUnset},
          {"+inf where the lse of a part is +inf", false, false, true, kAbove}};
}

}  // namespace maskctl::attention
