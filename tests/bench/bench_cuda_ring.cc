// Times ring attention between the GPUs of this machine, on arrays that stay there, beside one GPU
// that does all of the work: bench_cuda_ring [--gpus N] [--tokens-per-gpu N] [--round SECONDS]
// [--seed N]. With a seed the documents are random, as in ring_model.
//
// Prints one line of JSON for each figure. "of ideal" is the time of one GPU divided by the number
// of GPUs, over the time of the ring. A GPU under load lowers its clock within tens of
// milliseconds: so the ring and the one GPU take turns in three rounds, and only the second half of
// each counts.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "bench.h"
#include "gpu_cases.h"
#include "maskctl/attention/arrays/slices.h"
#include "maskctl/attention/cuda/host_call.h"
#include "maskctl/attention/cuda/ring/ring.h"
#include "maskctl/attention/operations/ring/ring.h"
#include "maskctl/attention/sharded/gather.h"
#include "maskctl/attention/softmax/checked.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention;

struct Settings {
  int gpus = 0;  // 0: all GPUs
  Index tokens_per_gpu = 16 << 10;
  double round_seconds = 0.3;
  unsigned seed = 0;  // seed of random documents; 0: fixed documents
} settings;

constexpr Index kHeads = 16, kDim = 128;
constexpr int kRounds = 3;
constexpr DType kType = DType::kBFloat16;

void print(std::string_view figure, std::string_view subject, std::string_view unit, double value) {
  fmt::print("{{\"figure\": \"{}\", \"case\": \"{}\", \"unit\": \"{}\", \"value\": {:.5g}}}\n",
             figure, subject, unit, value);
  std::fflush(stdout);
}

// Overloads give the kernels of one GPU and those of the ring one name per pass.
void forward(cuda::Workspace& workspace, const SoftmaxProblem& problem,
             const cuda::SoftmaxPlan& plan, const SoftmaxOutputs& out) {
  cuda::softmax_forward(workspace, problem, plan, out);
}
void forward(cuda::Workspace& workspace, const RingProblem& problem, const cuda::RingPlan& plan,
             const SoftmaxOutputs& out) {
  cuda::ring_forward(workspace, problem, plan, out);
}
void backward(cuda::Workspace& workspace, const SoftmaxProblem& problem,
              const cuda::SoftmaxBackwardPlan& plan, const SoftmaxBackwardInputs& inputs,
              const SoftmaxGradientOutputs& gradients) {
  cuda::softmax_backward(workspace, problem, plan, inputs, gradients);
}
void backward(cuda::Workspace& workspace, const RingProblem& problem,
              const cuda::RingBackwardPlan& plan, const SoftmaxBackwardInputs& inputs,
              const SoftmaxGradientOutputs& gradients) {
  cuda::ring_backward(workspace, problem, plan, inputs, gradients);
}

/// The forward and backward pass of a call whose arrays are on the current GPU. The query also
/// serves as d_out.
template <class Problem, class Plan, class BackwardPlan>
class Passes {
 public:
  explicit Passes(const Problem& problem)
      : plan_(problem, host_call_.stream()),
        backward_plan_(problem, host_call_.stream()),
        problem_(cuda::to_device(host_call_, problem)),
        out_{room(kType, problem.query.shape()),
             room(DType::kFloat32, std::vector<Index>{1, kHeads, problem.query.extent(1)})},
        gradients_{room(kType, problem.query.shape()),
                   room(kType, problem.key.shape()),
                   room(kType, problem.value.shape()),
                   {},
                   {}} {}

  void run(bool is_backward) {
    if (!is_backward) return forward(host_call_.workspace(), problem_, plan_, out_);
    backward(host_call_.workspace(), problem_, backward_plan_,
             {out_.out, out_.lse, problem_.query, {}}, gradients_);
  }
  void wait() { cuda::check(cudaStreamSynchronize(host_call_.stream()), "cudaStreamSynchronize"); }

 private:
  MutableTensorView room(DType dtype, std::span<const Index> shape) {
    Index elements = 1;
    for (const Index extent : shape) elements *= extent;
    buffers_.emplace_back(as_size(elements * size_bytes(dtype)), host_call_.stream());
    return {buffers_.back().data(), dtype, shape, {MemorySpace::kDevice, 0}};
  }

  cuda::HostCall host_call_;
  std::vector<cuda::DeviceBuffer> buffers_;
  Plan plan_;
  BackwardPlan backward_plan_;
  Problem problem_;
  SoftmaxOutputs out_;
  SoftmaxGradientOutputs gradients_;
};
using OneGpu = Passes<SoftmaxProblem, cuda::SoftmaxPlan, cuda::SoftmaxBackwardPlan>;
using RankGpu = Passes<RingProblem, cuda::RingPlan, cuda::RingBackwardPlan>;

