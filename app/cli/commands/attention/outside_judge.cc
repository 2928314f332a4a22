#include "app/cli/commands/attention/outside_judge.h"

#include <fmt/format.h>

#include "app/cli/commands/attention/outside_program.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"

namespace maskctl::app {
namespace {

using attention::RuleAnswer;
using attention::RuleVerdict;

constexpr std::string_view kPlace = "{}";

}  // namespace

void check_judge(const std::string& command) {
  if (command.find(kPlace) != command.npos) return;
  throw Error(Errc::kInvalidArgument,
              fmt::format("--judge '{}': where does the file go? {{}} stands for its path, as in "
                          "--judge 'python3 judge.py {{}}'",
                          printable(command)));
}

RuleVerdict ask_judge(const std::string& command, const std::string& path, const std::string& log) {
  const ProgramEnd end = run_program(with_path(command, kPlace, path), log);
  if (end.status == 0) return {RuleAnswer::kAccepts};
  if (end.status == 1) return {RuleAnswer::kRefuses};
  return {RuleAnswer::kError, 0, end.text};
}

}  // namespace maskctl::app
