// maskctl bench: times operations for combinations of sizes, masks and backends.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "app/cli/commands/attention/bench_ranks.h"
#include "app/cli/commands/attention/call.h"
#include "app/cli/commands/attention/layout.h"
#include "app/cli/commands/attention/machine.h"
#include "app/cli/commands/command.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/reports/attention_json.h"
#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/base/buffer_pool.h"
#include "maskctl/base/error.h"
#include "maskctl/base/stopwatch.h"
#include "maskctl/inspect/count/cost.h"
#include "maskctl/inspect/count/stats.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/pipeline/parse/values.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::app {
namespace {

struct BenchOptions {
  std::vector<std::string> operations;  // empty: flash_attention
  // Pipelines, each of which is applied to a full mask. If there are none, full, causal and window
  // masks are timed.
  std::vector<std::string> masks;
  std::vector<Index> sizes{1024};  // number of queries and of keys, or of tokens
  std::vector<attention::Backend> backends{attention::Backend::kCpu};
  std::optional<attention::Layout> layout;  // the arrays' layout; absent: the operation's
  std::string axes;
  std::optional<DType> random_dtype;  // absent: float32
  bool backward = false;
  Index repeats = 5;
  RankOptions ranks;
  bool json = false;
};

void declare(OptionList& list, BenchOptions& bench) {
  list.operands("OPERATION", bench.operations, false);
  list.repeated("--mask", "PIPELINE",
                "a mask to time: full, or steps applied to it; may be repeated (full, causal, "
                "window:keys=256)",
                bench.masks);
  list.value("--size", "N+N", "queries and keys, or tokens (1024)",
             [&bench](const std::string& text) {
               bench.sizes.clear();
               for (const std::string& part : parse_list(text)) {
                 bench.sizes.push_back(parse_integer(part, "--size", 1, kMaxArgument));
               }
             });
  list.text("--axes", "B=2+D=128", "other extents; Tq=1 overrides --size", bench.axes);
  declare_random_dtype(list, bench.random_dtype);
  declare_backends(list, bench.backends);
  list.flag("--backward", "time the backward pass too", bench.backward);
  declare_layout(list,
                 "axes of the arrays: time or heads first; transposing them is timed too, if the "
                 "operation has the other layout",
                 bench.layout);
  list.integer("--repeat", 1, "timed runs, after one that is not timed (5)",
               [&bench](Index n) { bench.repeats = n; });
  declare_ranks(list, bench.ranks);
  list.json("maskctl.bench/1, or with --mesh maskctl.bench-ranks/1", bench.json);
}

using attention::Backend;
using attention::NamedArguments;
using attention::Operation;

double bytes_of(const NamedArguments& arguments, const attention::NamedResults& results,
                bool backward) {
  std::size_t bytes = 0;
  for (const auto& [name, tensor] : arguments.arrays) {
    if (backward || !name.starts_with("cotangent_")) bytes += tensor.bytes().size();
  }
  for (const auto& [name, tensor] : results) {
    if (backward || !name.starts_with("grad_")) bytes += tensor.bytes().size();
  }
  return static_cast<double>(bytes);
}

double seconds_of(const std::function<void()>& work) {
  const Stopwatch watch;
  work();
  return watch.seconds();
}

/// Times the forward and the backward pass of a call. If the arrays have another layout than the
/// operation, the time includes transposing them.
class Timer {
 public:
  Timer(const Operation& operation, NamedArguments arguments,
        std::optional<attention::Layout> layout)
      : operation_(operation), arguments_(std::move(arguments)), layout_(layout) {
    for (auto& [name, array] : arguments_.arrays) {
      array = transposed(operation_, name, std::move(array), layout_);
    }
  }

  attention::CallTimes run(attention::NamedResults& results) const {
    attention::CallTimes times;
    NamedArguments arguments = arguments_;
    arguments.times = &times;
    attention::CallTimes transposing;
    for (auto& [name, array] : arguments.arrays) {
      transpose(name, array, name.starts_with("cotangent_"), transposing);
    }
    results = attention::run(operation_, arguments);
    for (auto& [name, array] : results)
      transpose(name, array, name.starts_with("grad_"), transposing);
    return {times.forward + transposing.forward, times.backward + transposing.backward};
  }

 private:
  void transpose(const std::string& name, Tensor& array, bool backward,
                 attention::CallTimes& seconds) const {
    if (!layout_) return;
    (backward ? seconds.backward : seconds.forward) +=
        seconds_of([&] { array = transposed(operation_, name, std::move(array), layout_); });
  }

