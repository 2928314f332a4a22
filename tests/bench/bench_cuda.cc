// Times kernels on arrays that are on the GPU, by the GPU's clock, and prints one line of JSON for
// each figure:
// bench_cuda [--only CASES] [--most-tokens N] [--round SECONDS].
//
// A GPU under load lowers its clock within tens of milliseconds. So the sides of a case take turns
// in three rounds of a quarter of a second each, and only the second half of each round counts.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <tuple>

#include "bench.h"
#include "gpu_cases.h"
#include "maskctl/attention/cuda/blocks/block_attention.h"
#include "maskctl/attention/cuda/grouped/grouped_product.h"
#include "maskctl/attention/cuda/host_call.h"
#include "maskctl/attention/cuda/paged/paged.h"
#include "maskctl/attention/cuda/paged/update.h"
#include "maskctl/attention/cuda/softmax/from_host.h"
#include "maskctl/attention/cuda/softmax/softmax.h"
#include "maskctl/attention/operations/native_sparse/checked.h"
#include "maskctl/attention/operations/native_sparse/compression.h"
#include "maskctl/attention/operations/paged/checked.h"
#include "maskctl/attention/softmax/checked.h"
#include "maskctl/base/text.h"
#include "maskctl/kernels/cuda/arrays.h"
#include "maskctl/kernels/cuda/linear/linear.h"
#include "maskctl/kernels/cuda/pooling/mean_pooling.h"
#include "maskctl/kernels/grouped_matmul/checked.h"
#include "maskctl/kernels/linear/checked.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using bench::causal, bench::documents, bench::noise, bench::tokens_text;

struct Settings {
  std::string_view only;
  Index most_tokens = Index{1} << 17;
  double round_seconds = 0.25;
} settings;

/// A CUDA event: marks a point of time in a stream.
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

/// Work to be timed. Its figure is a rate, `amount` of `unit` per second of a run, or where
/// `amount` is 0 the time of a run in `unit`.
struct Timed {
  std::string figure;
  cuda::Stream stream;
  std::function<void()> run;
  double amount = 0;  // 0: the figure is the time
  const char* unit = "ms";
  double units_of_second = 1e3;
  std::vector<double> seconds = {};

  double figure_of(double second) const {
    return amount > 0 ? amount / second : units_of_second * second;
  }
};

/// Times one round of runs. Several runs are queued in the stream at a time, so that short ones do
/// not wait for the host.
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

/// Times the sides of a case (what it compares) in turn, and prints their figures.
void measure(std::string_view subject, std::vector<Timed>& sides) {
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    for (Timed& side : sides) run_round(side);
  }
  for (const Timed& side : sides) print(side, subject);
}

/// A kernel with its plan and stream, and its arrays copied to the GPU.
template <auto kernel>
class OnDevice;
template <class Problem, class Plan, class... Arrays,
          void (*kernel)(cuda::Workspace&, const Problem&, const Plan&, const Arrays&...)>
class OnDevice<kernel> {
 public:
  explicit OnDevice(const Problem& problem, const Arrays&... arrays)
      : plan_(problem, host_call_.stream()),
        problem_(all_to_device(problem)),
        arrays_(all_to_device(arrays)...) {}

  Timed side(std::string figure, double amount, const char* unit) {
    return {std::move(figure), host_call_.stream(), [this] { run(); }, amount, unit};
  }
  /// Times a CUDA graph of 64 calls; the figure is the time of one call.
  Timed graph_side(std::string figure) {
    constexpr double kCalls = 64;
    const cuda::Stream stream = host_call_.stream();
    run();  // allocates the workspace, which cannot grow in a capture
    cudaGraph_t calls = nullptr;
    cuda::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
    for (int i = 0; i < kCalls; ++i) run();
    cuda::check(cudaStreamEndCapture(stream, &calls), "cudaStreamEndCapture");
    cuda::check(cudaGraphInstantiate(&graph_, calls, 0), "cudaGraphInstantiate");
    cudaGraphDestroy(calls);
    const auto repeat = [this, stream] {
      cuda::check(cudaGraphLaunch(graph_, stream), "cudaGraphLaunch");
    };
    return {std::move(figure), stream, repeat, 0, "us", 1e6 / kCalls};
  }
  ~OnDevice() {
    if (graph_) cudaGraphExecDestroy(graph_);
  }

