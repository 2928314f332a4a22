// Tests writing new tokens into the pages of a cache on the GPU: against copies element by element,
// with sequences given by the host or by the GPU, good and bad; version 3 of ragged page attention;
// CUDA graphs; refusals.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <numeric>

#include "gpu/device_batch.h"
#include "gpu/kernels_ran.h"
#include "maskctl/attention/gpu/plan.h"
#include "maskctl/attention/operations/paged/checked.h"
#include "support/contains.h"
#include "support/error_of.h"

namespace maskctl::attention::paging {
namespace {

using Bytes = std::vector<std::byte>;
constexpr MemoryPlace kGpu{MemorySpace::kDevice, 0};

Bytes random_bytes(RandomTensors& r, Index count) {
  Bytes bytes(as_size(count));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(r.below(256));
  return bytes;
}

bool equal_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::ranges::equal(a, b);
}

/// A cache of random bits, and new tokens for its sequences. Keys and values of the cache lie in
/// one piece of memory, with other bytes around them.
struct Update {
  PagedCache cache;  // the addresses of its keys and values are not set
  Index padding = 0;
  Bytes memory, keys, values;
  Index keys_at = 0, values_at = 0;  // where keys and values begin in `memory`
  Index skipped = 0;  // bytes before the first new key, and before the first new value
  Index rows = 0, width = 0;
  std::vector<std::int32_t> lengths, starts{0}, table;

  explicit Update(RandomTensors& r) {
    choose_heads(r);
    deal_pages(r);
    lay_out(r);
  }
  Index bytes() const { return size_bytes(cache.dtype); }
  Index sequences() const { return std::ssize(lengths); }
  PagedSequence sequence(Index n) const {
    return {{starts[as_size(n)], starts[as_size(n) + 1]}, {0, lengths[as_size(n)]}, n * width};
  }

