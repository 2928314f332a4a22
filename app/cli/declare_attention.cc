// The options of the commands that run attention.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/declare.h"
#include "app/cli/parse.h"
#include "maskctl/attention/context.h"
#include "maskctl/base/text.h"
#include "maskctl/pipeline/parse/values.h"

namespace maskctl::app {
namespace {

attention::Backend backend_at(std::size_t i) {
  return *attention::backend_from_name(attention::backend_names()[i]);
}

constexpr std::string_view kLayouts[] = {"bthd", "bhtd"};

void backend(OptionList& list, const std::string& name, const std::string& help,
             attention::Backend& target) {
  list.choice(name, attention::backend_names(), help,
              [&target](std::size_t i) { target = backend_at(i); });
}

void layout(OptionList& list, const std::string& help, std::optional<attention::Layout>& target) {
  list.choice("--layout", kLayouts, help,
              [&target](std::size_t i) { target = static_cast<attention::Layout>(i); });
}

void call(OptionList& list, CallOptions& call) {
  list.operands("NAME=VALUE", call.words);
  declare_source(list, call.source);
  list.text("--axes", "Tq=64+D=128", "extents of the random arrays that stand in for missing ones",
            call.axes);
  list.value("--random-dtype", "TYPE", "type of random arrays (float32)",
             [&call](const std::string& text) {
               call.random_dtype = parse_dtype(text, "--random-dtype");
             });
  layout(list,
         "axes of given arrays and of results: time or heads first (default: that of the "
         "operation, bthd except for blocksparse_attention)",
         call.layout);
  list.integer("--seed", 0, "seed of random arrays (0)",
               [&call](Index n) { call.seed = static_cast<std::uint64_t>(n); });
}

}  // namespace

void declare_attend(OptionList& list, AttendOptions& attend) {
  list.operand("OPERATION", attend.operation);
  call(list, attend.call);
  list.text("--mask", "SOURCE", "a mask, in addition to what the arguments close",
            attend.call.mask);
  backend(list, "--backend",
          "how to compute: float64 in plain loops, the fast path, or a GPU (cpu)", attend.backend);
  list.choice("--policy", kPolicies,
              "choose a config first: by measuring, or the usual one (no config)",
              [&attend](std::size_t i) { attend.policy = static_cast<attention::CacheMiss>(i); });
  list.text("--cache", "FOLDER", "keep tuned configs there", attend.cache);
  list.flag("--gradients", "compute gradients too, for random cotangents or cotangent_NAME=SOURCE",
            attend.gradients);
  list.flag("--list", "list the operations, or the arguments of one", attend.list);
  declare_destination(list, attend.output, "FILE.npz or another container; an .npy holds `out`");
  list.flag("--json", "print JSON (maskctl.attend/1)", attend.json);
}

void declare_verify(OptionList& list, VerifyOptions& verify) {
  list.operand("SOURCE", verify.call.mask);
  call(list, verify.call);
  list.text("--op", "OPERATION", "the operation to call (flash_attention)", verify.operation);
  backend(list, "--backend", "the backend to judge (cpu)", verify.backend);
  backend(list, "--against", "the backend to compare it with (reference)", verify.against);
  list.repeated("--given", "[NAME=]SOURCE",
                "judge this output instead, or the result of that name (lse, grad_query with "
                "cotangent_out=); give query, key and value too; may be repeated",
                verify.given);
  list.value(
      "--rtol", "X", "relative tolerance; without both, those of docs/numerics.md",
      [&verify](const std::string& text) { verify.relative = parse_number(text, "--rtol"); });
  list.value(
      "--atol", "X", "absolute tolerance, times the largest value if that is above 1",
      [&verify](const std::string& text) { verify.absolute = parse_number(text, "--atol"); });
  list.flag("--no-gradients", "forward only", verify.no_gradients);
  list.flag("--json", "print JSON (maskctl.verify/1)", verify.json);
}

void declare_probe(OptionList& list, ProbeOptions& probe) {
  list.operand("ACTION", probe.action);
  list.operand("SOURCE", probe.name);
  list.operand("OUT", probe.out);
  declare_source(list, probe.source);
  list.integer("--heads", 1, "query heads (those of the mask)",
               [&probe](Index n) { probe.heads = n; });
  list.integer("--kv-heads", 1, "key heads (as many as query heads)",
               [&probe](Index n) { probe.kv_heads = n; });
  list.integer("--head-dim", 1, "head_dim of the kernel: how many keys one pass reveals (64)",
               [&probe](Index n) { probe.head_dim = n; });
  list.choice("--layout", kLayouts, "axes of the arrays: time or heads first (bthd)",
              [&probe](std::size_t i) { probe.layout = static_cast<attention::Layout>(i); });
  list.flag("--weights", "OUT holds attention weights [B,H,Q,K]", probe.weights);
  list.value(
      "--threshold", "X", "a weight above X times the largest of its row means open (0)",
      [&probe](const std::string& text) { probe.threshold = parse_number(text, "--threshold"); });
  declare_output(list, probe.output);
  list.flag("--json", "print JSON (maskctl.probe/1)", probe.json);
}

void declare_bench(OptionList& list, BenchOptions& bench) {
  list.operands("OPERATION", bench.operations);
  list.repeated("--mask", "PIPELINE",
                "a mask to time: full, or steps applied to it; may be repeated (full, causal, "
                "window:keys=256)",
                bench.masks);
  list.value("--size", "N+N", "queries and keys, or tokens (1024)",
             [&bench](const std::string& text) {
               bench.sizes.clear();
               for (const std::string_view part : split(text, '+')) {
                 bench.sizes.push_back(parse_integer(part, "--size", 1, kMaxArgument));
               }
             });
  list.text("--axes", "B=2+D=128", "other extents; Tq=1 overrides --size", bench.axes);
  list.value("--backend", "NAME+NAME",
             fmt::format("{} (cpu)", fmt::join(attention::backend_names(), ", ")),
             [&bench](const std::string& text) {
               bench.backends.clear();
               for (const std::string_view part : split(text, '+')) {
                 bench.backends.push_back(
                     backend_at(parse_choice(part, "--backend", attention::backend_names())));
               }
             });
  list.flag("--backward", "time the backward pass too", bench.backward);
  layout(list,
         "axes of the arrays: time or heads first; transposing them is timed too, if the "
         "operation has the other layout",
         bench.layout);
  list.integer("--repeat", 1, "timed runs, after one that is not timed (5)",
               [&bench](Index n) { bench.repeats = n; });
  list.flag("--json", "print JSON (maskctl.bench/1)", bench.json);
}

void declare_backends(OptionList& list, BackendsOptions& backends) {
  list.operand("OPERATION", backends.operation);
  list.flag("--json", "print JSON (maskctl.backends/1)", backends.json);
}

}  // namespace maskctl::app
