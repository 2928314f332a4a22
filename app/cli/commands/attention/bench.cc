// maskctl bench: times operations for combinations of sizes, masks and backends.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <span>

#include "app/cli/commands/attention/bench_ranks.h"
#include "app/cli/commands/attention/call.h"
#include "app/cli/commands/attention/layout.h"
#include "app/cli/commands/attention/machine.h"
#include "app/cli/commands/command.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/reports/attention_json.h"
#include "app/reports/bench_text.h"
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
  bool markdown = false;
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
  list.flag("--markdown", "print a Markdown table", bench.markdown);
  list.json("maskctl.bench/1, or with --mesh maskctl.bench-ranks/1", bench.json);
}

using attention::Backend;
using attention::NamedArguments;
using attention::Operation;

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

  struct Ran {
    attention::CallTimes times;
    attention::NamedResults results;
  };
  Ran run(Backend backend) const {
    Ran out;
    attention::CallTimes& times = out.times;
    NamedArguments arguments = arguments_;
    arguments.context.backend = backend;
    arguments.times = &times;
    attention::CallTimes transposing;
    for (auto& [name, array] : arguments.arrays) {
      transpose(name, array, name.starts_with("cotangent_"), transposing);
    }
    out.results = attention::run(operation_, arguments);
    for (auto& [name, array] : out.results)
      transpose(name, array, name.starts_with("grad_"), transposing);
    times.forward += transposing.forward;
    times.backward += transposing.backward;
    return out;
  }

  bool has_backward() const { return arguments_.arrays.contains("cotangent_out"); }
  /// The bytes of the arrays and results of a pass.
  double bytes(const attention::NamedResults& results, bool backward) const {
    std::size_t bytes = 0;
    for (const auto& [name, tensor] : arguments_.arrays) {
      if (backward || !name.starts_with("cotangent_")) bytes += tensor.bytes().size();
    }
    for (const auto& [name, tensor] : results) {
      if (backward || !name.starts_with("grad_")) bytes += tensor.bytes().size();
    }
    return static_cast<double>(bytes);
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

/// A mask and a backend that are timed, and the times of each round.
struct Case {
  const Timer* timer = nullptr;
  Backend backend = Backend::kCpu;
  std::string label;
  const Mask* mask = nullptr;  // null for operations without a mask
  double forward_bytes = 0, backward_bytes = 0;
  std::vector<double> forward = {}, backward = {};  // seconds; no backward ones without that pass
};

BenchSpread spread_of(std::vector<double> values) {
  std::ranges::sort(values);
  return {values[values.size() / 2], values.front(), values.back()};
}

BenchLine line_of(const std::vector<double>& seconds, const std::vector<double>& first,
                  double bytes) {
  BenchLine line;
  line.repeats = std::ssize(seconds);
  line.seconds = spread_of(seconds);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < seconds.size(); ++i) ratios.push_back(seconds[i] / first[i]);
  line.ratio = spread_of(ratios);
  line.bandwidth = bytes / line.seconds.median * 1e-9;
  return line;
}

