#include "app/cli/commands/golden_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/commands/attention/verify.h"
#include "maskctl/base/error.h"

namespace maskctl::app {
namespace {

VerifyOptions verify_options(const GoldenEntry& entry, const SourceOptions& how) {
  VerifyOptions out;
  out.call.source = how;
  out.call.mask = entry.source;
  out.call.layout_spelling = "give the kernel layout = \"{}\"";
  for (const auto& [name, value] : entry.kernel) {
    if (name == "operation") {
      out.operation = value;
    } else if (name == "layout") {
      out.call.layout = parse_layout(value, "key 'layout'");
    } else if (const std::string full(full_name(name)); is_result(full)) {
      out.given.push_back(full + "=" + value);
    } else {
      out.call.words.push_back(full + "=" + value);
    }
  }
  if (out.given.empty()) {
    throw Error(Errc::kInvalidArgument,
                "the kernel gave nothing to judge: name its output, out = \"run.npz:out\"");
  }
  return out;
}

}  // namespace

GoldenResult judge_kernel(const GoldenEntry& entry, const SourceOptions& how, Session& session) {
  using Status = GoldenResult::Status;
  const attention::GivenReport report = full_verdict(verify_options(entry, how), session).report;
  const int status = status_of(report.judgement.verdict);
  GoldenResult out;
  for (const attention::VerifyCheck& check : report.checks) {
    out.detail += fmt::format("{}: {}\n", check.name, check.detail);
  }
  out.detail += fmt::format("verdict: {}\n", to_text(report.judgement));
  if (status == 0) return out;
  const bool unclear = status == 2;
  out.status = unclear ? Status::kError : Status::kDiffers;
  out.message = unclear ? "the kernel's arrays do not determine its mask"
                        : "the kernel does not obey its mask";
  out.cause = to_text(report.judgement);
  return out;
}

}  // namespace maskctl::app