/// Runs `passes` passes to warm up, then as many again; returns the mean seconds of one of the
/// latter. `meet` waits for the other ranks.
template <class Side>
double seconds_of(Side& side, bool is_backward, int passes, const std::function<void()>& meet) {
  const auto run = [&] {
    for (int i = 0; i < passes; ++i) side.run(is_backward);
  };
  run();
  side.wait(), meet();
  return bench::seconds([&] { run(), side.wait(), meet(); }) / passes;
}

struct Case {
  const char* name;
  PlanePtr (*plane)(Index tokens);
  Assign assign;
};

/// The seconds of forward [0] and backward [1] in every round, on one GPU and in the ring.
struct Times {
  std::vector<double> one[2], ring[2];
};

int passes_in_half_round(double seconds) {
  return std::max(3, static_cast<int>(settings.round_seconds / 2 / seconds));
}

/// Prints a line for each rank and pass, with the time and the bytes of each step of the ring.
void print_steps(Communicator& ring, RankGpu& rank, RingAttentionOptions& options) {
  for (const bool is_backward : {false, true}) {
    std::vector<RingStep> steps;
    for (int i = 0; i < 3; ++i) {
      options.steps = &steps;
      steps.clear();
      meet(ring);
      rank.run(is_backward);
    }
    options.steps = nullptr;
    std::string text =
        fmt::format("# rank {} {}:", ring.rank(), is_backward ? "backward" : "forward");
    for (const RingStep& step : steps) {
      text += fmt::format("  {:.3f} ms after {:.3f}, {} MiB;", 1e3 * step.seconds,
                          1e3 * step.waited, step.bytes >> 20);
    }
    for (const std::string& line : gathered_texts(ring, text)) fmt::print("{}\n", line);
  }
}

/// Times the ring and, on rank 0, one GPU alone. Every rank calls it; rank 0 gets the times.
Times measure(Communicator& ring, const Mask& mask, const Tensor& whole,
              RingAttentionOptions options) {
  const Tensor part = take(
      whole,
      along(whole, 1, assigned_queries(options.assign, mask, ring.size())[as_size(ring.rank())]));
  const Tensor keys = slice_of(whole, 1, part_of(whole.extent(1), ring.size(), ring.rank()));
  const RingShard shard(ring, part, keys, keys, options);
  RankGpu rank(RingProblem{&ring, &shard, part, keys, keys, {}});
  std::optional<OneGpu> one;
  if (ring.rank() == 0) {
    SoftmaxOptions softmax;
    softmax.context.backend = Backend::kCuda;
    one.emplace(checked_softmax({&whole, &whole, &whole, &mask, nullptr, nullptr}, softmax));
  }
  print_steps(ring, rank, options);
  const auto meeting = [&ring] { meet(ring); };
  int passes[2] = {};
  Times times;
  for (int round = 0; round <= kRounds; ++round) {
    for (const bool is_backward : {false, true}) {
      const int n = std::max(1, passes[is_backward]);
      meet(ring);
      double of_one = 0;
      if (one)
        of_one =
            seconds_of(*one, is_backward, std::max(1, n / static_cast<int>(ring.size())), [] {});
      meet(ring);
      const double of_ring = seconds_of(rank, is_backward, n, meeting);
      if (round == 0) {  // the first round sets the number of passes, the same on all ranks
        Tensor own(DType::kFloat64, {1});
        own.as<double>()[0] = of_ring;
        passes[is_backward] = passes_in_half_round(gathered(ring, own)[0].as<double>()[0]);
      } else if (one) {
        times.one[is_backward].push_back(of_one), times.ring[is_backward].push_back(of_ring);
      }
    }
  }
  return times;
}

void report(const Case& one, Index tokens, Index gpus, const Times& times) {
  const std::string subject = fmt::format("{} {} {}, {} GPUs", bench::tokens_text(tokens), one.name,
                                          kAssignWords[static_cast<std::size_t>(one.assign)], gpus);
  double ideal = 0, seen = 0;
  for (const bool is_backward : {false, true}) {
    const std::string pass = is_backward ? "backward" : "forward";
    const double of_one = bench::median(times.one[is_backward]);
    const double of_ring = bench::median(times.ring[is_backward]);
    print("one GPU " + pass, subject, "ms", 1e3 * of_one);
    print("ring " + pass, subject, "ms", 1e3 * of_ring);
    ideal += of_one / static_cast<double>(gpus), seen += of_ring;
    print("ring " + pass, subject, "of ideal", of_one / static_cast<double>(gpus) / of_ring);
  }
  print("ring forward + backward", subject, "of ideal", ideal / seen);
}

void bench_case(const Case& one, Index gpus) {
  const Index tokens = gpus * settings.tokens_per_gpu;
  const Tensor whole = bench::noise(kType, {1, tokens, kHeads, kDim});
  const Mask mask(one.plane(tokens));
  RingAttentionOptions options;
  options.softmax.context.backend = Backend::kCuda;
  options.mask.mask = &mask;
  options.assign = one.assign;
  options.all_queries = tokens;
  run_ring(gpus, [&](Communicator& ring) {
    cuda::use_gpu(static_cast<int>(ring.rank()));
    const Times times = measure(ring, mask, whole, options);
    if (ring.rank() == 0) report(one, tokens, gpus, times);
  });
}

