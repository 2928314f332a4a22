#include "app/cli/golden_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/attention_commands.h"
#include "maskctl/base/error.h"

namespace maskctl::app {
namespace {

bool is_result(std::string_view name) {
  return name == "out" || name == "lse" || name.starts_with("grad_");
}

/// q, k and v are what most kernels call them.
std::string_view full_name(std::string_view name) {
  if (name == "q") return "query";
  if (name == "k") return "key";
  return name == "v" ? "value" : name;
}

VerifyOptions verify_options(const GoldenEntry& entry, const SourceOptions& how) {
  VerifyOptions out;
  out.call.source = how;
  out.call.mask = entry.source;
  for (const auto& [name, value] : entry.kernel) {
    if (name == "operation") {
      out.operation = value;
    } else if (is_result(name)) {
      out.given.push_back(name + "=" + value);
    } else {
      out.call.words.push_back(fmt::format("{}={}", full_name(name), value));
    }
  }
  if (out.given.empty()) {
    throw Error(Errc::kInvalidArgument,
                "the kernel gave nothing to judge: name its output, out = \"run.npz:out\"");
  }
  return out;
}

}  // namespace

GoldenResult judge_kernel(const GoldenEntry& entry, const SourceOptions& how,
                          const GlobalOptions& globals) {
  using Status = GoldenResult::Status;
  const auto checks = verify_checks(verify_options(entry, how), globals);
  GoldenResult out;
  for (const attention::VerifyCheck& check : checks) {
    out.detail += fmt::format("{}: {}\n", check.name, check.detail);
    if (check.state != attention::VerifyCheck::State::kFailed) continue;
    out.status = Status::kDiffers;
    out.message = "the kernel does not obey its mask";
    out.cause += fmt::format("{}{}: {}", out.cause.empty() ? "" : "; ", check.name, check.detail);
  }
  return out;
}

}  // namespace maskctl::app