  const Operation& operation_;
  NamedArguments arguments_;
  std::optional<attention::Layout> layout_;
};

BenchLine line_of(std::vector<double> seconds, double bytes) {
  std::ranges::sort(seconds);
  BenchLine line;
  line.repeats = std::ssize(seconds);
  line.median = seconds[seconds.size() / 2];
  line.least = seconds.front();
  line.most = seconds.back();
  line.bandwidth = bytes / line.median * 1e-9;
  return line;
}

/// Times the forward pass, and the backward pass if there are cotangents among the arguments.
std::vector<BenchLine> timed(const Operation& operation, const NamedArguments& arguments,
                             const BenchOptions& options) {
  const Timer timer(operation, arguments, options.layout);
  attention::NamedResults results;
  timer.run(results);
  std::vector<double> forward, backward;
  for (Index i = 0; i < options.repeats; ++i) {
    const attention::CallTimes times = timer.run(results);
    forward.push_back(times.forward);
    backward.push_back(times.backward);
  }
  std::vector<BenchLine> out{line_of(forward, bytes_of(arguments, results, false))};
  out[0].pass = "forward";
  if (arguments.arrays.contains("cotangent_out")) {
    out.push_back(line_of(backward, bytes_of(arguments, results, true)));
    out[1].pass = "backward";
  }
  for (BenchLine& line : out) {
    line.operation = operation.name;
    line.backend = name(arguments.context.backend);
  }
  return out;
}

/// Adds random cotangents, so that they need not be generated while the call is timed.
void add_cotangents(const Operation& operation, NamedArguments& arguments) {
  const attention::NamedResults results = run(operation, arguments);
  std::uint64_t seed = 1;
  for (const char* name : {"out", "final_state"}) {
    const auto found = results.find(name);
    if (found == results.end()) continue;
    const Tensor& like = found->second;
    arguments.arrays[std::string("cotangent_") + name] =
        astype(attention::random_normal(like.shape(), seed++), like.dtype());
  }
}

class Bench {
 public:
  Bench(const BenchOptions& options, Session& session) : options_(options), session_(session) {}

  std::vector<BenchLine> run() {
    for_each_mask([this](const Operation& operation, Index size, const std::string& label,
                         const Mask* mask) { run_backends(operation, size, label, mask); });
    return std::move(lines_);
  }

  /// Times the calls with the work split over ranks. The reports are complete at rank 0 only.
  std::vector<RankBenchReport> run(attention::Communicator& world) {
    std::vector<RankBenchReport> runs;
    for_each_mask(
        [&](const Operation& operation, Index size, const std::string& label, const Mask* mask) {
          for (const Backend backend : options_.backends) {
            RankBench bench = rank_bench(operation, size, label, mask, backend);
            runs.push_back(bench_over_ranks(options_.ranks, std::move(bench), world));
          }
        });
    return runs;
  }

 private:
  /// Calls f(operation, size, label, mask) for every combination. `mask` is null for operations
  /// without a mask.
  template <class F>
  void for_each_mask(F&& f) {
    for (const std::string& name : options_.operations) {
      const Operation& operation = operation_named(name);
      for (const Index size : options_.sizes) {
        axes_ = parse_axes(options_.axes, size);
        if (!operation.takes_mask()) {
          f(operation, size, "-", nullptr);
          continue;
        }
        for (const std::string& pipeline : options_.masks) {
          const Mask mask = mask_of(pipeline);
          f(operation, size, pipeline, &mask);
        }
      }
    }
  }

  Mask mask_of(const std::string& pipeline) {
    SourceOptions source;
    if (pipeline != "full") source.transforms = {pipeline};
    Loader loader(source, session_);
    return loader.transformed(Mask(full_plane(axes_.at("Tq"), axes_.at("Tk"))));
  }

  static NamedArguments arguments_under(const Operation& operation, const Mask* mask) {
    NamedArguments arguments;
    if (!mask) return arguments;
    arguments = without_closing(operation, std::move(arguments));
    arguments.mask = *mask;
    return arguments;
  }

  attention::RandomArrays random_arrays() const {
    return {.extents = axes_,
            .seed = 1,
            .dtype = options_.random_dtype.value_or(DType::kFloat32),
            .max_bytes = session_.settings().max_bytes,
            .usual = true};
  }

