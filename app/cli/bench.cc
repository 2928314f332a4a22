// maskctl bench: operations timed over sizes, masks and backends.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "app/cli/attention_call.h"
#include "app/cli/attention_commands.h"
#include "app/cli/attention_json.h"
#include "app/cli/machine.h"
#include "app/cli/output.h"
#include "maskctl/attention/core/cpu_kernel.h"
#include "maskctl/inspect/cost.h"
#include "maskctl/inspect/stats.h"
#include "maskctl/mask/bands.h"

namespace maskctl::app {
namespace {

using attention::Backend;
using attention::NamedArguments;
using attention::NamedOperation;

double bytes_of(const NamedArguments& arguments, const attention::NamedResults& results) {
  std::size_t bytes = 0;
  for (const auto& [name, tensor] : arguments.arrays) bytes += tensor.bytes().size();
  for (const auto& [name, tensor] : results) bytes += tensor.bytes().size();
  return static_cast<double>(bytes);
}

BenchLine timed(const NamedOperation& operation, const NamedArguments& arguments, Index repeats) {
  const attention::NamedResults warm = run(operation, arguments);
  std::vector<double> seconds;
  for (Index i = 0; i < repeats; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    run(operation, arguments);
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::ranges::sort(seconds);
  BenchLine line;
  line.operation = operation.name;
  line.backend = name(arguments.backend);
  line.repeats = repeats;
  line.median = seconds[seconds.size() / 2];
  line.least = seconds.front();
  line.most = seconds.back();
  line.bandwidth = bytes_of(arguments, warm) / line.median * 1e-9;
  return line;
}

class Bench {
 public:
  Bench(const BenchOptions& options, const GlobalOptions& globals)
      : options_(options), globals_(globals) {}

  std::vector<BenchLine> run() {
    for (const std::string& name : options_.operations) {
      const NamedOperation& operation = operation_named(name);
      for (const Index size : options_.sizes) {
        axes_ = parse_axes(options_.axes, size);
        run_masks(operation, size);
      }
    }
    return std::move(lines_);
  }

 private:
  void run_masks(const NamedOperation& operation, Index size) {
    if (!operation.takes_mask) {
      run_backends(operation, size, "-", nullptr);
      return;
    }
    for (const std::string& pipeline : options_.masks) {
      SourceOptions source;
      if (pipeline != "full") source.transforms = {pipeline};
      Loader loader(source, globals_);
      const Mask mask = loader.transformed(Mask(full_plane(axes_.at("Tq"), axes_.at("Tk"))));
      run_backends(operation, size, pipeline, &mask);
    }
  }

  void run_backends(const NamedOperation& operation, Index size, const std::string& label,
                    const Mask* mask) {
    NamedArguments arguments;
    if (mask) arguments.mask = *mask;
    if (mask && operation.name == "blocksparse_attention") arguments.options["causal"] = "false";
    add_random_arrays(operation, {.extents = axes_, .seed = 1, .max_bytes = globals_.max_bytes},
                      arguments);
    for (const Backend backend : options_.backends) {
      arguments.backend = backend;
      for (const bool backward : {false, true}) {
        if (backward && !(options_.backward && operation.has_gradients)) continue;
        arguments.gradient_seed.reset();
        if (backward) arguments.gradient_seed = 1;
        BenchLine line = timed(operation, arguments, options_.repeats);
        line.mask = label;
        line.size = size;
        line.pass = backward ? "both" : "forward";
        if (mask) add_rates(*mask, backend, backward, line);
        lines_.push_back(std::move(line));
      }
    }
  }

  /// Useful are the products of the open cells, executed those of all groups of cells that hold
  /// one: the CPU path skips the others, in rows and columns turned round in its backward pass.
  void add_rates(const Mask& mask, Backend backend, bool backward, BenchLine& line) const {
    using attention::kColumnGroup, attention::kRowGroup;
    static constexpr BlockSize kGroups[] = {{kRowGroup, kColumnGroup}, {kColumnGroup, kRowGroup}};
    const PlaneStats cells = mask_stats(mask, kGroups).total;
    const Index copies = (axes_.at("B") / mask.batch()) * (axes_.at("Hq") / mask.heads());
    const auto rate = [&](Index forward_cells, Index backward_cells) {
      const Index dim = axes_.at("D"), value_dim = axes_.at("Dv");
      const double work = flops(forward_cells, dim, value_dim).forward +
                          (backward ? flops(backward_cells, dim, value_dim).backward : 0);
      return static_cast<double>(copies) * work / line.median * 1e-9;
    };
    line.useful = rate(cells.open, cells.open);
    if (backend != Backend::kCpu) return;
    line.executed = rate(cells.blocks[0].executed, cells.blocks[1].executed);
  }

  const BenchOptions& options_;
  const GlobalOptions& globals_;
  attention::AxisExtents axes_;
  std::vector<BenchLine> lines_;
};

std::string rate(double value) { return value > 0 ? fmt::format("{:.2f}", value) : "-"; }

std::string bench_text(const MachineReport& machine, const std::vector<BenchLine>& lines) {
  std::string out = fmt::format("{}, {} threads\n\n", machine.instructions, machine.threads);
  out +=
      fmt::format("{:<26}{:<18}{:>7} {:<10}{:<8}{:>11}{:>9}{:>9}{:>10}{:>8}\n", "operation", "mask",
                  "size", "backend", "pass", "median ms", "spread", "useful", "executed", "GB/s");
  for (const BenchLine& line : lines) {
    out += fmt::format("{:<26}{:<18}{:>7} {:<10}{:<8}{:>11.3f}{:>8.0f}%{:>9}{:>10}{:>8}\n",
                       line.operation, line.mask, line.size, line.backend, line.pass,
                       line.median * 1e3, 100 * (line.most - line.least) / line.median,
                       rate(line.useful), rate(line.executed), rate(line.bandwidth));
  }
  return out +
         "\nuseful, executed: GFLOP/s of the open cells, and of all cells that the CPU computes\n";
}

}  // namespace

void bench(const BenchOptions& given, const GlobalOptions& globals) {
  BenchOptions options = given;
  if (options.operations.empty()) options.operations = {"flash_attention"};
  if (options.masks.empty()) options.masks = {"full", "causal", "window:keys=256"};
  const std::vector<BenchLine> lines = Bench(options, globals).run();
  const MachineReport machine = machine_report();
  write_stdout(options.json ? bench_json(machine, lines) : bench_text(machine, lines));
}

}  // namespace maskctl::app