/// Runs each case once untimed, then all of them in turn in each round, so that a ratio is of two
/// times taken close together.
void time_rounds(std::span<Case> cases, Index rounds) {
  for (Case& one : cases) {
    const attention::NamedResults results = one.timer->run(one.backend).results;
    one.forward_bytes = one.timer->bytes(results, false);
    one.backward_bytes = one.timer->bytes(results, true);
  }
  for (Index i = 0; i < rounds; ++i) {
    for (Case& one : cases) {
      const attention::CallTimes times = one.timer->run(one.backend).times;
      one.forward.push_back(times.forward);
      if (one.timer->has_backward()) one.backward.push_back(times.backward);
    }
  }
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
    for_each_size([this](const Operation& operation, Index size,
                         const std::vector<Labelled>& masks) { time(operation, size, masks); });
    return std::move(lines_);
  }

  /// Times the calls with the work split over ranks. The reports are complete at rank 0 only.
  std::vector<RankBenchReport> run(attention::Communicator& world) {
    std::vector<RankBenchReport> runs;
    for_each_size([&](const Operation& operation, Index size, const std::vector<Labelled>& masks) {
      for (const Labelled& one : masks) {
        for (const Backend backend : options_.backends) {
          RankBench bench = rank_bench(operation, size, one.label, one.pointer(), backend);
          runs.push_back(bench_over_ranks(options_.ranks, std::move(bench), world));
        }
      }
    });
    return runs;
  }

 private:
  struct Labelled {
    std::string label;
    std::optional<Mask> mask;  // absent for operations without a mask
    const Mask* pointer() const { return mask ? &*mask : nullptr; }
  };

  /// Calls f(operation, size, masks) for every operation and size.
  template <class F>
  void for_each_size(F&& f) {
    for (const std::string& name : options_.operations) {
      const Operation& operation = operation_named(name);
      for (const Index size : options_.sizes) {
        axes_ = parse_axes(options_.axes, size);
        std::vector<Labelled> masks;
        if (!operation.takes_mask()) masks.push_back({"-", {}});
        for (const std::string& pipeline : options_.masks) {
          if (operation.takes_mask()) masks.push_back({pipeline, mask_of(pipeline)});
        }
        f(operation, size, masks);
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

  /// Times all masks and backends of an operation and size.
  void time(const Operation& operation, Index size, const std::vector<Labelled>& masks) {
    std::deque<Timer> timers;
    std::vector<Case> cases;
    for (const Labelled& one : masks) {
      NamedArguments arguments = arguments_under(operation, one.pointer());
      add_random_arrays(operation, random_arrays(), arguments);
      arguments.context.backend = options_.backends.front();
      if (options_.backward && operation.has_gradients()) add_cotangents(operation, arguments);
      timers.emplace_back(operation, std::move(arguments), options_.layout);
      for (const Backend backend : options_.backends) {
        cases.push_back({&timers.back(), backend, one.label, one.pointer()});
      }
    }
    time_rounds(cases, options_.repeats);
    for (const Case& one : cases) {
      const auto add = [&](const char* pass, const std::vector<double>& seconds,
                           const std::vector<double>& first, double bytes) {
        if (seconds.empty()) return;
        BenchLine line = line_of(seconds, first, bytes);
        line.pass = pass;
        line.operation = operation.name;
        line.backend = name(one.backend);
        line.mask = one.label;
        line.size = size;
        if (one.mask) add_rates(*one.mask, one.backend, line);
        lines_.push_back(std::move(line));
      };
      add("forward", one.forward, cases.front().forward, one.forward_bytes);
      add("backward", one.backward, cases.front().backward, one.backward_bytes);
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
      return static_cast<double>(copies) * (backward ? work.backward : work.forward) /
             line.seconds.median * 1e-9;
    };
    line.useful = rate(cells.open);
    if (backend == Backend::kCpu) line.executed = rate(cells.blocks[backward ? 1 : 0].executed);
  }

  const BenchOptions& options_;
  Session& session_;
  attention::AxisExtents axes_;
  std::vector<BenchLine> lines_;
};

Answer run(const BenchOptions& given, Session& session) {
  BenchOptions options = given;
  if (options.operations.empty()) options.operations = {"flash_attention"};
  if (options.masks.empty()) options.masks = {"full", "causal", "window:keys=256"};
  if (options.markdown && (options.json || options.ranks.given())) {
    throw Error(Errc::kInvalidArgument, fmt::format("bench: --markdown cannot be combined with {}",
                                                    options.json ? "--json" : "--mesh"));
  }
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
      options.json, [&] { return bench_text(machine, lines, options.markdown); },
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
        "  maskctl bench flash_attention --size 1024+4096 --mask causal --axes D=128 --backward\n"
        "  maskctl bench --mask full --mask causal --repeat 9 --markdown\n",
});

}  // namespace maskctl::app
