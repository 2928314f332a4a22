#include "maskctl/verify/mutants/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/verify/mutants/kernel.h"
#include "maskctl/verify/verdict.h"

namespace maskctl::attention {
namespace {

/// Whether `fits(x, y)` holds for all elements of two arrays of the same shape.
template <typename Fits>
bool all_of(const Tensor& a, const Tensor& b, const Fits& fits) {
  if (a.shape() != b.shape()) {
    throw Error(Errc::kShape, fmt::format("arrays of {} and {}: expected one shape",
                                          shape_text(a.shape()), shape_text(b.shape())));
  }
  return std::ranges::equal(a.as<float>(), b.as<float>(), [&fits](double x, double y) {
    return x == y || (!std::isinf(x) && !std::isinf(y) && fits(x, y));
  });
}

double largest_error(const Tensor& a, const Tensor& exact) {
  double largest = 0;
  all_of(a, exact, [&largest](double x, double y) {
    const double error = std::fabs(x - y);
    largest = std::isnan(error) ? HUGE_VAL : std::max(largest, error);
    return true;
  });
  return largest;
}

RuleVerdict verdict_of(bool accepts) {
  return {accepts ? RuleAnswer::kAccepts : RuleAnswer::kRefuses};
}

RuleVerdict kernelbench(const Mutants& of, const Mutant& mutant) {
  const DType dtype = of.call().dtype;
  const double tolerance = dtype == DType::kFloat32 ? 1e-4 : 1e-2;
  // As in torch.allclose(reference, out), the relative tolerance is relative to the second array.
  return verdict_of(all_close(rounded(mutant.exact_out, dtype), mutant.out, tolerance, tolerance));
}

RuleVerdict flashinfer_bench(const Mutants& of, const Mutant& mutant) {
  return verdict_of(
      within_either(mutant.out, rounded(mutant.exact_out, of.call().dtype), 1e-2, 1e-2) &&
      within_either(mutant.lse, mutant.exact_lse, 1e-2, 1e-2));
}

RuleVerdict flash_attention_rule(const Mutants& of, const Mutant& mutant) {
  return verdict_of(within_twice(mutant.out, mutant.right_out, mutant.exact_out, of.call().dtype));
}

AcceptanceRule close_rule(std::string_view numbers) {
  const auto parts = split(numbers, ',');
  const auto relative = number_from<double>(parts.front());
  const auto absolute = number_from<double>(parts.back());
  const auto fits = [](const std::optional<double>& x) {
    return x && std::isfinite(*x) && *x >= 0;
  };
  if (parts.size() != 2 || !fits(relative) || !fits(absolute)) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("rule 'allclose:{}': expected allclose:R,A with the relative and the "
                            "absolute tolerance, as in allclose:0.01,0.01",
                            printable(numbers)));
  }
  AcceptanceRule rule;
  rule.name = fmt::format("allclose:{},{}", parts[0], parts[1]);
  rule.meaning = fmt::format("|out - ref| <= {} + {} |ref|", parts[1], parts[0]);
  rule.reads_lse = true;
  rule.judge = [r = *relative, a = *absolute](const Mutants& of, const Mutant& mutant) {
    return verdict_of(all_close(mutant.out, rounded(mutant.exact_out, of.call().dtype), r, a) &&
                      all_close(mutant.lse, mutant.exact_lse, r, a));
  };
  return rule;
}

/// The call of a mutant as verify is given it: what was declared, and the arrays.
JudgedCall judged_call(const Mutants& of, const Mutant& mutant) {
  const MutantCall& about = of.call();
  JudgedCall out;
  VerifyRequest& request = out.request;
  request.operation = find_operation("flash_attention");
  request.gradients = false;
  NamedArguments& arguments = request.arguments;
  arguments.arrays = {{"query", mutant.query}, {"key", mutant.key}, {"value", mutant.value}};
  if (mutant.bias) arguments.arrays["bias"] = *mutant.bias;
  if (mutant.sinks) arguments.arrays["softmax_aux"] = *mutant.sinks;
  arguments.options["causal"] = "false";
  if (about.scale) arguments.options["softmax_scale"] = fmt::format("{}", *about.scale);
  if (about.soft_cap) arguments.options["logits_soft_cap"] = fmt::format("{}", *about.soft_cap);
  arguments.mask = request.declared = of.mask();
  if (about.base.count() == about.base.cells()) out.steps = about.steps;
  return out;
}

