// maskctl probe: makes inputs that reveal a kernel's mask, and reads the mask from the kernel's
// output.
#include <fmt/format.h>

#include "app/cli/commands/attention/call.h"
#include "app/cli/commands/attention/verify.h"
#include "app/cli/commands/command.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/reports/attention_json.h"
#include "app/reports/figures.h"
#include "app/session/loader.h"
#include "app/session/save.h"
#include "maskctl/base/error.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/text.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/verify/probe_verdict.h"

namespace maskctl::app {
namespace {

struct ProbeOptions {
  SourceOptions source;
  std::string action;  // "make" or "read"
  std::string name;    // SOURCE of the mask that the kernel should apply
  std::string out;     // SOURCE of the kernel's output
  std::optional<Index> heads, kv_heads;
  Index head_dim = 64;
  std::optional<attention::Layout> layout;  // absent: bthd
  bool weights = false;
  double threshold = 0;
  std::string probe;            // container of the probe's q and k
  std::optional<double> scale;  // absent: 1/sqrt(head_dim)
  OutputOptions output;
  bool json = false;
};

constexpr std::string_view kActions[] = {"make", "read"};

void declare(OptionList& list, ProbeOptions& probe) {
  list.operand("ACTION", kActions, probe.action);
  list.operand("SOURCE", probe.name);
  list.operand("OUT", probe.out, false);
  declare_source(list, probe.source);
  list.integer("--heads", 1, "query heads (those of the mask)",
               [&probe](Index n) { probe.heads = n; });
  list.integer("--kv-heads", 1, "key heads (as many as query heads)",
               [&probe](Index n) { probe.kv_heads = n; });
  list.integer("--head-dim", 1, "head_dim of the kernel: how many keys one pass reveals (64)",
               [&probe](Index n) { probe.head_dim = n; });
  declare_layout(list, "axes of the arrays: time or heads first (bthd)", probe.layout);
  list.flag("--weights", "OUT holds attention weights [B,H,Q,K]", probe.weights);
  list.number("--threshold", "a weight above X times the largest of its row means open (0)",
              [&probe](double x) { probe.threshold = x; });
  list.text("--probe", "FILE",
            "what `probe make` wrote: q and k show the key heads and the scale too (read)",
            probe.probe);
  list.number("--softmax-scale",
              "the scale that the kernel should use, with --probe (1/sqrt(head_dim))",
              [&probe](double x) { probe.scale = x; });
  declare_output(list, probe.output);
  list.json("maskctl.probe/1", probe.json);
}

attention::ProbeShape shape_of(const Mask& mask, const ProbeOptions& options) {
  attention::ProbeShape shape;
  shape.batch = mask.batch();
  shape.queries = mask.queries();
  shape.keys = mask.keys();
  shape.heads = options.heads.value_or(mask.heads());
  shape.kv_heads = options.kv_heads.value_or(shape.heads);
  shape.dim = options.head_dim;
  shape.layout = options.layout.value_or(attention::Layout::kBthd);
  if (mask.heads() != 1 && mask.heads() != shape.heads) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("--heads {}: the mask has {} heads", shape.heads, mask.heads()));
  }
  return shape;
}

Answer make(const ProbeOptions& options, const Mask& mask, Session& session) {
  require_output(options.output, "probe make");
  const attention::ProbeShape shape = shape_of(mask, options);
  const attention::Probe probe =
      attention::make_probe(shape, options.output.dtype.value_or(DType::kFloat32));
  const ArrayRef arrays[] = {{"q", &probe.query}, {"k", &probe.key}, {"v", &probe.value}};
  write_arrays(options.output.dest, arrays, write_options(options.output, session));
  const std::string calls =
      shape.passes() == 1
          ? "with v[0], save np.stack([out]), and read it"
          : fmt::format(
                "{0} times with v[p], p = 0 to {1}, save the np.stack of its outputs, and "
                "read them",
                shape.passes(), shape.passes() - 1);
  const bool heads_first = options.layout == attention::Layout::kBhtd;
  session.note(
      fmt::format("call the kernel {} back with: maskctl probe read {} OUT.npy --probe {}{}", calls,
                  options.name, options.output.dest, heads_first ? " --layout bhtd" : ""));
  return {};
}

std::string cells_text(Index open, Index cells) {
  return fmt::format("{} of {} open ({})", grouped(open), counted(cells, "cell"),
                     percent(open, cells));
}

/// Describes what the outputs tell about the key heads and the scale of the call, and what they do
/// not tell.
std::string call_text(const attention::ProbeCallVerdict& call) {
  std::string out;
  for (const std::string& fault : call.faults) {
    out += fmt::format("{:<10}{}\n", "wrong", fault);
  }
  if (!call.told.empty()) out += fmt::format("{:<10}{}\n", "right", joined(call.told, ", "));
  return out + fmt::format("{:<10}{}\n", "not seen", joined(call.untold, ", "));
}

