// maskctl attend: calls one operation.
#include <fmt/format.h>

#include <algorithm>

#include "app/cli/commands/attention/call.h"
#include "app/cli/commands/attention/config_choice.h"
#include "app/cli/commands/attention/layout.h"
#include "app/cli/commands/attention/ranks.h"
#include "app/cli/commands/attention/results.h"
#include "app/cli/commands/command.h"
#include "app/cli/commands/ejkernel.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/reports/attention_json.h"
#include "maskctl/attention/calls/effects.h"
#include "maskctl/base/error.h"

namespace maskctl::app {
namespace {

struct AttendOptions {
  CallOptions call;
  std::string operation;
  attention::Backend backend = attention::Backend::kCpu;
  ConfigChoice config;
  RankOptions ranks;
  bool gradients = false;
  bool list = false;
  OutputOptions output;
  bool json = false;
};

void declare(OptionList& list, AttendOptions& attend) {
  list.operand("OPERATION", attend.operation, false);
  declare_call(list, attend.call);
  list.text("--mask", "SOURCE", "a mask, in addition to what the arguments close",
            attend.call.mask);
  declare_backend(list, "--backend",
                  "how to compute: float64 in plain loops, the fast path, or a GPU (cpu)",
                  attend.backend);
  declare_config_choice(list, attend.config);
  list.flag("--gradients", "compute gradients too, for random cotangents or cotangent_NAME=SOURCE",
            attend.gradients);
  declare_ranks(list, attend.ranks);
  list.flag("--list", "list the operations, or the arguments of one", attend.list);
  declare_destination(list, attend.output, "FILE.npz or another container; an .npy holds `out`");
  list.json("maskctl.attend/1", attend.json);
}

using attention::Operation;

std::string operations_text() {
  std::string out;
  for (const Operation* operation : attention::operations()) {
    out += fmt::format("{:<31}{}{}\n", operation->name, operation->summary,
                       operation->has_gradients() ? "" : " (no gradients)");
  }
  return out;
}

std::string line_of(const Operation& form, const attention::Field& field) {
  std::string needs = attention::needs_text(form, field);
  if (!needs.empty()) needs = "; " + needs;
  if (!field.is_array) return fmt::format("  {:<25} {}{}\n", field.name, field.help, needs);
  std::string axes = "[" + std::string(field.axes) + "]";
  for (std::size_t at; (at = axes.find('|')) != axes.npos;) axes.replace(at, 1, "] or [");
  return fmt::format(
      "  {:<25} {}{}{}{}{}\n", field.name, axes, field.is(attention::kIntegers) ? " integers" : "",
      field.is(attention::kRequired) ? ", needed" : "", ejkernel::alias_text(field), needs);
}

std::string fields_text(const Operation& operation) {
  std::string out;
  for (const bool arrays : {true, false}) {
    for (const attention::Field& field : operation.fields) {
      if (field.listed() && field.is_array == arrays) out += line_of(operation, field);
    }
  }
  return out;
}

std::string arguments_text(const Operation& operation) {
  std::string out = fmt::format("{}: {}\n", operation.name, operation.summary);
  out += fields_text(operation);
  if (operation.other_form) {
    out +=
        fmt::format("or {}\n{}", operation.other_form->summary, fields_text(*operation.other_form));
  }
  if (operation.takes_mask()) out += "  a mask: --mask SOURCE, with -t steps\n";
  return out;
}

/// Removes platform=NAME from the words of a call and returns its backend. Every operation of
/// ejkernel has this argument.
std::optional<attention::Backend> take_platform(std::vector<std::string>& words) {
  constexpr std::string_view kName = "platform=";
  const auto found =
      std::ranges::find_if(words, [&](const std::string& word) { return word.starts_with(kName); });
  if (found == words.end()) return std::nullopt;
  const std::string value = found->substr(kName.size());
  words.erase(found);
  return ejkernel::backend_of_platform(value);
}

attention::NamedResults compute(const Operation& operation, const AttendOptions& options,
                                const CallOptions& call, attention::Backend backend,
                                Session& session) {
  Loader loader(call.source, session);
  attention::NamedArguments arguments = read_call(operation, call, loader);
  arguments.context.backend = backend;
  if (options.gradients) arguments.gradient_seed = options.call.seed;
  const auto runner = ejkernel::configured_runner(options.config, session);
  arguments.runner = runner.get();
  attention::NamedResults results = attention::run(operation, arguments);
  for (const std::string& warning : warnings(operation, arguments, results)) session.note(warning);
  for (auto& [name, tensor] : results) {
    tensor = transposed(operation, name, std::move(tensor), options.call.layout);
  }
  if (runner) ejkernel::print_recorded(*runner);
  return results;
}

Answer answer_of(const Operation& operation, const AttendOptions& options,
                 attention::Backend backend, std::span<const ArraySummary> summaries) {
  if (options.output.dest == "-") return {};
  return answer_in(
      options.json, [&] { return summaries_text(summaries); },
      [operation = std::string(operation.name), backend = std::string(name(backend)),
       kept = std::vector(summaries.begin(), summaries.end())] {
        return attend_json(operation, backend, kept);
      });
}

constexpr std::string_view kRankMark = "{rank}";  // each rank's number replaces it in a file name

bool writes_parts(const OutputOptions& output) {
  return output.dest.find(kRankMark) != std::string::npos;
}

/// The output options of one rank: if the name has {rank}, each rank writes its own file; else only
/// rank 0 writes.
OutputOptions output_of(OutputOptions output, Index rank) {
  if (writes_parts(output)) {
    output.dest.replace(output.dest.find(kRankMark), kRankMark.size(), std::to_string(rank));
  } else if (rank != 0) {
    output.dest.clear();
  }
  return output;
}

/// Writes this rank's shard of each result to its own file. The answer lists which file holds which
/// shard.
Answer write_parts(const attention::PlacedResults& results, const OutputOptions& output,
                   const Session& session, attention::Communicator& world) {
  attention::NamedResults parts;
  std::string lines;
  for (const auto& [name, result] : results) {
    parts[name] = result.part;
    lines += fmt::format("{:<6}{:<24}{:<24}{} of {}\n", world.rank(), output.dest, name,
                         shape_text(result.part.shape()), shape_text(result.shape));
  }
  attention::meet(world);  // no rank writes before all have computed
  write_results(parts, output, session);
  std::string text = fmt::format("{:<6}{:<24}{:<24}shape\n", "rank", "file", "array");
  for (const std::string& own : attention::gathered_texts(world, lines)) text += own;
  return {text};
}

Answer run_over_ranks(const Operation& operation, const AttendOptions& options,
                      const CallOptions& call, attention::Backend backend, Session& session,
                      attention::Communicator& world) {
  const OutputOptions output = output_of(options.output, world.rank());
  check_destination(output);
  Loader loader(call.source, session);
  RankArrays arrays;
  attention::NamedArguments arguments = read_call(operation, call, loader, &arrays);
  arguments.context.backend = backend;
  if (options.gradients) arguments.gradient_seed = options.call.seed;
  SplitCall split(operation, options.ranks, std::move(arguments), std::move(arrays), world);
  for (const std::string& warning : split.ranked().warnings()) session.note(warning);
  const attention::PlacedResults results = split.ranked().run(split.read());
  if (writes_parts(options.output)) return write_parts(results, output, session, world);
  const std::vector<ArraySummary> summaries = summaries_of(results, world);
  if (!options.output.dest.empty()) write_results(results, options.output, session, world);
  return answer_of(operation, options, backend, summaries);
}

Answer run(const AttendOptions& options, Session& session) {
  if (options.list) {
    return {options.operation.empty() ? operations_text()
                                      : arguments_text(operation_named(options.operation))};
  }
  if (options.operation.empty()) {
    throw Error(Errc::kInvalidArgument,
                "attend: no operation; `maskctl attend --list` names them all");
  }
  const Operation& operation = operation_named(options.operation);
  if (options.gradients && !operation.has_gradients()) {
    throw Error(Errc::kInvalidArgument, fmt::format("{} has no gradients", operation.name));
  }
  if (options.output.dtype && !is_floating(*options.output.dtype)) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("attend: --dtype is a floating-point type, not {}",
                            maskctl::name(*options.output.dtype)));
  }
  CallOptions call = options.call;
  const attention::Backend backend = take_platform(call.words).value_or(options.backend);
  require_backend(backend, "--backend");
  const bool chooses = options.config.policy || !options.config.cache.empty();
  check_ranks(options.ranks, "attend",
              options.call.layout ? kUnfitLayout
              : chooses
                  ? "--policy and --cache go without --mesh: over ranks a call has the config "
                    "that it is given"
                  : "");
  if (!options.ranks.given()) {
    check_destination(options.output);
    const attention::NamedResults results = compute(operation, options, call, backend, session);
    if (!options.output.dest.empty()) write_results(results, options.output, session);
    return answer_of(operation, options, backend, summaries_of(results));
  }
  return over_ranks(options.ranks, backend, session,
                    [&](attention::Communicator& world, Session& own) {
                      return run_over_ranks(operation, options, call, backend, own, world);
                    });
}

}  // namespace

extern const Command kAttend = command<AttendOptions, declare, run>({
    .name = "attend",
    .group = kJudge,
    .operands = "OPERATION [NAME=VALUE...]",
    .summary = "attention by name: outputs, lse, weights, gradients",
    .examples =
        "  maskctl attend flash_attention query=q.npy key=k.npy value=v.npy causal=true -o "
        "out.npz\n"
        "  maskctl attend flash_attention --mask seg.npy --as segments -t causal --gradients\n"
        "  mpirun -n 4 maskctl attend ring_attention --mesh dp=2+sp=2 --axes B=2+Tq=512+Tk=512\n"
        "  maskctl attend --list\n"
        "  maskctl attend flash_attention --list\n",
});

}  // namespace maskctl::app
