// Applies environment variables, checks operands and runs commands.
#include "app/cli/dispatch.h"

#include <fmt/format.h>

#include "app/cli/attention_commands.h"
#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/parse.h"
#include "app/cli/terminal.h"
#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/info/mask_info.h"
#include "maskctl/pipeline/parse/values.h"

namespace maskctl::app {
namespace {

void need_source(const std::string& name, std::string_view command) {
  if (!name.empty()) return;
  throw Error(
      Errc::kInvalidArgument,
      fmt::format("{}: no SOURCE; name a file, - for standard input, or gen:STEP", command));
}

int run_info(Request& request) {
  need_source(request.info.sources.empty() ? "" : request.info.sources.front(), "info");
  return info(request.info, request.globals);
}

int run_show(Request& request) {
  need_source(request.show.name, "show");
  if (request.show.ascii && !request.show.ejkernel) request.show.style = Style::kAscii;
  show(request.show, request.globals);
  return 0;
}

int run_apply(Request& request) {
  need_source(request.apply.name, "apply");
  apply(request.apply, request.globals);
  return 0;
}

int run_convert(Request& request) {
  need_source(request.convert.name, "convert");
  return convert(request.convert, request.globals);
}

int run_combine(Request& request) {
  combine(request.combine, request.globals);
  return 0;
}

int run_diff(Request& request) {
  if (request.diff.a.empty() || request.diff.b.empty()) {
    throw Error(Errc::kInvalidArgument, "diff: two SOURCEs are needed: maskctl diff A B");
  }
  return diff(request.diff, request.globals);
}

int run_why(Request& request) {
  WhyOptions& why = request.why;
  need_source(why.name, "why");
  if (why.key_text.empty()) {
    throw Error(Errc::kInvalidArgument,
                "why: a query and a key are needed: maskctl why SOURCE 812 40");
  }
  why.query = parse_integer(why.query_text, "why: query", 0, kMaxArgument);
  why.key = parse_integer(why.key_text, "why: key", 0, kMaxArgument);
  return maskctl::app::why(why, request.globals);
}

int run_golden(Request& request) {
  GoldenOptions& options = request.golden;
  const std::string_view ci = environment("CI");
  options.ci = !ci.empty() && ci != "false" && ci != "0";
  options.github = environment("GITHUB_ACTIONS") == std::string_view("true");
  return golden(options, request.globals);
}

int run_translate(Request& request) { return translate(request.translate, request.globals); }

int run_audit(Request& request) {
  need_source(request.audit.name, "audit");
  if (request.audit.map.empty()) {
    throw Error(Errc::kInvalidArgument,
                "audit: no map of blocks: maskctl audit MASK MAP --block 64x64");
  }
  return audit(request.audit, request.globals);
}

int run_gen(Request& request) {
  if (request.gen.step.empty()) {
    throw Error(Errc::kInvalidArgument, "gen: no STEP; `maskctl gen --help` has examples");
  }
  gen(request.gen, request.globals);
  return 0;
}

int run_stats(Request& request) {
  need_source(request.stats.name, "stats");
  stats(request.stats, request.globals);
  return 0;
}

int run_cost(Request& request) {
  need_source(request.cost.name, "cost");
  cost(request.cost, request.globals);
  return 0;
}

int run_check(Request& request) {
  need_source(request.check.name, "check");
  return check(request.check, request.globals);
}

int run_seq(Request& request) {
  if (request.seq.what.empty()) {
    throw Error(Errc::kInvalidArgument, "seq: nothing to do; `maskctl seq --help` has examples");
  }
  seq(request.seq, request.globals);
  return 0;
}

int run_blockmap(Request& request) {
  need_source(request.blockmap.name, "blockmap");
  blockmap(request.blockmap, request.globals);
  return 0;
}

int run_recognise(Request& request) {
  need_source(request.recognise.name, "recognise");
  return recognise(request.recognise, request.globals);
}

int run_ops(Request& request) {
  ops(request.ops);
  return 0;
}

int run_attend(Request& request) {
  attend(request.attend, request.globals);
  return 0;
}

int run_verify(Request& request) {
  need_source(request.verify.call.mask, "verify");
  return verify(request.verify, request.globals);
}

int run_probe(Request& request) {
  need_source(request.probe.name, "probe");
  return probe(request.probe, request.globals);
}

int run_bench(Request& request) {
  bench(request.bench, request.globals);
  return 0;
}

int run_backends(Request& request) {
  backends(request.backends);
  return 0;
}

struct Command {
  std::string_view name;
  int (*run)(Request& request);
};
constexpr Command kCommands[] = {
    {"info", run_info},
    {"show", run_show},
    {"apply", run_apply},
    {"convert", run_convert},
    {"combine", run_combine},
    {"gen", run_gen},
    {"stats", run_stats},
    {"cost", run_cost},
    {"diff", run_diff},
    {"golden", run_golden},
    {"why", run_why},
    {"check", run_check},
    {"translate", run_translate},
    {"audit", run_audit},
    {"seq", run_seq},
    {"blockmap", run_blockmap},
    {"recognise", run_recognise},
    {"ops", run_ops},
    {"attend", run_attend},
    {"verify", run_verify},
    {"probe", run_probe},
    {"bench", run_bench},
    {"backends", run_backends},
};

/// Sends the trace of MaskInfo to stderr; with the variable alone it is not announced, as in
/// ejkernel.
void start_trace(bool announce) {
  const auto print = [](std::string_view line) { write_stderr(std::string(line) + "\n"); };
  if (announce) set_debug_sink(print);
  set_debug_mode(true);
  set_debug_sink(print);
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
  const bool debug = std::string_view(environment("EJKERNEL_MASK_DEBUG")) == "1";
  if (globals.trace || debug) start_trace(globals.trace);
}

int dispatch(std::string_view command, Request& request) {
  for (const Command& known : kCommands) {
    if (known.name == command) return known.run(request);
  }
  throw std::logic_error(fmt::format("command {} is not in the table", command));
}

}  // namespace maskctl::app