std::string report_text(const ProbeReport& report, const SourceOptions& source) {
  const attention::ProbeVerdict& found = report.found;
  const MaskDiff& diff = found.diff;
  const Index cells = found.applied.cells();
  std::string out =
      fmt::format("{:<10}{}: {}\n", "declared", with_pipeline(report.declared, source),
                  cells_text(report.declared_open, cells));
  out += fmt::format("{:<10}{}: {}\n", "applied", report.applied,
                     cells_text(found.applied.count(), cells));
  if (found.averaged_rows > 0) {
    out += fmt::format("{:<10}{} average all values, as rows without a key do\n", "rows",
                       found.averaged_rows);
  }
  if (found.nan_rows > 0) out += fmt::format("{:<10}{} give NaN\n", "rows", found.nan_rows);
  if (found.untold > 0) {
    out += fmt::format(
        "{:<10}{} declared open weigh 0: closed, or too small for {}; only "
        "`probe make` can decide\n",
        "untold", counted(found.untold, "cell"), name(report.precision));
  }
  if (diff.equal()) {
    return out + fmt::format("{:<10}in no {}cell\n", "differ", found.untold > 0 ? "other " : "") +
           call_text(found.call);
  }
  out +=
      fmt::format("{:<10}in {}: {} declared open are closed, {} declared closed are open\n",
                  "differ", counted(diff.only_a + diff.only_b, "cell"), diff.only_a, diff.only_b);
  out += fmt::format("{:<10}{}\n", "first", cell_text(*diff.first));
  if (!found.cause.empty()) {
    out += fmt::format("{:<10}{} (A: declared, B: applied)\n", "cause", found.cause);
  }
  return out + call_text(found.call);
}

attention::ProbeReading reading_of(const Tensor& given, const Mask& declared,
                                   const ProbeOptions& options) {
  if (options.weights) return attention::read_weights(given, options.threshold, &declared);
  return attention::read_probe(
      given, declared.keys(), options.layout.value_or(attention::Layout::kBthd), options.threshold);
}

/// What the outputs tell about the key heads and the scale of the call; nothing without --probe.
attention::ProbeCallVerdict call_verdict(const ProbeOptions& options, const Tensor& given,
                                         const Mask& read, Loader& loader) {
  if (options.probe.empty()) {
    if (!options.scale) return attention::judge_probe_call({});
    throw Error(Errc::kInvalidArgument,
                "--softmax-scale: only q and k of the probe show the scale; give --probe FILE too");
  }
  if (options.weights) {
    throw Error(Errc::kInvalidArgument,
                "--probe: reads the outputs of a probe; --weights are of other queries and keys");
  }
  const Tensor query = loader.array(options.probe + ":q"), key = loader.array(options.probe + ":k");
  const attention::ProbeInputs inputs{
      &query, &key, options.layout.value_or(attention::Layout::kBthd), options.scale};
  return attention::judge_probe_call(attention::read_probe_call(given, inputs, read));
}

Answer read(const ProbeOptions& options, Loader& loader, const Mask& declared, Session& session) {
  if (options.out.empty()) {
    throw Error(Errc::kInvalidArgument,
                "probe read: no output of the kernel: maskctl probe read SOURCE OUT");
  }
  const Tensor given = loader.array(options.out);
  attention::ProbeReading reading = reading_of(given, declared, options);
  attention::ProbeCallVerdict call = call_verdict(options, given, reading.mask, loader);
  ProbeReport report;
  report.declared = options.name;
  report.applied = options.out;
  report.precision = precision_of(given);
  report.found = attention::judge_probe(std::move(reading), declared, std::move(call));
  const Mask& applied = report.found.applied;
  const Index copies = (applied.batch() / declared.batch()) * (applied.heads() / declared.heads());
  report.declared_open = declared.count() * copies;
  if (!options.output.dest.empty()) write_output(applied, options.output, session);
  return answer_in(
      options.json, [&] { return report_text(report, options.source); },
      [=] { return probe_json(report); }, status_of(report.found.verdict()));
}

Answer run(const ProbeOptions& options, Session& session) {
  const std::size_t action = parse_choice(options.action, "probe", kActions);
  Loader loader(options.source, session);
  const Mask declared = loader.transformed(loader.read(options.name).mask);
  return action == 0 ? make(options, declared, session) : read(options, loader, declared, session);
}

}  // namespace

extern const Command kProbe = command<ProbeOptions, declare, run>({
    .name = "probe",
    .group = kJudge,
    .operands = "make|read SOURCE [OUT]",
    .summary = "find out which mask a kernel really applies",
    .examples = "  maskctl probe make mask.npy --head-dim 64 -o probe.npz\n"
                "  maskctl probe read mask.npy out.npy --probe probe.npz\n"
                "  maskctl probe read mask.npy weights.npy --weights -o applied.npy\n",
    .negative =
        "the kernel applied another mask than the declared one, or other key heads or scales",
});

}  // namespace maskctl::app