 private:
  template <class T>
  T all_to_device(const T& arrays) {
    using cuda::to_device;
    return to_device(host_call_, arrays);
  }
  void run() {
    std::apply(
        [this](const auto&... arrays) {
          kernel(host_call_.workspace(), problem_, plan_, arrays...);
        },
        arrays_);
  }

  cuda::HostCall host_call_;
  cudaGraphExec_t graph_ = nullptr;
  Plan plan_;
  Problem problem_;
  std::tuple<Arrays...> arrays_;
};

// Times forward and backward attention: one batch entry, 16 heads, head dimension 128.
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
        options.context.backend = Backend::kCuda;
        const SoftmaxInputs inputs{&q, &k, &v, &mask, nullptr, nullptr};
        const SoftmaxProblem problem = checked_softmax(inputs, options);
        SoftmaxProblem any_order = problem;
        any_order.options.deterministic = false;
        SoftmaxResult result = softmax_forward(inputs, options);
        Tensor d_q(dtype, shape), d_k(dtype, shape), d_v(dtype, shape);
        const double pair = 2.0 * kHeads * kDim * static_cast<double>(mask.count()) * 1e-12;
        OnDevice<cuda::softmax_backward> backward(problem, {result.out, result.lse, q, {}},
                                                  {d_q, d_k, d_v, {}, {}});
        OnDevice<cuda::softmax_backward> faster(any_order, {result.out, result.lse, q, {}},
                                                {d_q, d_k, d_v, {}, {}});
        OnDevice<cuda::softmax_forward> forward(problem, {result.out, result.lse});
        std::vector<Timed> sides{forward.side("softmax_forward", 2 * pair, "TFLOP/s"),
                                 backward.side("softmax_backward", 5 * pair, "TFLOP/s"),
                                 faster.side("softmax_backward, any order", 5 * pair, "TFLOP/s")};
        measure(fmt::format("{} {} {}", tokens_text(tokens), what, name(dtype)), sides);
      }
    }
  }
}

struct LinearCase {
  /// The granularity of log decays: one per head, per token and head, or per channel.
  enum Gates { kOfHeads, kOfTokens, kOfChannels };

  const char* name;
  Index batch, tokens, heads, dim;
  Gates gates;
};

// Times linear attention on long sequences, and single steps of decoding, which read and write the
// states.
void bench_linear() {
  constexpr LinearCase kCases[] = {
      {"lightning 8k", 1, 8 << 10, 96, 128, LinearCase::kOfHeads},
      {"a gate per head 8k", 1, 8 << 10, 96, 128, LinearCase::kOfTokens},
      {"gla 8k", 1, 8 << 10, 96, 128, LinearCase::kOfChannels},
      {"decode 64", 64, 1, 32, 128, LinearCase::kOfChannels}};
  for (const LinearCase& c : kCases) {
    if (c.tokens > settings.most_tokens) continue;
    for (const DType dtype : {DType::kBFloat16, DType::kFloat32}) {
      const std::vector<Index> shape{c.batch, c.tokens, c.heads, c.dim};
      const Tensor q = noise(dtype, shape), k = noise(dtype, shape), v = noise(dtype, shape);
      Tensor gates(DType::kFloat32, c.gates == LinearCase::kOfHeads
                                        ? std::vector{c.heads}
                                        : std::vector(shape.begin(), shape.begin() + 2 + c.gates));
      std::ranges::fill(gates.as<float>(), -0.01f);
      const Tensor state(DType::kFloat32, {c.batch, c.heads, c.dim, c.dim});
      RecurrentAttentionInputs inputs{&q, &k, &v};
      (c.gates == LinearCase::kOfHeads ? inputs.g_gamma : inputs.g) = &gates;
      inputs.initial_state = &state;
      const LinearProblem problem = checked_linear(inputs, {});
      Tensor out(dtype, shape), last(DType::kFloat32, state.shape());
      OnDevice<cuda::linear_forward> forward(problem, {out, last});
      Tensor d_q(dtype, shape), d_k(dtype, shape), d_v(dtype, shape),
          d_gates(DType::kFloat32, gates.shape()), d_state(DType::kFloat32, state.shape());
      LinearGradientOutputs gradients{d_q, d_k, d_v, {}, {}, {}, {}, d_state};
      if (c.gates != LinearCase::kOfHeads) gradients.g = d_gates;  // lightning's are constants
      OnDevice<cuda::linear_backward> backward(problem, {q, {}}, gradients);
      std::vector<Timed> sides{forward.side("linear_forward", 0, "ms"),
                               backward.side("linear_backward", 0, "ms")};
      measure(fmt::format("{} {}", c.name, name(dtype)), sides);
    }
  }
}