 private:
  void choose_heads(RandomTensors& r) {
    constexpr std::array kDtypes{DType::kFloat32, DType::kFloat16,    DType::kBFloat16,
                                 DType::kFloat64, DType::kFloat8E4M3, DType::kInt8};
    cache.dtype = kDtypes[as_size(r.below(kDtypes.size()))];
    cache.heads = 1 + r.below(4);
    cache.dim = r.chance(0.5) ? 8 * (1 + r.below(16)) : 1 + r.below(40);
    cache.page_size = r.chance(0.3) ? 16 : 1 + r.below(20);
  }
  /// Draws sequences of random lengths on random pages. A few rows at the end may belong to no
  /// sequence.
  void deal_pages(RandomTensors& r) {
    const Index count = r.chance(0.1) ? 300 : 1 + r.below(6);
    width = 1 + r.below(6), cache.pages = count * width + 1;
    table.resize(as_size(cache.pages));
    std::iota(table.begin(), table.end(), 0);
    for (Index n = cache.pages - 1; n > 0; --n) {
      std::swap(table[as_size(n)], table[as_size(r.below(n + 1))]);
    }
    table.pop_back();
    for (Index n = 0; n < count; ++n) {
      const Index length = r.below(width * cache.page_size + 1);
      const Index new_tokens = r.chance(0.4) ? std::min<Index>(length, 1) : r.below(length + 1);
      lengths.push_back(static_cast<std::int32_t>(length));
      starts.push_back(starts.back() + static_cast<std::int32_t>(new_tokens));
    }
    rows = starts.back() + r.below(4);
  }
  void lay_out(RandomTensors& r) {
    PagedCache& c = cache;
    // elements of one head in the cache, with its padding
    const Index lanes = c.dim + (r.chance(0.4) ? r.below(30) : 0);
    if (r.chance(0.7)) padding = lanes - c.dim;
    const bool alternate = r.chance(0.3);  // key heads and value heads alternate
    c.head_stride = alternate ? 2 * lanes : lanes, c.slot_stride = c.heads * c.head_stride;
    c.page_stride = c.page_size * c.slot_stride;
    if (!alternate && r.chance(0.4)) c.slot_stride = lanes, c.head_stride = c.page_size * lanes;
    keys_at = r.chance(0.5) ? 0 : r.below(20) * bytes();
    const Index array_bytes = c.pages * c.page_stride * bytes();
    values_at = keys_at + (alternate ? lanes * bytes() : array_bytes);
    memory = random_bytes(r, keys_at + 2 * array_bytes + 64);
    skipped = r.chance(0.7) ? 0 : r.below(9) * bytes();
    keys = random_bytes(r, skipped + rows * c.heads * c.dim * bytes());
    values = random_bytes(r, skipped + rows * c.heads * c.dim * bytes());
  }
};

/// Returns the memory of the cache after the new tokens of these sequences are written, element by
/// element.
Bytes written(const Update& u, const std::vector<PagedSequence>& sequences) {
  const PagedCache& c = u.cache;
  const Index bytes = u.bytes();
  Bytes memory = u.memory;
  for (const PagedSequence& s : sequences) {
    for (Index row = s.rows.begin; row < s.rows.end; ++row) {
      const Index position = s.keys.end - (s.rows.end - row);
      if (position < s.keys.begin) continue;
      const Index page = u.table[as_size(s.table + position / c.page_size)];
      for (Index head = 0; head < c.heads; ++head) {
        for (Index x = 0; x < c.dim + u.padding; ++x) {
          const Index to = page * c.page_stride + position % c.page_size * c.slot_stride +
                           head * c.head_stride + x;
          const Index from = u.skipped + ((row * c.heads + head) * c.dim + x) * bytes;
          for (Index byte = 0; byte < bytes; ++byte) {
            const auto take = [&](const Bytes& tokens) {
              return x < c.dim ? tokens[as_size(from + byte)] : std::byte{0};
            };
            memory[as_size(u.keys_at + to * bytes + byte)] = take(u.keys);
            memory[as_size(u.values_at + to * bytes + byte)] = take(u.values);
          }
        }
      }
    }
  }
  return memory;
}

/// An Update whose arrays are on the GPU. Each run starts with the original cache.
class DeviceUpdate {
 public:
  explicit DeviceUpdate(const Update& u)
      : u_(u),
        memory_(u.memory, stream()),
        keys_(u.keys, stream()),
        values_(u.values, stream()),
        lengths_(u.lengths, stream()),
        tables_(u.table, stream()),
        starts_(u.starts, stream()),
        status_(std::vector<int>{-1}, stream()) {}

  cuda::Stream stream() { return stream_.get(); }
  std::byte* memory() const { return const_cast<std::byte*>(memory_.data()); }
  CachePages pages() const { return {memory() + u_.keys_at, memory() + u_.values_at, u_.padding}; }
  NewTokens tokens() const {
    const std::array shape{u_.rows, u_.cache.heads, u_.cache.dim};
    return {{keys_.data() + u_.skipped, u_.cache.dtype, shape, kGpu},
            {values_.data() + u_.skipped, u_.cache.dtype, shape, kGpu}};
  }
  /// Returns the call without its sequences. The update does not read the queries.
  PagedProblem problem() const {
    PagedProblem p;
    const std::array shape{u_.rows, 2 * u_.cache.heads, u_.cache.dim};
    p.queries = TensorView(keys_.data(), DType::kFloat32, shape, kGpu);
    p.q_heads = 2 * u_.cache.heads;
    p.cache = u_.cache, p.cache.place = kGpu;
    p.cache.keys = pages().keys, p.cache.values = pages().values;
    p.left = 3;
    return p;
  }
  PagedArraysProblem arrays_problem() const {
    return {problem(),
            {lengths_.data(), tables_.data(), starts_.data(), u_.sequences(), u_.width,
             const_cast<int*>(status_.data())}};
  }