  RankBench rank_bench(const Operation& operation, Index size, const std::string& label,
                       const Mask* mask, Backend backend) const {
    RankBench bench{&operation, {}, arguments_under(operation, mask), {}};
    bench.arguments.context.backend = backend;
    bench.report = {.operation = std::string(operation.name),
                    .mask = label,
                    .backend = std::string(name(backend)),
                    .size = size,
                    .repeats = options_.repeats,
                    .backward = {},
                    .ranks = {}};
    if (options_.backward && operation.has_gradients()) bench.arguments.gradient_seed = 1;
    attention::RandomArrays random = random_arrays();
    random.parts = &bench.arrays.random();
    add_random_arrays(operation, random, bench.arguments);
    return bench;
  }

  void run_backends(const Operation& operation, Index size, const std::string& label,
                    const Mask* mask) {
    NamedArguments arguments = arguments_under(operation, mask);
    add_random_arrays(operation, random_arrays(), arguments);
    arguments.context.backend = options_.backends.front();
    if (options_.backward && operation.has_gradients()) add_cotangents(operation, arguments);
    for (const Backend backend : options_.backends) {
      arguments.context.backend = backend;
      for (BenchLine& line : timed(operation, arguments, options_)) {
        line.mask = label;
        line.size = size;
        if (mask) add_rates(*mask, backend, line);
        lines_.push_back(std::move(line));
      }
    }
  }

  /// Sets the rates of a line: "useful" counts the work of open cells, "executed" that of all cells
  /// which are computed. The CPU kernel skips groups of kRowGroup x kColumnGroup cells (in the
  /// backward pass kColumnGroup x kRowGroup) in which no cell is open.
  void add_rates(const Mask& mask, Backend backend, BenchLine& line) const {
    using attention::kColumnGroup, attention::kRowGroup;
    static constexpr BlockSize kGroups[] = {{kRowGroup, kColumnGroup}, {kColumnGroup, kRowGroup}};
    const PlaneStats cells = mask_stats(mask, kGroups).total;
    const Index copies = (axes_.at("B") / mask.batch()) * (axes_.at("Hq") / mask.heads());
    const bool backward = line.pass == "backward";
    const auto rate = [&](Index done) {
      const auto work = flops(done, axes_.at("D"), axes_.at("Dv"));
      return static_cast<double>(copies) * (backward ? work.backward : work.forward) / line.median *
             1e-9;
    };
    line.useful = rate(cells.open);
    if (backend == Backend::kCpu) line.executed = rate(cells.blocks[backward ? 1 : 0].executed);
  }

  const BenchOptions& options_;
  Session& session_;
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

Answer run(const BenchOptions& given, Session& session) {
  BenchOptions options = given;
  if (options.operations.empty()) options.operations = {"flash_attention"};
  if (options.masks.empty()) options.masks = {"full", "causal", "window:keys=256"};
  for (const Backend backend : options.backends) require_backend(backend, "--backend");
  // main() has set this limit to 0. Time calls with the default, as in other programs that use the
  // library.
  process_pool().limit(kDefaultPoolLimit);
  check_ranks(options.ranks, "bench", options.layout ? kUnfitLayout : "");
  const MachineReport machine = machine_report();
  if (options.ranks.given()) {
    return over_ranks(options.ranks, options.backends.front(), session,
                      [&](attention::Communicator& world, Session& own) -> Answer {
                        const std::vector<RankBenchReport> runs = Bench(options, own).run(world);
                        return answer_in(
                            options.json, [&] { return rank_bench_text(options.ranks, runs); },
                            [=] {
                              return rank_bench_json(machine, options.ranks.mesh,
                                                     options.ranks.assign_name(), runs);
                            });
                      });
  }
  const std::vector<BenchLine> lines = Bench(options, session).run();
  return answer_in(
      options.json, [&] { return bench_text(machine, lines); },
      [=] { return bench_json(machine, lines); });
}

}  // namespace

extern const Command kBench = command<BenchOptions, declare, run>({
    .name = "bench",
    .group = kJudge,
    .operands = "[OPERATION...]",
    .summary = "time operations over sizes, masks and backends",
    .examples =
        "  maskctl bench\n"
        "  mpirun -n 4 maskctl bench ring_attention --mesh sp=4 --assign zigzag --mask causal\n"
        "  maskctl bench flash_attention --size 1024+4096 --mask causal --axes D=128 --backward\n",
});

}  // namespace maskctl::app