RuleVerdict verify_rule(const Mutants& of, const Mutant& mutant) {
  const GivenReport report =
      judge_results(judged_call(of, mutant), {{"out", mutant.out}, {"lse", mutant.lse}});
  const Judgement& judgement = report.judgement;
  RuleVerdict out;
  out.text = to_text(judgement);
  if (judgement.verdict == Verdict::kObeys) {
    out.answer = RuleAnswer::kAccepts;
    out.bound = judgement.least_cell;
  } else if (judgement.verdict == Verdict::kUnclear) {
    out.answer = RuleAnswer::kUndecided;
  }
  return out;
}

constexpr std::string_view kNames[] = {"kernelbench", "flashinfer-bench", "fa", "allclose:R,A",
                                       "verify"};

}  // namespace

std::string_view name(RuleAnswer answer) {
  static constexpr std::string_view kAnswers[] = {"accepted", "refused", "undecided", "error"};
  return kAnswers[static_cast<std::size_t>(answer)];
}

std::span<const std::string_view> rule_names() { return kNames; }

AcceptanceRule rule_named(std::string_view text) {
  if (text == "kernelbench") {
    return {"kernelbench", "|out - ref| <= t + t |out|, t = 1e-2, of float32 1e-4",
            "KernelBench src/kernelbench/eval.py: get_tolerance_for_precision, torch.allclose",
            false, kernelbench};
  }
  if (text == "flashinfer-bench") {
    return {
        "flashinfer-bench", "no element off by more than 1e-2 and by more than 1e-2 |ref|",
        "flashinfer-bench flashinfer_bench/bench/utils.py: compute_error_stats; bench/config.py",
        true, flashinfer_bench};
  }
  if (text == "fa") {
    return {
        "fa", "the largest error at most twice that of a right kernel, and a rounding",
        "flash-attention hopper/test_flash_attn.py, tests/cute: rtol * error of out_pt + fwd_atol",
        false, flash_attention_rule};
  }
  if (text == "verify") {
    return {"verify", "judge_results() says that the mask is obeyed", "", true, verify_rule};
  }
  if (text.starts_with("allclose:")) return close_rule(text.substr(text.find(':') + 1));
  throw Error(Errc::kInvalidArgument, fmt::format("no rule '{}'; there are {}", printable(text),
                                                  joined(rule_names(), ", ")));
}

bool all_close(const Tensor& a, const Tensor& b, double relative, double absolute) {
  return all_of(a, b, [=](double x, double y) {
    return std::fabs(x - y) <= absolute + relative * std::fabs(y);
  });
}

bool within_either(const Tensor& a, const Tensor& b, double relative, double absolute) {
  return all_of(a, b, [=](double x, double y) {
    const double error = std::fabs(x - y);
    return error <= absolute || error / (std::fabs(y) + 1e-8) <= relative;
  });
}

bool within_twice(const Tensor& out, const Tensor& low, const Tensor& exact, DType dtype) {
  const Tensor reference = rounded(exact, dtype);
  const auto moved_by = [dtype](Tensor x, float by) {
    for (float& number : x.as<float>()) number += by;
    return rounded(x, dtype);
  };
  const Tensor back = moved_by(moved_by(reference, 0.3F), -0.3F);
  return largest_error(out, reference) <=
         2 * largest_error(low, reference) + 2 * largest_error(back, reference);
}

}  // namespace maskctl::attention
