#include "maskctl/verify/candidates/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/verify/compare.h"

namespace maskctl::attention {
namespace {

/// Throws unless `expected` has a result of this name and of the shape of `given`.
void check_given(const std::string& name, const Tensor& given, const NamedResults& expected) {
  const auto found = expected.find(name);
  if (found == expected.end()) {
    std::string names;
    for (const auto& [other, array] : expected) names += (names.empty() ? "" : ", ") + other;
    refuse(fmt::format("no result '{}' to compare; there are {}", name, names));
  }
  if (given.shape() == found->second.shape()) return;
  refuse_shape(fmt::format("{} is {}, expected {}", name == "out" ? "the output" : name,
                           shape_text(given.shape()), shape_text(found->second.shape())));
}

bool is_given_gradient(const NamedResults::value_type& result) { return is_gradient(result.first); }

/// Runs the call on the backend `request.against` with its inputs cast to f32, so that the results
/// are rounded only to f32.
NamedResults expected_results(const VerifyRequest& request, const NamedResults& given) {
  NamedArguments arguments = in_f32(request.arguments);
  arguments.context.backend = request.against;
  arguments.gradient_seed.reset();
  if (std::ranges::any_of(given, is_given_gradient)) arguments.gradient_seed = request.seed;
  NamedResults expected = attention::run(*request.operation, arguments);
  for (const auto& [name, array] : given) check_given(name, array, expected);
  return expected;
}

/// Whether results of the fast path (`declared`) agree with those of the reference path, both under
/// the declared mask. If not, something besides the mask closes cells, and alternatives would be
/// compared with the wrong mask.
bool agrees(const NamedResults& declared, const NamedResults& reference,
            const NamedResults& given) {
  return std::ranges::all_of(given, [&](const auto& result) {
    const Tolerance loose{1e-3, 1e-3};
    return distance(declared.at(result.first), reference.at(result.first), loose).bad == 0;
  });
}

/// Whether the rows as a whole are nearer to the candidate than to the declared mask.
bool is_likelier(const std::vector<RowResidual>& rows) {
  double along = 0, squared = 0;
  for (const RowResidual& row : rows) along += row.along, squared += row.squared;
  return 2 * along > squared;
}

/// The verdict on all arrays together is the first of these verdicts that one of the arrays has.
constexpr Verdict kWorstFirst[] = {Verdict::kNone,      Verdict::kAnother, Verdict::kPartly,
                                   Verdict::kOtherCall, Verdict::kUnclear, Verdict::kObeys};

}  // namespace

Trial::Trial(const VerifyRequest& request, const NamedResults& given)
    : request_(request), given_(given), reference_(expected_results(request, given)) {
  applied_ = applied_mask(request_);
  call_ = std::make_shared<CallVariants>(request_, given_, applied_);
  declared_ = call_->declared();
  if (call_->can_change_mask() && !agrees(declared_, reference_, given_)) {
    call_ = std::make_shared<CallVariants>(request_, given_, std::nullopt);
    declared_ = call_->declared();
  }
  add_parts(0);
}

void Trial::add_parts(double inputs) {
  const Rounding rounding(request_, given_, declared_, *call_, inputs);
  inputs_ = rounding.inputs();
  const auto residuals = [&](const NamedResults& given) {
    return Residuals(request_, given, reference_, declared_, rounding, call_->mask());
  };
  parts_.push_back({"", residuals(given_), {}});
  if (given_.size() == 1) return;
  for (const auto& [name, array] : given_) {
    parts_.push_back({name, residuals({{name, array}}), {}});
  }
}

std::vector<VerifyCheck> Trial::checks() const {
  std::vector<VerifyCheck> out;
  for (const bool gradients : {false, true}) {
    const bool any = std::ranges::any_of(
        given_, [&](const auto& result) { return is_given_gradient(result) == gradients; });
    if (!any) continue;
    out.push_back(compare_results(gradients ? "gradients" : "forward", given_, reference_,
                                  gradients, request_.tolerance));
  }
  return out;
}

void Trial::add(const Candidates& candidates) {
  for (const Candidate& candidate : candidates) {
    if (candidate.mask && !call_->can_change_mask()) continue;
    const NamedResults results = candidate.results();
    std::optional<NamedResults> spread;
    for (Part& part : parts_) {
      auto rows = part.residuals.under(results);
      if (!rows) continue;
      // To know the noise of the candidate's own rows takes another run, so it is found only where
      // it may matter.
      if (candidate.signed_results && is_likelier(*rows)) {
        if (!spread) spread = candidate.signed_results();
        rows = part.residuals.under(results, &*spread);
      }
      part.tried.push_back({candidate.text, candidate.mask, *std::move(rows)});
    }
    candidates_.push_back(candidate);
  }
}

Judgement Trial::judge(const Part& part) const {
  Judgement out = judge_rows(part.residuals, part.tried);
  if (out.fit) {
    const Tried& fit = part.tried[*out.fit];
    out.obeyed = fit.mask ? fit.mask : applied_;
  } else if (out.verdict == Verdict::kObeys) {
    out.obeyed = applied_;
  }
  return out;
}

Judgement Trial::judge() const {
  Judgement out = judge(parts_.front());
  return parts_.size() > 1 && out.verdict == Verdict::kNone ? by_array(std::move(out)) : out;
}

Judgement Trial::by_array(Judgement together) const {
  std::set<Verdict> seen;
  together.noise = 0;
  for (auto part = parts_.begin() + 1; part != parts_.end(); ++part) {
    Judgement own = judge(*part);
    seen.insert(own.verdict);
    together.noise = std::max(together.noise, own.noise);
    together.parts.push_back({part->array, std::move(own)});
  }
  together.verdict = *std::ranges::find_if(
      kWorstFirst, [&seen](Verdict verdict) { return seen.contains(verdict); });
  // Each array obeys, but all together they do not.
  if (together.verdict == Verdict::kObeys) together.verdict = Verdict::kNone;
  return together;
}

void Trial::suppose_noise(double inputs) {
  parts_.clear();
  add_parts(inputs);
  Candidates all = std::exchange(candidates_, {});
  std::erase_if(all, [](const Candidate& candidate) { return candidate.explains_noise; });
  add(all);
}

}  // namespace maskctl::attention
