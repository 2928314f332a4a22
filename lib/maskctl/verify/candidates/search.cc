// Tries candidates on results that were made elsewhere: verify_given() and judge_results().
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/recognise/moved_borders.h"
#include "maskctl/inspect/recognise/neighbours.h"
#include "maskctl/verify/candidates/fitted.h"
#include "maskctl/verify/candidates/of_call.h"
#include "maskctl/verify/candidates/of_mask.h"
#include "maskctl/verify/candidates/trial.h"
#include "maskctl/verify/key_side.h"
#include "maskctl/verify/rounding.h"
#include "maskctl/verify/verdict.h"

namespace maskctl::attention {

GivenReport verify_given(const VerifyRequest& request, const NamedResults& given,
                         std::span<const Neighbour> alternatives) {
  Trial trial(request, given);
  trial.add(of_masks(trial.call(), alternatives));
  trial.add(of_readings(trial.call()));
  return {trial.checks(), trial.judge()};
}

namespace {

/// The keys of a call whose key or value holds NaN, as "keys 0-30"; empty if there are none.
std::string nan_keys(const Operation& operation, const NamedArguments& arguments) {
  if (!arguments.arrays.contains("key") || !arguments.arrays.contains("query")) return "";
  const ProbeShape shape = shape_of_call(operation, arguments);
  std::set<Index> keys;
  for (const char* name : {"key", "value"}) {
    const auto found = arguments.arrays.find(name);
    if (found == arguments.arrays.end() || !is_floating(found->second.dtype())) continue;
    const std::vector<double> values = doubles_of(found->second);
    const Index length = found->second.shape().back();
    for (std::size_t e = 0; e < values.size(); ++e) {
      if (!std::isnan(values[e])) continue;
      const Index vector = static_cast<Index>(e) / length;
      keys.insert(shape.layout == Layout::kBthd ? vector / shape.kv_heads % shape.keys
                                                : vector % shape.keys);
    }
  }
  if (keys.empty()) return "";
  constexpr std::size_t kMostRanges = 6;
  const std::vector<Index> ascending(keys.begin(), keys.end());
  return range_words(ranges_of(ascending), "key", "keys", kMostRanges);
}

/// Judges again with inputs that are as noisy as the results look. If a verdict is possible then,
/// its text names this noise.
std::optional<Judgement> judged_with_noise(Trial& trial) {
  constexpr double kMuch = 3, kMost = 0.3;
  constexpr int kRounds = 3;  // at first, other roundings than those of the inputs count as well
  const double usual = trial.inputs();
  if (trial.call()->gradients()) return {};
  trial.suppose_noise(usual);
  Judgement out = trial.judge();
  for (int round = 0; round < kRounds; ++round) {
    const double noise = trial.inputs() * std::sqrt(out.noise);
    if (!(noise > kMuch * usual && noise < kMost)) return {};
    trial.suppose_noise(noise);
    out = trial.judge();
  }
  const double noise = trial.inputs();
  const std::string words = fmt::format(
      "a noise of {:.2g} % in keys and values, as products in a lower precision or a quantised "
      "cache make it",
      100 * noise / std::numbers::sqrt3);
  if (out.verdict == Verdict::kObeys) {
    out.verdict = Verdict::kOtherCall;
    out.text = fmt::format("{}; {}", words, out.text);
    return out;
  }
  // So much noise hides which mask it is.
  constexpr double kMostBesideMask = 0.01;
  if (out.verdict != Verdict::kAnother || noise > kMostBesideMask * std::numbers::sqrt3) return {};
  out.text += "; " + words;
  return out;
}

/// Tries one group of candidates after the other, until one fits all rows.
class Search {
 public:
  Search(const JudgedCall& call, Trial& trial) : call_(call), trial_(trial) {}

