// Tests Autotuner, FNAutotuner, benchmark() and autotune_recorded().
#include "maskctl/ejkernel/runtime/autotuner.h"

#include <chrono>
#include <future>

#include "attention/arrays.h"
#include "maskctl/ejkernel/calls/call_masks.h"
#include "maskctl/ejkernel/runtime/modules.h"
#include "support/error_of.h"

namespace autotuner_cases {

namespace {

using namespace maskctl::attention_test;
using maskctl::test::error_of;

/// A clock whose time passes only when a test says so.
struct Hours {
  double now = 0;
  Clock clock() {
    return [this] { return now; };
  }
};

TEST_CASE("autotuner: picks the fastest config of any type, and records failures") {
  Hours time;
  const std::vector<std::string> candidates = {"slow", "broken", "quick", "unmade"};
  const auto make = [&](const std::string& config) {
    if (config == "unmade") throw Error(Errc::kUnsupported, "cannot be made");
    return [&time, config](double unit) {
      if (config == "broken") throw Error(Errc::kUnsupported, "breaks");
      time.now += unit * (config == "slow" ? 3 : 2);
    };
  };
  const Autotuner<std::string> tuner({.warmup = 1, .iters = 3}, time.clock());
  const auto data = tuner.autotune(make, std::span<const std::string>(candidates), 0.5);
  REQUIRE(data.measurements.size() == 4);
  CHECK(data.measurements[0].seconds == 1.5);
  CHECK(data.measurements[0].runs == 3);
  CHECK(data.measurements[1].error == "breaks");
  CHECK(data.measurements[2].seconds == 1);
  CHECK(data.measurements[3].error == "cannot be made");
  CHECK(data.fastest_config() == "quick");
  const auto failing = tuner.autotune(make, std::span(candidates).subspan(3), 1);
  CHECK(error_of([&] { failing.fastest_config(); }) ==
        "every candidate config failed, the first with: cannot be made");
}

TEST_CASE("autotuner: benchmark() returns the median of the timed runs, or the error") {
  Hours time;
  double next = 64;
  const auto run = [&] { time.now += next, next /= 2; };
  CHECK(benchmark(run, 2, 3, time.clock()) == 8);  // the median of 16, 8 and 4
  CHECK(error_of([] { benchmark([] { throw Error(Errc::kShape, "no"); }); }) == "no");
}

TEST_CASE("autotuner: a function with hyperparameters is tuned once for each key") {
  Hours time;
  using Tile = std::tuple<int, int>;
  int calls = 0;
  // The function is quickest with the tile (n, 2), where n is the number of elements.
  const auto sum = [&](const Tile& tile, const std::vector<int>& x, const int& scale) {
    ++calls;
    const auto [rows, columns] = tile;
    time.now += std::abs(rows - static_cast<int>(x.size())) + std::abs(columns - 2) + 1;
    int total = 0;
    for (const int value : x) total += value * scale;
    return total;
  };
  const auto candidates = combinations(std::vector{1, 2, 3}, std::vector{1, 2});
  CHECK(candidates.size() == 6);
  CHECK(candidates[1] == Tile(1, 2));
  FNAutotuner<Tile, int, std::vector<int>, int> tuned(
      sum, candidates,
      [](const std::vector<int>& x, const int&) { return std::to_string(x.size()); },
      {.tuner = {.warmup = 0, .iters = 1}, .cache_size_limit = 1, .clock = time.clock()});
  CHECK(tuned({4, 5}, 10) == 90);
  CHECK(calls == 7);
  CHECK(tuned({1, 1}, 1) == 2);  // the same key: no tuning
  CHECK(calls == 8);
  CHECK(tuned.config_for({0, 0}, 1) == Tile(2, 2));
  CHECK(tuned.config_for({0, 0, 0}, 1) == Tile(3, 2));
  CHECK(calls == 14);
  tuned({1, 1}, 1);  // tuned again, since only one key is remembered
  CHECK(calls == 21);
}

TEST_CASE("autotune_recorded: recorded calls can be tuned after their arrays are gone") {
  ExecutorOptions record;
  record.record = true;
  ConfigSelectorChain::Options chain;
  chain.policy.cache_miss_fallback = CacheMiss::kHeuristics;
  chain.tuner = Tuner({.warmup = 0, .iters = 1});
  const Executor executor(std::make_shared<ConfigSelectorChain>(std::move(chain)), record);
  {
    Random random(2);
    const Tensor x = random.normal({1, 16, 2, 8}), turned = random.normal({1, 2, 16, 8});
    const Mask mask = random.mask(1, 1, 16, 16, 0.5);
    const MaskInfo info = MaskInfo::from_segments(random.integers({1, 16}, 2));
    const BlockMap map(mask.plane(0, 0), 8, 8);
    FlashAttentionOptions flash;
    CallMask of_info(info);
    flash.mask.mask = &mask;
    of_info.give(flash);
    executor(FlashAttention(), {&x, &x, &x}, flash);
    executor(FlashAttention(), {&x, &x, &x}, flash);
    BlocksparseAttentionOptions sparse;
    sparse.mask.block_map = &map;
    executor(BlockSparseAttention(), {&turned, &turned, &turned}, sparse);
    const Tensor bias = random.normal({1, 1, 16, 16});
    ScaledDotProductAttentionOptions plain;
    plain.init_bias = [&bias] { return bias; };
    executor(ScaledDotProductAttention(), {&x, &x, &x}, plain);
  }
  const AutotuningResult result = autotune_recorded(executor);
  REQUIRE(result.entries.size() == 3);
  CHECK(result.device == device_fingerprint());
  CHECK(result.entries[0].key.operation == "flash_attention@v0");
  CHECK(result.entries[0].measurements.size() == 7);
  for (const Measurement& one : result.entries[0].measurements) CHECK(one.error.empty());
  CHECK(result.entries[1].key.operation == "blocksparse_attention@v0");
  for (const Measurement& one : result.entries[1].measurements) CHECK(one.error.empty());
  CHECK(result.entries[2].measurements.empty());  // the operation does not tune
  CHECK(*executor.chain().cache().get(result.entries[0].key) == result.entries[0].config);
  const OverlayCache overlay(result.as_overlay());
  CHECK(*OverlayCache::find(result.entries[0].key) == result.entries[0].config);
}

TEST_CASE("autotune_recorded: a runtime answers other calls while it tunes") {
  Runtime* tuning = nullptr;
  int events = 0, answers = 0;
  std::vector<std::future<void>> asked;
  RuntimeOptions options;
  options.cache_miss = CacheMiss::kHeuristics;
  options.tuner = {.warmup = 0, .iters = 1, .budget_seconds = 1};
  options.executor.record = true;
  options.on_event = [&](const SelectionEvent&) {
    if (!tuning) return;
    ++events;
    asked.push_back(std::async(std::launch::async, [&] { (void)tuning->recorded(); }));
    answers += asked.back().wait_for(std::chrono::seconds(5)) == std::future_status::ready;
  };
  Runtime runtime(options);
  Random random(2);
  const Tensor x = random.normal({1, 8, 2, 8});
  runtime.call<FlashAttentionOp>({&x, &x, &x});
  tuning = &runtime;
  (void)runtime.autotune_recorded();
  CHECK(events > 0);
  CHECK(answers == events);
}

TEST_CASE("autotune_recorded: a runtime tunes the calls that all its executors recorded") {
  RuntimeOptions options;
  options.cache_miss = CacheMiss::kHeuristics;
  options.tuner = {.warmup = 0, .iters = 1, .budget_seconds = 1};
  options.executor.record = true;
  Runtime runtime(options);
  Random random(2);
  const Tensor x = random.normal({1, 8, 2, 8});
  runtime.call<FlashAttentionOp>({&x, &x, &x});
  runtime.call<RingAttentionOp>({&x, &x, &x});
  CHECK(runtime.autotune_recorded().entries.size() == 2);
  CHECK(runtime.executor(kOperation<FlashAttentionOp>).chain().tuned().entries.size() == 1);
}

}  // namespace

}  // namespace autotuner_cases
