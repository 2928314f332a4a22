#include "maskctl/kit/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/verify/solve/explain.h"

namespace maskctl::kit {
namespace {

using attention::NamedResults;
using attention::Verdict;

constexpr std::string_view kOutcomeNames[kOutcomes] = {"obeys",     "another mask", "wrong numbers",
                                                       "refuses",   "fails",        "timed out",
                                                       "undecided", "skipped"};

/// The names of the results that a rule is judged by.
std::vector<std::string> judged_names(Asks asks) {
  if (asks == Asks::kLse) return {"out", "lse"};
  if (asks == Asks::kOut) return {"out"};
  return {"out", "grad_query", "grad_key", "grad_value"};
}

Outcome outcome_of(Verdict verdict) {
  if (verdict == Verdict::kObeys) return Outcome::kObeys;
  if (verdict == Verdict::kAnother) return Outcome::kAnother;
  return verdict == Verdict::kUnclear ? Outcome::kUndecided : Outcome::kWrong;
}

/// Says that results are as coarse as another dtype than that of the case; else "".
std::string coarse_note(const MadeCase& made, const NamedResults& given) {
  for (const auto& [name, array] : given) {
    const DType precision = precision_of(array);
    if (epsilon(precision) <= epsilon(made.dtype)) continue;
    return fmt::format("{} holds {} for arrays of {}, and is judged as that", name,
                       maskctl::name(precision), maskctl::name(made.dtype));
  }
  return "";
}

CaseVerdict verdict_of(const attention::GivenReport& report) {
  CaseVerdict out{outcome_of(report.judgement.verdict), to_text(report.judgement)};
  constexpr std::string_view kAnother = "obeys another mask: ";  // which the outcome says
  if (out.text.starts_with(kAnother)) out.text.erase(0, kAnother.size());
  if (out.outcome != Outcome::kObeys) return out;
  for (const attention::VerifyCheck& check : report.checks) {
    if (check.state != attention::VerifyCheck::State::kFailed) continue;
    return {Outcome::kWrong,
            "obeys its mask, in a lower precision than its arrays: " + check.detail};
  }
  return {Outcome::kObeys, ""};
}

}  // namespace

std::string_view name(Outcome outcome) { return kOutcomeNames[static_cast<std::size_t>(outcome)]; }

std::optional<Outcome> outcome_named(std::string_view name) {
  const auto found = std::ranges::find(kOutcomeNames, name);
  if (found == std::end(kOutcomeNames)) return std::nullopt;
  return static_cast<Outcome>(found - std::begin(kOutcomeNames));
}

attention::NamedArguments arguments_of(const MadeCase& made) {
  attention::NamedArguments out;
  out.arrays = {made.arrays.begin(), made.arrays.end()};
  if (auto sinks = out.arrays.extract("sinks")) {
    sinks.key() = "softmax_aux";
    out.arrays.insert(std::move(sinks));
  }
  const Call& call = made.call();
  out.options["causal"] = "false";
  if (call.scale) out.options["softmax_scale"] = fmt::format("{}", *call.scale);
  if (call.soft_cap) out.options["logits_soft_cap"] = fmt::format("{}", *call.soft_cap);
  out.mask = made.mask;
  return out;
}

NamedResults run_backend(const MadeCase& made, attention::Backend backend) {
  attention::NamedArguments arguments = arguments_of(made);
  arguments.context.backend = backend;
  for (auto& [name, array] : arguments.arrays) array = astype(array, made.dtype);
  return attention::run(*attention::find_operation("flash_attention"), arguments);
}

CaseVerdict judge(const MadeCase& made, NamedResults given) {
  if (!given.contains("out")) return {Outcome::kFails, "no out was given"};
  const std::vector<std::string> names = judged_names(made.rule->asks);
  for (const std::string& name : names) {
    if (!given.contains(name)) return {Outcome::kSkipped, fmt::format("no {} was given", name)};
  }
  std::erase_if(given, [&names](const auto& result) {
    return std::ranges::find(names, result.first) == names.end();
  });
  for (const auto& [name, array] : given) {
    if (is_floating(array.dtype())) continue;
    return {Outcome::kFails,
            fmt::format("{} holds {}; expected floats", name, maskctl::name(array.dtype()))};
  }
  attention::JudgedCall call;
  call.request.operation = attention::find_operation("flash_attention");
  call.request.arguments = arguments_of(made);
  call.request.declared = made.mask;
  call.steps = made.steps;
  try {
    CaseVerdict verdict = verdict_of(attention::judge_fully(call, given).report);
    if (verdict.outcome == Outcome::kObeys) verdict.note = coarse_note(made, given);
    return verdict;
  } catch (const Error& error) {
    if (error.code() != Errc::kShape) throw;
    return {Outcome::kWrong, error.what()};
  }
}

}  // namespace maskctl::kit