  Judgement run() {
    try_usual();
    if (is_settled() && !found_.in_part) return found_;
    const bool obeys = found_.verdict == Verdict::kObeys;
    try_rare();
    if (is_settled() || try_scales() || obeys) return found_;
    // What comes last fits much: a number for each row, or two.
    for (const auto fitted : {of_one_factor, of_orders, of_caches, of_merges, of_slots,
                              of_row_factors, of_row_merges}) {
      if (try_fitted(fitted) && is_settled()) return found_;
    }
    if (found_.verdict != Verdict::kNone) return found_;
    const auto noisy = judged_with_noise(trial_);
    return noisy ? *noisy : found_;
  }

 private:
  /// Whether no candidate fits the results, or one of their arrays.
  bool is_none() const {
    return found_.verdict == Verdict::kNone ||
           std::ranges::any_of(found_.parts, [](const auto& part) {
             return part.judgement.verdict == Verdict::kNone;
           });
  }

  /// Whether something fits, with no more noise than the dtypes of the arrays explain. (If one
  /// mistake is small in all rows, other candidates fit as well, but with more noise.)
  bool is_settled() const {
    constexpr double kMuchNoise = 4;
    return !is_none() && found_.noise <= kMuchNoise;
  }

  void try_usual() {
    if (const auto& declared = call_.request.declared) usual_ = neighbours(*declared, steps());
    trial_.add(of_masks(trial_.call(), usual_));
    trial_.add(of_readings(trial_.call()));
    found_ = trial_.judge();
  }

  void try_rare() {
    if (const auto& declared = call_.request.declared) {
      trial_.add(of_masks(trial_.call(), moved_borders(*declared, found_.off)));
      trial_.add(of_masks(trial_.call(), rare_neighbours(*declared, steps(), usual_)));
    }
    trial_.add(of_arguments(trial_.call()));
    trial_.add(of_states(trial_.call()));
    if (trial_.given().contains("lse")) trial_.add(of_lse(trial_.call()));
    found_ = trial_.judge();
  }

  using Fitted = Candidates (*)(const std::shared_ptr<const CallVariants>&, const NamedResults&,
                                const NamedResults&);
  /// False if there is nothing to fit.
  bool try_fitted(Fitted fitted) {
    const Candidates candidates = fitted(trial_.call(), trial_.declared(), trial_.given());
    if (candidates.empty()) return false;
    trial_.add(candidates);
    found_ = trial_.judge();
    return true;
  }

  /// Tries other scales; false, with the judgement as before where that was one, if none fits.
  bool try_scales() {
    for (const auto fitted : {of_scales, of_head_scales}) {
      const Judgement before = found_;
      if (try_fitted(fitted) && is_settled()) return true;
      if (before.verdict == Verdict::kObeys) found_ = before;
    }
    return false;
  }

  const Chain* steps() const { return call_.steps ? &*call_.steps : nullptr; }

  const JudgedCall& call_;
  Trial& trial_;
  std::vector<Neighbour> usual_;
  Judgement found_;
};

/// Judges the output by itself where nothing fits all results, nor the output among them: other
/// candidates are for an output than for gradients.
void judge_output_alone(const JudgedCall& call, const NamedResults& given, Judgement& judgement) {
  const auto part = std::ranges::find(judgement.parts, "out", &ArrayJudgement::array);
  if (part == judgement.parts.end() || part->judgement.verdict != Verdict::kNone) return;
  const NamedResults output{*given.find("out")};
  Trial trial(call.request, output);
  Judgement alone = Search(call, trial).run();
  if (alone.verdict == Verdict::kNone) return;
  part->judgement = std::move(alone);
  std::rotate(judgement.parts.begin(), part, part + 1);  // the cause, before what it makes wrong
}

}  // namespace

GivenReport judge_results(JudgedCall call, const NamedResults& given) {
  VerifyRequest& request = call.request;
  request.declared = applied_mask(request);
  Trial trial(request, given);
  GivenReport out{trial.checks(), Search(call, trial).run()};
  judge_output_alone(call, given, out.judgement);
  if (!out.judgement.nan_rows.empty()) {
    out.judgement.nan_keys = nan_keys(*request.operation, request.arguments);
  }
  return out;
}

}  // namespace maskctl::attention