  template <class Plan, class Problem>
  Bytes run(const Problem& problem) {
    cuda::copy_to_device(memory(), u_.memory, stream());
    Plan(problem, stream())(gpu::Workspace(stream()), problem, tokens(), pages());
    Bytes seen(u_.memory.size());
    cuda::copy_to_host(seen, memory(), stream());
    stream_.synchronize();
    return seen;
  }
  int status() {
    int status = -1;
    cuda::copy_to_host(std::as_writable_bytes(std::span(&status, 1)), status_.data(), stream());
    stream_.synchronize();
    return status;
  }

 private:
  cuda::OwnStream stream_;
  const Update& u_;
  cuda::DeviceArray<std::byte> memory_, keys_, values_;
  cuda::DeviceArray<std::int32_t> lengths_, tables_, starts_;
  cuda::DeviceArray<int> status_;
};

std::vector<PagedSequence> all_sequences(const Update& u) {
  std::vector<PagedSequence> sequences;
  for (Index n = 0; n < u.sequences(); ++n) sequences.push_back(u.sequence(n));
  return sequences;
}

TEST_CASE("gpu: new tokens are written to their slots, and no other slot changes") {
  const int calls = gpu_test::calls(600);
  for (int seed = 0; seed < calls; ++seed) {
    RandomTensors r(static_cast<unsigned>(seed));
    const Update u(r);
    INFO("seed " << seed << ", " << name(u.cache.dtype) << " " << u.cache.heads << " "
                 << u.cache.dim << "+" << u.padding << ", pages of " << u.cache.page_size);
    DeviceUpdate there(u);
    PagedArraysProblem arrays = there.arrays_problem();
    const Bytes expected = written(u, all_sequences(u));
    CHECK(equal_bytes(there.run<gpu::CacheUpdateOfArrays>(arrays), expected));
    CHECK(there.status() == 0);
    arrays.arrays.status = nullptr;
    CHECK(equal_bytes(there.run<gpu::CacheUpdateOfArrays>(arrays), expected));
    // Sequences of the host may be in any order, and may leave out the keys before their key range.
    PagedProblem problem = there.problem();
    problem.tables = u.table;
    for (const PagedSequence& s : all_sequences(u)) {
      const auto at = problem.sequences.begin() + r.below(std::ssize(problem.sequences) + 1);
      const auto inserted = problem.sequences.insert(at, s);
      if (r.chance(0.2)) inserted->keys.begin = r.below(s.keys.end + 1);
    }
    CHECK(equal_bytes(there.run<gpu::CacheUpdate>(problem), written(u, problem.sequences)));
  }
  gpu_test::say_ran("cache updates", "every dtype", 3 * calls);
}

TEST_CASE("gpu: without starts, each new token is the last one of its non-empty sequence") {
  RandomTensors r(3);
  Update u(r);
  while (u.sequences() < 3 || u.rows < u.sequences()) u = Update(r);
  DeviceUpdate there(u);
  PagedArraysProblem arrays = there.arrays_problem();
  arrays.arrays.starts = nullptr;
  std::vector<PagedSequence> last = all_sequences(u);
  for (Index n = 0; n < u.sequences(); ++n) {
    PagedSequence& s = last[as_size(n)];
    s.rows = {n, n + !s.keys.empty()};
  }
  CHECK(equal_bytes(there.run<gpu::CacheUpdateOfArrays>(arrays), written(u, last)));
  CHECK(there.status() == 0);
}

/// Makes the page table or the length of sequence n bad; returns the status that must be reported.
/// The sequence must have a new token.
int spoil(RandomTensors& r, Update& u, Index n) {
  const PagedSequence s = u.sequence(n);
  constexpr std::int32_t kHuge = 1 << 30;
  if (r.chance(0.6)) {
    const Index position = s.keys.end - 1 - r.below(s.rows.size());
    const auto past = static_cast<std::int32_t>(u.cache.pages);
    u.table[as_size(s.table + position / u.cache.page_size)] =
        std::array{-1, past, kHuge, -kHuge}[as_size(r.below(4))];
    return kBadPages;
  }
  const auto too_long = static_cast<std::int32_t>(u.width * u.cache.page_size + 1);
  const auto too_short = static_cast<std::int32_t>(s.rows.size() - 1);
  u.lengths[as_size(n)] = std::array{too_long, too_short, kHuge, -kHuge}[as_size(r.below(4))];
  return kBadLengths;
}

TEST_CASE("gpu: tokens of a bad sequence are not written, those of others are") {
  const int calls = gpu_test::calls(300);
  for (int seed = 0; seed < calls; ++seed) {
    INFO("seed " << seed);
    RandomTensors r(static_cast<unsigned>(1000 + seed));
    Update u(r);
    std::vector<PagedSequence> good;
    int expected_status = 0;
    for (Index n = 0; n < u.sequences(); ++n) {
      const PagedSequence s = u.sequence(n);
      if (!s.rows.empty() && r.chance(0.4)) {
        expected_status |= spoil(r, u, n);
      } else {
        good.push_back(s);
      }
    }
    DeviceUpdate there(u);
    CHECK(
        equal_bytes(there.run<gpu::CacheUpdateOfArrays>(there.arrays_problem()), written(u, good)));
    CHECK(there.status() == expected_status);
  }
}

TEST_CASE("gpu: an update ignores bad pages that only attention reads") {
  RandomTensors r(8);
  Update u(r);
  while (u.sequence(0).rows.empty() || u.lengths[0] - u.starts[1] < u.cache.page_size) {
    u = Update(r);
  }
  const std::vector<PagedSequence> all = all_sequences(u);
  u.table[0] = -1;
  DeviceUpdate there(u);
  CHECK(equal_bytes(there.run<gpu::CacheUpdateOfArrays>(there.arrays_problem()), written(u, all)));
  CHECK(there.status() == 0);
}

TEST_CASE("gpu: if starts do not ascend, nothing is written") {
  RandomTensors r(5);
  Update good(r);
  while (good.sequences() < 3 || good.starts[1] < 2 || good.starts[2] == good.starts[1]) {
    good = Update(r);
  }
  const auto past = static_cast<std::int32_t>(good.rows + 1);
  for (const auto& [place, start] : {std::pair<Index, std::int32_t>(0, 1),
                                     {0, -1},
                                     {1, good.starts[2] + 1},
                                     {2, past},
                                     {2, -(1 << 30)}}) {
    INFO("starts[" << place << "] is " << start);
    Update u = good;
    u.starts[as_size(place)] = start;
    DeviceUpdate there(u);
    CHECK(equal_bytes(there.run<gpu::CacheUpdateOfArrays>(there.arrays_problem()), u.memory));
    CHECK((there.status() & kBadRows) != 0);
  }
}

/// A call of ragged page attention, version 3, with arrays of the host, and its cache before the
/// call.
struct V3 {
  static constexpr Index kLanes = 128;
  Batch b;
  Tensor keys, values, before, lens, starts, tables, distribution;
  RaggedPageAttentionV3Options options;