/// Times the copy of a rank's keys from one GPU to another.
void bench_copy() {
  const std::size_t bytes = as_size(settings.tokens_per_gpu * kHeads * kDim * 2);
  cuda::use_gpu(1);
  const cuda::OwnStream there;
  const cuda::DeviceBuffer from(bytes, there.get());
  there.synchronize();
  cuda::use_gpu(0);
  cuda::connect_gpus();
  const cuda::OwnStream stream;
  const cuda::DeviceBuffer to(bytes, stream.get());
  const auto copy = [&](int n) {
    for (int i = 0; i < n; ++i) {
      cuda::copy_between_gpus(to.data(), 0, from.data(), 1, bytes, stream.get());
    }
    stream.synchronize();
  };
  copy(4);
  const double seconds = bench::seconds([&] { copy(32); }) / 32;
  print("copy between GPUs", fmt::format("{} MiB", bytes >> 20), "GB/s",
        1e-9 * static_cast<double>(bytes) / seconds);
}

double rms(const Tensor& seen, const Tensor& expected) {
  const Tensor a = astype(seen, DType::kFloat64), b = astype(expected, DType::kFloat64);
  double sum = 0;
  for (std::size_t i = 0; i < a.as<double>().size(); ++i) {
    const double off = a.as<double>()[i] - b.as<double>()[i];
    if (std::isfinite(off)) sum += off * off;
  }
  return std::sqrt(sum / static_cast<double>(a.elements()));
}

/// Prints the ring's errors divided by those of one GPU, both against the reference in float64.
void bench_errors(Index gpus) {
  const Index tokens = 512 * gpus;
  const auto normal = [&](std::uint64_t seed) {
    return astype(random_normal({1, tokens, 4, kDim}, seed), kType);
  };
  const Tensor q = normal(1), k = normal(2), v = normal(3), d_out = normal(4);
  RingAttentionOptions options;
  options.mask.causal = true;
  options.assign = Assign::kZigzag;
  const auto results = [&](Backend backend, Index ranks) {
    options.softmax.context.backend = backend, options.ring_size = ranks;
    SoftmaxResult result = ring_attention(q, k, v, options);
    SoftmaxGradients gradients = ring_attention_backward(q, k, v, result, d_out, options);
    return std::pair(std::move(result), std::move(gradients));
  };
  const auto judge = results(Backend::kReference, 1), one = results(Backend::kCuda, 1),
             ring = results(Backend::kCuda, gpus);
  const auto compare = [&](const char* what, auto&& of) {
    print(std::string("error of ") + what, fmt::format("{} causal zigzag, {} GPUs", tokens, gpus),
          "of one GPU's", rms(of(ring), of(judge)) / rms(of(one), of(judge)));
  };
  compare("out", [](const auto& r) -> const Tensor& { return r.first.out; });
  compare("lse", [](const auto& r) -> const Tensor& { return r.first.lse; });
  compare("d_query", [](const auto& r) -> const Tensor& { return r.second.query; });
  compare("d_key", [](const auto& r) -> const Tensor& { return r.second.key; });
  compare("d_value", [](const auto& r) -> const Tensor& { return r.second.value; });
}

bool read_arguments(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--gpus") {
      settings.gpus = std::atoi(argv[i + 1]);
    } else if (name == "--tokens-per-gpu") {
      settings.tokens_per_gpu = std::atoll(argv[i + 1]);
    } else if (name == "--round") {
      settings.round_seconds = std::atof(argv[i + 1]);
    } else if (name == "--seed") {
      settings.seed = static_cast<unsigned>(std::atoi(argv[i + 1]));
    } else {
      return false;
    }
  }
  return argc % 2 == 1;
}

PlanePtr documents(Index tokens) {
  return settings.seed == 0 ? bench::documents(tokens)
                            : bench::random_documents(tokens, settings.seed);
}

constexpr Case kCases[] = {{"causal", bench::causal, Assign::kZigzag},
                           {"causal", bench::causal, Assign::kBalanced},
                           {"documents", documents, Assign::kContiguous},
                           {"documents", documents, Assign::kBalanced}};

}  // namespace

int main(int argc, char** argv) {
  if (!read_arguments(argc, argv)) {
    std::fputs(
        "usage: bench_cuda_ring [--gpus N] [--tokens-per-gpu N] [--round SECONDS] [--seed N]\n",
        stderr);
    return 2;
  }
  try {
    const int gpus = settings.gpus > 0 ? settings.gpus : cuda::gpus();
    if (gpus < 2) {
      fmt::print("# {} GPU: there is nobody to share with\n", gpus);
      return 0;
    }
    bench_copy();
    bench_errors(gpus);
    for (const Case& one : kCases) bench_case(one, gpus);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_cuda_ring: {}\n", error.what());
    return 1;
  }
  return 0;
}
