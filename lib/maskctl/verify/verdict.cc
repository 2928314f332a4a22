#include "maskctl/verify/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace maskctl::attention {

bool mask_alone(const Operation& operation, std::span<const std::string_view> arguments) {
  return std::ranges::all_of(arguments, [&operation](std::string_view name) {
    if (name.starts_with("cotangent_")) return true;
    const auto field = std::ranges::find(operation.fields, name, &Field::name);
    return field != operation.fields.end() && !field->is(kCloses);
  });
}

GivenReport judge_backend(const JudgedCall& call, bool wants_obeyed) {
  const VerifyRequest& request = call.request;
  GivenReport out{verify(request), {}};
  if (all_passed(out.checks)) {
    out.judgement.text = "all checks hold";
    if (wants_obeyed || request.declared) out.judgement.obeyed = applied_mask(request);
    return out;
  }
  NamedArguments arguments = request.arguments;
  arguments.context.backend = request.backend;
  arguments.gradient_seed.reset();
  const NamedResults results = run(*request.operation, arguments);
  out.judgement = judge_results(call, {{"out", results.at("out")}}).judgement;
  const bool agrees =
      out.judgement.verdict == Verdict::kObeys || out.judgement.verdict == Verdict::kUnclear;
  if (!agrees) return out;
  out.judgement.verdict = Verdict::kNone;
  out.judgement.text = "the output agrees, and a check fails";
  out.judgement.obeyed.reset();
  return out;
}

GivenReport judge_shards(const JudgedCall& call, const NamedResults& results,
                         const Borders& borders) {
  GivenReport report = judge_results(call, results);
  const VerifyRequest& request = call.request;
  NamedArguments arguments = request.arguments;
  arguments.context.backend = request.against;
  if (request.gradients) arguments.gradient_seed = request.seed;
  const std::vector<VerifyCheck> beside =
      check_borders(*request.operation, borders, results, run(*request.operation, arguments));
  report.checks.insert(report.checks.end(), beside.begin(), beside.end());
  if (report.judgement.verdict != Verdict::kObeys || all_passed(beside)) return report;
  report.judgement.verdict = Verdict::kNone;
  report.judgement.text = "the results agree, and not beside every border between ranks";
  report.judgement.obeyed.reset();
  return report;
}

namespace {

/// Text about the rows of zeros and of NaN, which tell no mask; empty if there are none.
std::string blank_text(const Judgement& judgement) {
  std::string out;
  if (!judgement.zero_rows.empty()) {
    out += fmt::format("rows of zeros, which were not computed or saw no key ({})",
                       judgement.zero_rows);
  }
  if (!judgement.nan_rows.empty()) {
    out += fmt::format(
        "{}rows of NaN, {} ({})", out.empty() ? "" : "; ",
        judgement.nan_keys.empty()
            ? "though no key holds NaN"
            : fmt::format("in which a key that holds NaN was read, or multiplied by 0: {}",
                          judgement.nan_keys),
        judgement.nan_rows);
  }
  return out;
}

std::string of_rows_told(const Judgement& judgement) {
  const auto words = [&judgement] {
    switch (judgement.verdict) {
      case Verdict::kObeys:
        return "obeys its mask";
      case Verdict::kAnother:
        return "obeys another mask";
      case Verdict::kOtherCall:
        return "obeys its mask, in another call";
      case Verdict::kNone:
        return "obeys no mask that was tried";
      case Verdict::kUnclear:
        return "undecided at this precision, as these fit as well";
      case Verdict::kPartly:
        return "obeys its mask in all other rows";
    }
    return "";
  };
  const std::string out = fmt::format("{}: {}", words(), judgement.text);
  return judgement.where.empty() ? out : fmt::format("{} ({})", out, judgement.where);
}

}  // namespace

std::string to_text(const Judgement& judgement) {
  std::string out;
  for (const auto& [array, part] : judgement.parts) {
    out += fmt::format("{}{} {}", out.empty() ? "" : "; ", array, to_text(part));
  }
  if (!out.empty()) return out;
  const std::string blank = blank_text(judgement);
  const bool no_other = judgement.verdict == Verdict::kPartly && judgement.text.empty();
  if (no_other) return blank;
  const std::string told = of_rows_told(judgement);
  return blank.empty() ? told : fmt::format("{}; {}", blank, told);
}

}  // namespace maskctl::attention