  V3(RandomTensors& r, Batch batch) : b(std::move(batch)) {
    const Index packing = 4 / size_bytes(b.dtype);
    const std::vector<Index> token{b.rows(), b.kv_heads, b.dim};
    keys = r.normal(token, b.dtype), values = r.normal(token, b.dtype);
    before = b.fused({b.pages, b.page_size, 2 * b.kv_heads / packing, packing, kLanes}, kLanes);
    lens = b.lens(), starts = b.start_loc(), tables = b.tables();
    tables.reshape({b.count() * b.width});
    distribution = i32({0, 0, static_cast<std::int32_t>(b.count())});
    options.softmax_scale = 0.3;
    options.context.backend = Backend::kCuda;
  }
  RaggedPageAttentionV3Inputs inputs() const {
    return {&b.queries, &keys, &values, &lens, &tables, &starts, &distribution};
  }
};

/// A V3 call with arrays on the GPU: an update of the cache, then attention over it.
class DeviceV3 {
 public:
  explicit DeviceV3(const V3& v)
      : cache_(Bytes(v.before.bytes().begin(), v.before.bytes().end()), call_.stream()),
        out_(v.b.dtype, v.b.queries.shape()) {
    Tensor written = v.before;
    PagedProblem problem = problem_of(v.inputs(), written, v.options).problem;
    problem.cache.place = kGpu, problem.cache.keys = cache_.data();
    problem.cache.values = cache_.data() + V3::kLanes * size_bytes(v.b.dtype);
    problem_ = to_device(call_, problem);
    tokens_ = to_device(call_, NewTokens{v.keys, v.values});
    to_ = call_.to_device(MutableTensorView(out_));
  }