/// Times making the tile tables on the GPU from a mask on the host, by the host's clock.
void bench_plan() {
  for (const Index tokens : {32 << 10, 128 << 10}) {
    if (tokens > settings.most_tokens) continue;
    const Tensor one(DType::kBFloat16, {1, tokens, 1, 1});
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

/// Lists 16 blocks of 64 keys for each token and key head: the first block, the token's own, and
/// random ones up to its own.
Tensor listed_blocks(Index batch, Index tokens, Index kv_heads) {
  constexpr Index kListed = 16, kBlock = 64;
  Tensor blocks(DType::kInt32, {batch, tokens, kv_heads, kListed});
  const auto ids = blocks.as<std::int32_t>();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Index token = static_cast<Index>(i) / kListed / kv_heads % tokens, own = token / kBlock;
    const Index n = static_cast<Index>(i) % kListed;
    const Index other = static_cast<Index>(i * 2654435761u >> 8) % (own + 1);
    ids[i] = static_cast<std::int32_t>(n == 0 ? 0 : n == 1 ? own : other);
  }
  return blocks;
}

struct BlocksCase {
  Index batch, tokens, heads, kv_heads;
};

// Times attention to listed blocks, and the choice of blocks: 16 query heads per key head, head
// dimension 128.
void bench_blocks() {
  constexpr Index kGroup = 16, kDim = 128;
  constexpr BlocksCase kCases[] = {{1, 8 << 10, 32, 2}, {1, 32 << 10, 32, 2}, {4, 16 << 10, 64, 4}};
  for (const auto& [batch, tokens, heads, kv_heads] : kCases) {
    if (tokens > settings.most_tokens) continue;
    for (const DType dtype : {DType::kBFloat16, DType::kFloat32}) {
      if (batch > 1 && dtype == DType::kFloat32) continue;  // a call would take seconds
      const Tensor q = noise(dtype, {batch, tokens, heads, kDim});
      const Tensor k = noise(dtype, {batch, tokens, kv_heads, kDim}), v = k;
      const Tensor listed = listed_blocks(batch, tokens, kv_heads);
      NativeSparseOptions options;
      options.context.backend = Backend::kCuda, options.duplicate_blocks = DuplicateBlocks::kOnce;
      const NativeSparseInputs inputs{&q, &k, &v, nullptr, nullptr, &listed};
      const BlockProblem problem = checked_selected_problem(inputs, options);
      // Keys and block means that tokens see, summed over tokens and key heads.
      double keys = 0, means_seen = 0;
      for (Index t = 0; t < tokens; ++t) {
        const Index blocks_before = (t + 1) / options.block_size;
        means_seen += static_cast<double>(batch * kv_heads * blocks_before);
        for (Index u = 0; u < kv_heads; ++u) {
          for (std::size_t b = 0; b < as_size(batch); ++b) {
            for (const KeyBlock& block : problem.blocks(b, t, u)) {
              keys += static_cast<double>(block.keys.size());
            }
          }
        }
      }
      const double product = 2e-12 * kGroup * kDim;  // TFLOP of a key with its 16 queries
      SoftmaxResult result = apply_native_sparse_attention(inputs, options);
      Tensor d_q(dtype, q.shape()), d_k(dtype, k.shape()), d_v(dtype, v.shape());
      OnDevice<cuda::blocks_forward> forward(problem, {result.out, result.lse});
      OnDevice<cuda::blocks_backward> backward(problem, {result.out, result.lse, q, {}},
                                               {d_q, d_k, d_v, {}, {}});
      const BlockMeans means = block_means(problem);
      Tensor chosen(DType::kInt32, listed.shape());
      OnDevice<cuda::select_blocks> select({&problem, problem.query, means.key, &means.first},
                                           chosen);
      std::vector<Timed> sides{forward.side("blocks_forward", 2 * product * keys, "TFLOP/s"),
                               backward.side("blocks_backward", 5 * product * keys, "TFLOP/s"),
                               select.side("select_blocks", product * means_seen, "TFLOP/s")};
      measure(fmt::format("{} x {} {}", batch, tokens_text(tokens), name(dtype)), sides);
    }
  }
}

// Times a grouped product: equal groups of rows, each multiplied by its own matrix.
void bench_equal_groups() {
  constexpr Index kGroups = 16, kRows = 2048, kInner = 768, kColumns = 2048;
  const Tensor lhs = noise(DType::kBFloat16, {kGroups * kRows, kInner});
  const Tensor rhs = noise(DType::kBFloat16, {kGroups, kInner, kColumns});
  Tensor sizes(DType::kInt32, {kGroups});
  std::ranges::fill(sizes.as<std::int32_t>(), std::int32_t{kRows});
  GroupedMatmulInputs inputs{&lhs, &rhs};
  inputs.group_sizes = &sizes;
  const GroupedProblem problem = checked_grouped(inputs, {});
  Tensor out(DType::kBFloat16, {kGroups * kRows, kColumns});
  Tensor d_lhs(DType::kBFloat16, lhs.shape()), d_rhs(DType::kBFloat16, rhs.shape());
  OnDevice<cuda::grouped_forward> forward(problem, out);
  OnDevice<cuda::grouped_backward> backward(problem, out, {d_lhs, d_rhs});
  const double product = 2e-12 * kGroups * kRows * kInner * kColumns;
  std::vector<Timed> sides{forward.side("grouped_forward", product, "TFLOP/s"),
                           backward.side("grouped_backward", 2 * product, "TFLOP/s")};
  measure("16 groups of 2048 x 768 x 2048 bfloat16", sides);
}
// Times grouped products of unequal groups of rows, with the matrices of 8 and of 64 experts.
void bench_grouped() {
  bench_equal_groups();
  constexpr Index kRows = 16 << 10, kInner = 2048, kColumns = 2048;
  for (const Index experts : {8, 64}) {
    for (const DType dtype : {DType::kBFloat16, DType::kFloat32}) {
      const Tensor lhs = noise(dtype, {kRows, kInner});
      const Tensor rhs = noise(dtype, {experts, kInner, kColumns});
      Tensor ids(DType::kInt32, {kRows});
      std::size_t row = 0;
      for (auto& id : ids.as<std::int32_t>()) {
        const auto n = static_cast<Index>(row++ * 2654435761u >> 8);
        // Half of the rows go to expert 0.
        id = static_cast<std::int32_t>(n % experts * (n / experts % 2));
      }
      GroupedMatmulInputs inputs{&lhs, &rhs};
      inputs.group_ids = &ids;
      const GroupedProblem problem = checked_grouped(inputs, {});
      Tensor out(dtype, {kRows, kColumns}), d_lhs(dtype, lhs.shape()), d_rhs(dtype, rhs.shape());
      OnDevice<cuda::grouped_forward> forward(problem, out);
      OnDevice<cuda::grouped_backward> backward(problem, out, {d_lhs, d_rhs});
      const double product = 2e-12 * kRows * kInner * kColumns;
      std::vector<Timed> sides{forward.side("grouped_forward", product, "TFLOP/s"),
                               backward.side("grouped_backward", 2 * product, "TFLOP/s")};
      measure(fmt::format("{} experts {}", experts, name(dtype)), sides);
    }
  }
}

/// A copy within the GPU's memory, whose rate counts the bytes read and the bytes written.
class DeviceCopy {
 public:
  Timed side() {
    return {"device copy", stream_.get(), [this] { run(); }, 2e-12 * kBytes, "TB/s"};
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{1} << 30;
  void run() {
    cuda::check(
        cudaMemcpyAsync(to_.data(), from_.data(), kBytes, cudaMemcpyDeviceToDevice, stream_.get()),
        "cudaMemcpyAsync");
  }
  cuda::OwnStream stream_;
  cuda::DeviceBuffer from_{kBytes, stream_.get()}, to_{kBytes, stream_.get()};
};

// Times the weights of 32 heads of dimension 128 with every cell open: bytes of f32 weights over
// the time.
void bench_weights() {
  constexpr Index kHeads = 32;
  for (const Index keys : {4096, 4095, 4094}) {
    if (keys > settings.most_tokens) continue;
    const std::vector<Index> shape{1, keys, kHeads, 128};
    const Tensor q = noise(DType::kBFloat16, shape), k = noise(DType::kBFloat16, shape);
    const SoftmaxProblem problem = checked_softmax({&q, &k, &k, nullptr, nullptr, nullptr}, {});
    Tensor out = Tensor::unwritten(DType::kFloat32, {1, kHeads, keys, keys});
    OnDevice<cuda::softmax_weights> weights(problem, out);
    DeviceCopy copy;
    const double bytes = static_cast<double>(out.bytes().size());
    std::vector<Timed> sides{weights.side("softmax_weights", 1e-12 * bytes, "TB/s"), copy.side()};
    measure(fmt::format("{} queries and keys", keys), sides);
  }
}

/// Sequences in a paged cache, in bf16: 32 query heads and 8 key heads of dimension 128, pages in
/// random order. The last `rows` tokens of each sequence are queries.
struct Sequences {
  static constexpr Index kHeads = 32, kKvHeads = 8, kDim = 128;
  Index count, tokens, page_size, rows = 1;
  Index pages = count * ceil_div(tokens, page_size);

  /// The paged problem; the caller adds queries and cache.
  PagedProblem problem() const {
    PagedProblem p;
    p.q_heads = kHeads, p.scale = default_scale(kDim);
    p.tables.resize(as_size(pages));
    std::iota(p.tables.begin(), p.tables.end(), 0);
    std::shuffle(p.tables.begin(), p.tables.end(), std::mt19937(1));
    for (Index n = 0; n < count; ++n) {
      p.sequences.push_back(
          {{n * rows, (n + 1) * rows}, {0, tokens}, n * ceil_div(tokens, page_size)});
    }
    return p;
  }
  Tensor queries() const { return noise(DType::kBFloat16, {count * rows, kHeads, kDim}); }
  Tensor cache() const { return noise(DType::kBFloat16, {pages, page_size, kKvHeads, kDim}); }
  std::string text(std::string_view of) const {
    return fmt::format("{} x {} {}, pages of {}", count, tokens_text(tokens), of, page_size);
  }
};

/// Terabytes of the keys and values of `tokens` tokens.
double terabytes_of(Index tokens) {
  return 1e-12 * static_cast<double>(2 * tokens * Sequences::kKvHeads * Sequences::kDim * 2);
}

void bench_decoding(const Sequences& s) {
  const Tensor queries = s.queries(), keys = s.cache(), values = s.cache();
  Tensor out(DType::kBFloat16, queries.shape());
  PagedProblem problem = s.problem();
  problem.queries = queries, problem.cache = tokens_first_cache(keys, values);
  OnDevice<cuda::paged> paged(problem, out);
  DeviceCopy copy;
  std::vector<Timed> sides{paged.side("paged decode", terabytes_of(s.count * s.tokens), "TB/s"),
                           paged.graph_side("paged decode in a graph"), copy.side()};
  measure(s.text("tokens"), sides);
}

/// Times both parts of ragged paged attention, version 3: new keys and values are written into the
/// cache, counted as bytes read and written; then the queries attend to all tokens.
void bench_new_tokens(const Sequences& s, std::string_view of) {
  const Index rows = s.count * s.rows;
  const std::array cache{s.pages, s.page_size, 2 * Sequences::kKvHeads, Sequences::kDim};
  const Tensor tokens = noise(DType::kBFloat16, {rows, Sequences::kKvHeads, Sequences::kDim});
  const Tensor pages = noise(DType::kBFloat16, {cache.begin(), cache.end()});
  const Tensor queries = s.queries();
  Tensor out(DType::kBFloat16, queries.shape());
  cuda::HostCall call;
  const TensorView there = call.to_device(TensorView(pages));
  PagedProblem problem = s.problem();
  problem.queries = queries;
  problem.cache = interleaved_cache(pages, Sequences::kKvHeads, Sequences::kDim, Sequences::kDim);
  problem.cache.place = there.place();
  problem.cache.keys = there.data();
  problem.cache.values = there.data() + Sequences::kDim * size_bytes(there.dtype());
  call.finish();
  const CachePages written{const_cast<std::byte*>(problem.cache.keys),
                           const_cast<std::byte*>(problem.cache.values)};
  OnDevice<cuda::update_cache> update(problem, {tokens, tokens}, written);
  OnDevice<cuda::paged> attend(problem, out);
  DeviceCopy copy;
  const double seen = static_cast<double>(s.rows) *
                      (static_cast<double>(s.tokens) - static_cast<double>(s.rows - 1) / 2);
  const double product =
      2e-12 * static_cast<double>(s.count * Sequences::kHeads * Sequences::kDim) * seen;
  std::vector<Timed> sides{update.side("cache update", 2 * terabytes_of(rows), "TB/s"),
                           s.rows == 1 ? update.graph_side("cache update in a graph")
                                       : attend.side("paged prompts", 2 * product, "TFLOP/s"),
                           copy.side()};
  measure(s.text(of), sides);
}

void bench_paged() {
  for (const Index page_size : {16, 128}) {
    for (const auto& [sequences, tokens] :
         {std::pair<Index, Index>(8, 32 << 10), {8, 4 << 10}, {1, 1 << 10}}) {
      if (tokens > settings.most_tokens) continue;
      bench_decoding({sequences, tokens, page_size});
    }
    for (const auto& [sequences, tokens] : {std::pair<Index, Index>(4, 8 << 10), {4, 32 << 10}}) {
      if (tokens > settings.most_tokens) continue;
      bench_new_tokens({sequences, tokens, page_size, tokens}, "tokens of prompts");
    }
    bench_new_tokens({256, 1 << 10, page_size}, "tokens, the last of each new");
  }
}

/// Times mean pooling of 1 GB, over whole sequences and over chunks of 64 tokens.
void bench_pooling() {
  constexpr Index kTokens = 256 << 10, kWidth = 2048;
  const Tensor x = noise(DType::kBFloat16, {kTokens, kWidth});
  for (const Index segment : {Index{32} << 10, Index{64}}) {
    PoolingProblem problem;
    problem.x = x, problem.tokens = kTokens, problem.width = kWidth;
    for (Index t = 0; t < kTokens; t += segment) problem.segments.push_back({t, t + segment});
    problem.out_shape = {std::ssize(problem.segments), kWidth};
    Tensor out(DType::kBFloat16, problem.out_shape);
    OnDevice<cuda::mean_pooling> pooling(problem, out);
    DeviceCopy copy;
    const double bytes = static_cast<double>(x.bytes().size() + out.bytes().size());
    std::vector<Timed> sides{pooling.side("mean_pooling", 1e-12 * bytes, "TB/s"), copy.side()};
    measure(fmt::format("segments of {} tokens", tokens_text(segment)), sides);
  }
}

/// Times calls on host arrays of 1 GiB together, with the copies to the GPU and back, by the host's
/// clock: each call in one piece, then in parts, whose copies run beside the kernels of others.
void bench_host_door() {
  struct HostCase {
    std::string_view name;
    Index batch, tokens, heads, window;  // each array has 256 MiB
  };
  constexpr Index kDim = 128, kNoParts = Index{1} << 40;
  for (const HostCase& c : {HostCase{"window of 128, 8 x 8k tokens", 8, 8 << 10, 16, 128},
                            HostCase{"causal, 8 x 32k tokens", 8, 32 << 10, 4, 32 << 10}}) {
    if (c.tokens > settings.most_tokens) continue;
    const std::vector<Index> shape{c.batch, c.tokens, c.heads, kDim};
    const Tensor q = noise(DType::kBFloat16, shape), k = noise(DType::kBFloat16, shape),
                 v = noise(DType::kBFloat16, shape);
    const Mask mask(diagonal_band(c.tokens, c.tokens, 1 - c.window, 0));
    const SoftmaxProblem problem = checked_softmax({&q, &k, &v, &mask, nullptr, nullptr}, {});
    Tensor out(DType::kBFloat16, shape), lse(DType::kFloat32, {c.batch, c.heads, c.tokens});
    for (const Index least_part : {kNoParts, cuda::kLeastPartBytes}) {
      const cuda::OwnStream stream;
      Timed side{least_part == kNoParts ? "host arrays, whole" : "host arrays, parts",
                 stream.get(),
                 {},
                 0x1p-30 * 4 * 0x1p28,
                 "GiB/s"};
      for (int n = 0; n < 9; ++n) {
        const double seconds = bench::seconds([&] {
          cuda::softmax_forward_from_host(problem, {out, lse}, least_part);
        });
        if (n >= 2) side.seconds.push_back(seconds);
      }
      print(side, fmt::format("1 GiB, {}", c.name));
    }
  }
}

struct Case {
  std::string_view name;
  void (*run)();
};
constexpr Case kCases[] = {
    {"softmax", bench_softmax}, {"weights", bench_weights}, {"plan", bench_plan},
    {"paged", bench_paged},     {"linear", bench_linear},   {"blocks", bench_blocks},
    {"grouped", bench_grouped}, {"pooling", bench_pooling}, {"host", bench_host_door}};

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
