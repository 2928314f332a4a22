// Variables, operands, commands.
#include "app/cli/dispatch.h"

#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/parse.h"
#include "app/cli/terminal.h"
#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"

namespace maskctl::app {
namespace {

void need_source(bool given, std::string_view command) {
  if (given) return;
  throw Error(
      Errc::kInvalidArgument,
      fmt::format("{}: no SOURCE; name a file, - for standard input, or gen:STEP", command));
}

}  // namespace

void read_environment(GlobalOptions& globals, const Given& given) {
  const std::string_view bytes = environment("MASKCTL_MAX_BYTES");
  if (!bytes.empty() && !given.max_bytes) {
    globals.max_bytes = parse_size(bytes, "MASKCTL_MAX_BYTES");
  }
  const std::string_view count = environment("MASKCTL_THREADS");
  if (!count.empty() && !given.threads) {
    set_threads(static_cast<int>(parse_integer(count, "MASKCTL_THREADS", 0, kMostThreads)));
  }
  const std::string_view color = environment("MASKCTL_COLOR");
  if (!color.empty() && !given.color) {
    globals.color = static_cast<When>(parse_choice(color, "MASKCTL_COLOR", kWhens));
  }
}

void dispatch(std::string_view command, Request& request) {
  const GlobalOptions& globals = request.globals;
  if (command == "info") {
    need_source(!request.info.sources.empty(), command);
    info(request.info, globals);
  } else if (command == "show") {
    need_source(!request.show.name.empty(), command);
    if (request.show.ascii && !request.show.ejkernel) request.show.style = Style::kAscii;
    show(request.show, globals);
  } else if (command == "apply") {
    need_source(!request.apply.name.empty(), command);
    apply(request.apply, globals);
  } else if (command == "combine") {
    combine(request.combine, globals);
  } else if (command == "gen") {
    if (request.gen.step.empty()) {
      throw Error(Errc::kInvalidArgument, "gen: no STEP; `maskctl gen --help` has examples");
    }
    gen(request.gen, globals);
  } else if (command == "stats") {
    need_source(!request.stats.name.empty(), command);
    stats(request.stats, globals);
  } else {
    ops(request.ops);
  }
}

}  // namespace maskctl::app