  cuda::HostCall& call() { return call_; }
  const PagedProblem& problem() const { return problem_; }
  const NewTokens& tokens() const { return tokens_; }
  template <class Update, class Attend, class Problem>
  void run(const gpu::Workspace& workspace, const Problem& problem, const Update& update,
           const Attend& attend) const {
    auto* const keys = const_cast<std::byte*>(problem.cache.keys);
    auto* const values = const_cast<std::byte*>(problem.cache.values);
    update(workspace, problem, tokens_, {keys, values, V3::kLanes - problem.cache.dim});
    attend(workspace, problem, to_);
  }
  /// Waits for all work, then returns the output.
  const Tensor& out() {
    call_.finish();
    return out_;
  }
  Bytes cache() {
    Bytes seen(cache_.bytes());
    cuda::copy_to_host(seen, cache_.data(), call_.stream());
    call_.finish();
    return seen;
  }

 private:
  cuda::HostCall call_;
  cuda::DeviceArray<std::byte> cache_;
  Tensor out_;
  MutableTensorView to_;
  PagedProblem problem_;
  NewTokens tokens_;
};

TEST_CASE(
    "gpu: version 3 on host arrays gives the results of an update and attention on GPU arrays") {
  const int calls = gpu_test::calls(60);
  for (int seed = 0; seed < calls; ++seed) {
    INFO("seed " << seed);
    RandomTensors r(static_cast<unsigned>(seed));
    const V3 v(r, batch(r, r.chance(0.3) ? 600 : 40, 12));
    Tensor cache = v.before;
    const Tensor expected = ragged_page_attention_v3(v.inputs(), cache, v.options);
    DeviceV3 there(v);
    const cuda::Stream stream = there.call().stream();
    there.run(gpu::Workspace(stream), there.problem(), gpu::CacheUpdate(there.problem(), stream),
              gpu::Paged(there.problem(), stream));
    CHECK(equal_bytes(there.out().bytes(), expected.bytes()));
    CHECK(equal_bytes(there.cache(), cache.bytes()));
  }
}

TEST_CASE("gpu: an update and attention can be captured in a graph, while lengths grow") {
  RandomTensors r(21);
  Batch b = dealt_batch(r, {2, 2, 64}, DType::kBFloat16, 4, {30, 7, 12}, {1, 1, 1});
  b.queries = r.normal({3, b.q_heads, b.dim}, b.dtype);
  b.width = 9, b.pages = 3 * b.width, b.table.resize(as_size(b.pages));
  std::iota(b.table.begin(), b.table.end(), 0);
  V3 v(r, b);
  DeviceV3 there(v);
  const cuda::Stream stream = there.call().stream();
  const cuda::DeviceArray<std::int32_t> lengths(b.lengths, stream), table(b.table, stream);
  const cuda::DeviceArray<int> status(std::vector<int>{-1}, stream);
  PagedArraysProblem problem{
      there.problem(),
      {lengths.data(), table.data(), nullptr, 3, b.width, const_cast<int*>(status.data())}};
  problem.sequences.clear(), problem.tables.clear();
  const gpu::Workspace workspace(stream);
  const gpu::CacheUpdateOfArrays update(problem, stream);
  const gpu::PagedOfArrays attend(problem, stream);
  there.run(workspace, problem, update, attend);  // the first run lets the workspace grow
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  cuda::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  there.run(workspace, problem, update, attend);
  cuda::check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  cuda::check(cudaGraphInstantiate(&ready, graph, 0), "cudaGraphInstantiate");
  const auto repeat = [&] {
// The emulator has no graphs to launch, so the work is enqueued again.
#if defined(MASKCTL_CUDA_EMULATED)
    there.run(workspace, problem, update, attend);
#else
    cuda::check(cudaGraphLaunch(ready, stream), "cudaGraphLaunch");
#endif
  };
  Tensor cache = v.before;
  v.options.context.backend = Backend::kReference;
  for (int n = 0; n < 5; ++n) {
    INFO("step " << n);
    const Tensor expected = ragged_page_attention_v3(v.inputs(), cache, v.options);
    repeat();
    check_close(there.out(), expected, tolerance(b.dtype), "out");
    CHECK(equal_bytes(there.cache(), cache.bytes()));
    // Each sequence gets its next token.
    for (std::int32_t& length : v.b.lengths) ++length;
    v.lens = v.b.lens();
    v.keys = r.normal(v.keys.shape(), b.dtype), v.values = r.normal(v.keys.shape(), b.dtype);
    const auto change = [&](const void* array, std::span<const std::byte> elements) {
      cuda::copy_to_device(const_cast<void*>(array), elements, stream);
    };
    change(lengths.data(), std::as_bytes(std::span(v.b.lengths)));
    change(there.tokens().keys.data(), v.keys.bytes());
    change(there.tokens().values.data(), v.values.bytes());
  }
  cuda::synchronize(stream);
  cudaGraphExecDestroy(ready), cudaGraphDestroy(graph);
}

TEST_CASE("gpu: an update that does not fit is refused before anything is written") {
  RandomTensors r(2);
  Update u(r);
  while (u.padding == 0 || u.rows < 2 || u.starts[1] == 0) u = Update(r);
  DeviceUpdate there(u);
  PagedProblem problem = there.problem();
  problem.tables = u.table, problem.sequences = all_sequences(u);
  const gpu::Workspace workspace(there.stream());
  const gpu::CacheUpdate update(problem, there.stream());
  const auto refused = [&](const char* words, const PagedProblem& p, const NewTokens& tokens,
                           const CachePages& pages) {
    INFO(words);
    CHECK(contains(error_of([&] { update(workspace, p, tokens, pages); }), words));
  };
  const CachePages pages = there.pages();
  const NewTokens tokens = there.tokens();
  const std::array fewer{u.rows - 1, u.cache.heads, u.cache.dim},
      shape{u.rows, u.cache.heads, u.cache.dim};
  NewTokens bad = tokens;
  bad.keys = TensorView(tokens.keys.data(), u.cache.dtype, fewer, kGpu);
  refused("keys is (", problem, bad, pages);
  bad = tokens, bad.values = TensorView(tokens.values.data(), DType::kBool, shape, kGpu);
  refused("values is bool, expected", problem, bad, pages);
  bad = tokens, bad.values = TensorView(tokens.values.data(), u.cache.dtype, shape);
  refused("values is not on the GPU", problem, bad, pages);
  refused("the pages to be written are missing", problem, tokens, {pages.keys, nullptr, 0});
  refused("padding is -1, expected 0 to", problem, tokens, {pages.keys, pages.values, -1});
  refused("the elements between heads", problem, tokens, {pages.keys, pages.values, 1 << 20});
  PagedProblem other = problem;
  --other.cache.pages;
  refused("make another plan", other, tokens, pages);

  const auto refused_plan = [&](const char* words, const PagedProblem& p) {
    INFO(words);
    CHECK(contains(error_of([&] { gpu::CacheUpdate(p, there.stream()); }), words));
  };
  other = problem, other.tables[0] = static_cast<std::int32_t>(u.cache.pages);
  other.left.reset();
  refused_plan("sequence 0 has rows, keys or pages that are not there", other);
  other = problem, other.left = -1;
  refused_plan("left is -1, expected 0 or more", other);
  Bytes seen(u.memory.size());
  cuda::copy_to_host(seen, there.memory(), there.stream());
  cuda::synchronize(there.stream());
  CHECK(equal_bytes(seen, u.memory));
}

}  // namespace
}  // namespace maskctl::attention::paging
