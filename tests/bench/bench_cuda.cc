// Kernels on arrays of the GPU, timed by its own clock; one line of JSON for each figure:
// bench_cuda [--only CASES] [--most-tokens N] [--round SECONDS].
//
// A GPU under load lowers its clock within tens of milliseconds. So the sides of a case take turns
// in three rounds of a quarter of a second each, and only the second half of each round counts.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

#include "bench.h"
#include "maskctl/attention/by_name.h"
#include "maskctl/attention/cuda/host_door.h"
#include "maskctl/attention/cuda/softmax/softmax.h"
#include "maskctl/base/text.h"
#include "maskctl/mask/bands.h"
#include "maskctl/mask/leaves.h"
#include "maskctl/tensor/convert.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention;

struct Settings {
  std::string_view only;
  Index most_tokens = Index{1} << 17;
  double round_seconds = 0.25;
} settings;

/// A point in a stream's time.
class Event {
 public:
  Event() { cuda::check(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cuda::Stream stream) const {
    cuda::check(cudaEventRecord(event_, stream), "cudaEventRecord");
  }
  double seconds_since(const Event& begin) const {
    float milliseconds = 0;
    cuda::check(cudaEventSynchronize(event_), "cudaEventSynchronize");
    cuda::check(cudaEventElapsedTime(&milliseconds, begin.event_, event_), "cudaEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Work that is timed: each run does `amount` of `unit` per second, or is its time itself.
struct Timed {
  std::string figure;
  cuda::Stream stream;
  std::function<void()> run;
  double amount = 0;  // 0: milliseconds are the figure
  const char* unit = "ms";
  std::vector<double> seconds = {};

  double figure_of(double second) const { return amount > 0 ? amount / second : 1e3 * second; }
};

/// Runs one round. Several runs are in the stream at a time, so that short ones do not wait for the
/// host.
void run_round(Timed& side) {
  const std::array<Event, 17> marks;
  std::size_t runs = 1, kept = 0;
  for (double spent = 0; spent < settings.round_seconds || kept == 0;) {
    const bool counts = spent >= settings.round_seconds / 2;
    marks[0].record(side.stream);
    for (std::size_t i = 1; i <= runs; ++i) side.run(), marks[i].record(side.stream);
    for (std::size_t i = 1; i <= runs; ++i) {
      const double seconds = marks[i].seconds_since(marks[i - 1]);
      if (counts) side.seconds.push_back(seconds), ++kept;
      spent += seconds;
    }
    if (spent < settings.round_seconds / 4) runs = std::min(2 * runs, marks.size() - 1);
  }
}

void print(const Timed& side, std::string_view subject) {
  const auto [least, most] = std::ranges::minmax(side.seconds);
  const double median = bench::median(side.seconds);
  fmt::print(
      R"({{"figure": "{}", "case": "{}", "unit": "{}", "value": {:.5g}, "median_ms": {:.5g}, )"
      R"("spread": {:.3f}, "runs": {}}})"
      "\n",
      side.figure, subject, side.unit, side.figure_of(median), 1e3 * median,
      (most - least) / median, side.seconds.size());
  std::fflush(stdout);
}

/// Times the sides of a case in turn, and prints them.
void measure(std::string_view subject, std::vector<Timed>& sides) {
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    for (Timed& side : sides) run_round(side);
  }
  for (const Timed& side : sides) print(side, subject);
}

/// A kernel with its plan, its arrays on the GPU, and its stream.
template <auto kernel>
class OnDevice;
template <class Problem, class Plan, class... Arrays,
          void (*kernel)(cuda::Workspace&, const Problem&, const Plan&, const Arrays&...)>
class OnDevice<kernel> {
 public:
  explicit OnDevice(const Problem& problem, const Arrays&... arrays)
      : plan_(problem, visit_.stream()),
        problem_(lent_there(problem)),
        arrays_(lent_there(arrays)...) {}

  Timed side(std::string figure, double amount, const char* unit) {
    return {std::move(figure), visit_.stream(), [this] { run(); }, amount, unit};
  }

 private:
  template <class T>
  T lent_there(const T& arrays) {
    using cuda::lent;
    return lent(visit_, arrays);
  }
  void run() {
    std::apply(
        [this](const auto&... arrays) { kernel(visit_.workspace(), problem_, plan_, arrays...); },
        arrays_);
  }

  cuda::Visit visit_;
  Plan plan_;
  Problem problem_;
  std::tuple<Arrays...> arrays_;
};

/// Normal numbers, the same ones again and again: a large array is made in the time of a copy.
Tensor noise(DType dtype, std::vector<Index> shape) {
  static const Tensor kNumbers = random_normal({Index{1} << 20}, 1);
  Tensor out = Tensor::unwritten(dtype, std::move(shape));
  const Tensor numbers = astype(kNumbers, dtype);
  const std::span<const std::byte> from = numbers.bytes();
  for (auto to = out.bytes(); !to.empty(); to = to.subspan(std::min(to.size(), from.size()))) {
    std::memcpy(to.data(), from.data(), std::min(to.size(), from.size()));
  }
  return out;
}

std::string tokens_text(Index tokens) {
  return tokens % 1024 == 0 ? fmt::format("{}k", tokens / 1024) : fmt::format("{}", tokens);
}

PlanePtr causal(Index tokens) { return diagonal_band(tokens, tokens, -kUnbounded, 0); }

/// 16 documents of unequal lengths, causal.
PlanePtr documents(Index tokens) {
  std::vector<std::int32_t> ids(as_size(tokens));
  for (Index t = 0; t < tokens; ++t) {
    const double at = static_cast<double>(t) / static_cast<double>(tokens);
    ids[as_size(t)] = static_cast<std::int32_t>(16 * at * std::sqrt(at));
  }
  return combine(Op::kAnd, equal_ids(ids, ids, -1, Side::kBoth), causal(tokens));
}

// D 128, H * D = 2048, one batch: forward, and backward of what it gave.
void bench_softmax() {
  constexpr Index kHeads = 16, kDim = 128;
  for (const Index tokens : {8 << 10, 16 << 10, 32 << 10}) {
    if (tokens > settings.most_tokens) continue;
    for (const auto& [what, plane] :
         {std::pair("causal", causal(tokens)), std::pair("documents", documents(tokens))}) {
      for (const DType dtype : {DType::kBFloat16, DType::kFloat32}) {
        const std::vector<Index> shape{1, tokens, kHeads, kDim};
        const Tensor q = noise(dtype, shape), k = noise(dtype, shape), v = noise(dtype, shape);
        const Mask mask(plane);
        SoftmaxOptions options;
        options.backend = Backend::kCuda;
        const SoftmaxInputs inputs{&q, &k, &v, &mask, nullptr, nullptr};
        const SoftmaxProblem problem = checked_softmax(inputs, options);
        SoftmaxResult result = softmax_forward(inputs, options);
        Tensor d_q(dtype, shape), d_k(dtype, shape), d_v(dtype, shape);
        const double pair = 2.0 * kHeads * kDim * static_cast<double>(mask.count()) * 1e-12;
        OnDevice<cuda::softmax_backward> backward(problem, {result.out, result.lse, q, {}},
                                                  {d_q, d_k, d_v, {}, {}});
        OnDevice<cuda::softmax_forward> forward(problem, {result.out, result.lse});
        std::vector<Timed> sides{forward.side("softmax_forward", 2 * pair, "TFLOP/s"),
                                 backward.side("softmax_backward", 5 * pair, "TFLOP/s")};
        measure(fmt::format("{} {} {}", tokens_text(tokens), what, name(dtype)), sides);
      }
    }
  }
}

/// From a mask on the host to its tile tables on the GPU: by the clock of the host.
void bench_plan() {
  for (const Index tokens : {32 << 10, 128 << 10}) {
    if (tokens > settings.most_tokens) continue;
    const Tensor one(DType::kFloat32, {1, tokens, 1, 1});
    const Mask mask(documents(tokens));
    const SoftmaxProblem problem =
        checked_softmax({&one, &one, &one, &mask, nullptr, nullptr}, SoftmaxOptions{});
    const cuda::OwnStream stream;
    for (const bool both : {false, true}) {
      Timed side{both ? "mask_to_device, for gradients too" : "mask_to_device", stream.get(), {}};
      for (int n = 0; n < 50; ++n) {
        const double seconds = bench::seconds([&] {
          const cuda::SoftmaxPlan plan(problem, stream.get(), both);
          stream.synchronize();
        });
        if (n >= 25) side.seconds.push_back(seconds);
      }
      print(side, fmt::format("{} documents", tokens_text(tokens)));
    }
  }
}

struct Case {
  std::string_view name;
  void (*run)();
};
constexpr Case kCases[] = {{"softmax", bench_softmax}, {"plan", bench_plan}};

bool read_arguments(int argc, char** argv) {
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 == argc) return false;
    if (name == "--only") {
      settings.only = argv[i + 1];
    } else if (name == "--most-tokens") {
      settings.most_tokens = std::atoll(argv[i + 1]);
    } else if (name == "--round") {
      settings.round_seconds = std::atof(argv[i + 1]);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (!read_arguments(argc, argv)) {
    std::fputs("usage: bench_cuda [--only CASE] [--most-tokens N] [--round SECONDS]\n", stderr);
    return 2;
  }
  try {
    for (const Case& one : kCases) {
      if (settings.only.empty() || settings.only == one.name) one.run();
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_cuda: {}\n", error.what());
    return 1;
  }
  return 0;
}
