#include "maskctl/verify/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "maskctl/inspect/recognise/moved_borders.h"
#include "maskctl/inspect/recognise/neighbours.h"

namespace maskctl::attention {

bool mask_alone(const Operation& operation, std::span<const std::string_view> arguments) {
  return std::ranges::all_of(arguments, [&operation](std::string_view name) {
    if (name.starts_with("cotangent_")) return true;
    const auto field = std::ranges::find(operation.fields, name, &Field::name);
    return field != operation.fields.end() && !field->is(kCloses);
  });
}

GivenReport judge_results(JudgedCall call, const NamedResults& given) {
  VerifyRequest& request = call.request;
  request.declared = applied_mask(request);
  if (!request.declared) return verify_given(request, given, {});
  const Chain* known = call.steps ? &*call.steps : nullptr;
  GivenReport report = verify_given(request, given, neighbours(*request.declared, known));
  if (report.judgement.verdict != Verdict::kNone) return report;
  const std::vector<Neighbour> moved = moved_borders(*request.declared, report.judgement.off);
  if (moved.empty()) return report;
  GivenReport other = verify_given(request, given, moved);
  return other.judgement.verdict == Verdict::kAnother ? other : report;
}

GivenReport judge_backend(const JudgedCall& call, bool wants_obeyed) {
  const VerifyRequest& request = call.request;
  GivenReport out{verify(request), {}};
  if (all_passed(out.checks)) {
    out.judgement.text = "all checks hold";
    if (wants_obeyed) out.judgement.obeyed = applied_mask(request);
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

std::string to_text(const Judgement& judgement) {
  const auto words = [&judgement] {
    switch (judgement.verdict) {
      case Verdict::kObeys:
        return "obeys its mask";
      case Verdict::kAnother:
        return "obeys another mask";
      case Verdict::kNone:
        return "obeys no mask that was tried";
      case Verdict::kUnclear:
        return "undecided at this precision, as these fit as well";
    }
    return "";
  };
  const std::string out = fmt::format("{}: {}", words(), judgement.text);
  return judgement.where.empty() ? out : fmt::format("{} ({})", out, judgement.where);
}

}  // namespace maskctl::attention
