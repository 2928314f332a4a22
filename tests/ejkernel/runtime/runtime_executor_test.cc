// Tests modules, the executor and the function form: which config a call gets, and that no config
// changes results.
#include <filesystem>

#include "attention/arrays.h"
#include "base/scratch.h"
#include "maskctl/ejkernel/calls/call_masks.h"
#include "maskctl/ejkernel/runtime/executor.h"
#include "maskctl/ejkernel/runtime/modules.h"
#include "support/error_of.h"

namespace runtime_executor_cases {

namespace {

using namespace maskctl::attention_test;
using maskctl::test::error_of;

struct Arrays {
  Random random{5};
  Tensor query = random.normal({2, 40, 4, 16}), key = random.normal({2, 40, 2, 16});
  Tensor value = random.normal({2, 40, 2, 16});
  QkvInputs inputs() const { return {&query, &key, &value}; }
};

RuntimeOptions quick(std::vector<std::string>& events) {
  RuntimeOptions options;
  options.tuner = {.warmup = 0, .iters = 1, .budget_seconds = 10};
  options.on_event = [&events](const SelectionEvent& event) {
    events.push_back(std::string(event.name));
  };
  return options;
}

using Lines = std::vector<std::string>;

TEST_CASE("function form: the first call tunes, the second does not", "[attention]") {
  const Arrays a;
  Lines events;
  Runtime runtime(quick(events));
  FlashAttentionOptions options;
  options.mask.causal = true;
  const SoftmaxResult expected = flash_attention(a.query, a.key, a.value, options);
  const auto run = [&] {
    const SoftmaxResult seen =
        runtime.call<FlashAttentionOp>({&a.query, &a.key, &a.value}, options);
    check_close(seen.out, expected.out, 1e-6, "out");
    check_close(seen.lse, expected.lse, 1e-6, "lse");
  };
  run();
  CHECK(events == Lines{"autotune_start", "autotune_finish"});
  run();
  CHECK(events == Lines{"autotune_start", "autotune_finish", "cache_hit"});
  const auto tuned = runtime.executor(kOperation<FlashAttentionOp>).chain().tuned();
  REQUIRE(tuned.entries.size() == 1);
  CHECK(tuned.entries[0].measurements.size() == 7);
  for (const Measurement& one : tuned.entries[0].measurements) CHECK(one.runs == 1);
}

TEST_CASE("function form: with the policy heuristics nothing is measured", "[attention]") {
  const Arrays a;
  Lines events;
  RuntimeOptions settings = quick(events);
  settings.cache_miss = CacheMiss::kHeuristics;
  Runtime runtime(settings);
  runtime.call<FlashAttentionOp>({&a.query, &a.key, &a.value});
  runtime.call<ScaledDotProductAttentionOp>({&a.query, &a.key, &a.value});
  CHECK(events == Lines{"heuristics", "heuristics"});
  Runtime tuning(quick(events));
  events.clear();
  tuning.call<AttentionOp>({&a.query, &a.key, &a.value});
  tuning.call<ScaledDotProductAttentionOp>({&a.query, &a.key, &a.value});
  CHECK(events == Lines{"heuristics", "heuristics"});
}

TEST_CASE("function form: configs that one runtime tuned are loaded from the folder by the next",
          "[attention]") {
  const Arrays a;
  const test::Scratch folder;
  Lines events;
  RuntimeOptions settings = quick(events);
  settings.cache_folder = folder.folder();
  for (int i = 0; i < 2; ++i) {
    Runtime runtime(settings);
    runtime.call<FlashAttentionOp>({&a.query, &a.key, &a.value});
  }
  CHECK(std::filesystem::exists(folder / "flash-attn.txt"));
  CHECK(events == Lines{"autotune_start", "autotune_finish", "cache_hit"});
}

TEST_CASE("executor: no tile size changes a result", "[attention]") {
  const Arrays a;
  const Executor executor;
  const FlashAttention module;
  FlashAttentionOptions options;
  options.mask.causal = true;
  const SoftmaxResult expected = flash_attention(a.query, a.key, a.value, options);
  const SoftmaxGradients gradients =
      flash_attention_backward(a.query, a.key, a.value, expected, expected.out, options);
  for (const Index q : {1, 7, 64}) {
    for (const Index kv : {1, 33, 1000}) {
      CallOptions call;
      call.cfg =
          FlashAttentionConfig{.fwd_params = FwdParams{.q_blocksize = q, .kv_blocksize = kv},
                               .bwd_params = BwdParams{.q_blocksize = kv, .kv_blocksize = q}};
      const SoftmaxResult seen = executor(module, a.inputs(), options, call);
      check_close(seen.out, expected.out, 1e-6, "out");
      check_gradients(
          executor.backward(module, a.inputs(), seen, {.out = &expected.out}, options, call),
          gradients, 1e-5);
    }
  }
}

TEST_CASE("executor: platforms without kernels here are refused, and xla runs", "[attention]") {
  const Arrays a;
  const Executor executor;
  const auto with = [&](CallOptions call) {
    return error_of([&] { executor(FlashAttention(), a.inputs(), {}, call); });
  };
  CallOptions call;
  call.platform = Platform::kXla;
  CHECK(with(call) == "no error");
  const std::string missing = unavailable(Backend::kCuda);
  call.platform = Platform::kCuda;
  CHECK(with(call) == (missing.empty() ? "no error"
                                       : "flash_attention on platform cuda cannot run: " + missing +
                                             "; use auto or xla"));
  call.platform = Platform::kTriton;
  CHECK(with(call) ==
        "flash_attention has no kernel for platform triton on device any; it has: cuda, xla");
  call = {};
  call.cfg = FlashAttentionConfig{.platform = Platform::kTriton, .backend = DeviceKind::kGpu};
  CHECK(with(call) ==
        "flash_attention has no kernel for platform triton on device gpu; it has: cuda, xla");
  // The platform argument wins over that of the config, on any device.
  call.platform = Platform::kXla;
  CHECK(with(call) == "no error");
  call.cfg = FlashAttentionConfig{.fwd_params = FwdParams{.q_blocksize = -1}};
  CHECK(with(call).starts_with("FlashAttentionConfig: fwd_params.q_blocksize is -1"));
}

TEST_CASE("executor: bad input throws the operation's error, tuned or not", "[attention]") {
  const Arrays a;
  Random random(1);
  const Tensor wrong = random.normal({2, 41, 2, 16});
  const std::string expected = error_of([&] { flash_attention(a.query, a.key, wrong); });
  CHECK(expected != "no error");
  Lines events;
  Runtime runtime(quick(events));
  CHECK(error_of([&] { runtime.call<FlashAttentionOp>({&a.query, &a.key, &wrong}); }) == expected);
}

TEST_CASE("executor: equivalent calls share a key, others do not", "[attention]") {
  const Arrays a;
  const FlashAttention module;
  FlashAttentionOptions options;
  const std::string plain = module.call_text(a.inputs(), options);
  CHECK(plain == "query=float32[2,40,4,16] key=float32[2,40,2,16] value=float32[2,40,2,16]");
  options.softmax.context.backend = Backend::kReference;
  CHECK(module.call_text(a.inputs(), options) == plain + " backend=reference");
  options.softmax.context.backend = Backend::kCuda;
  CHECK(module.call_text(a.inputs(), options) == plain + " backend=cuda");
  options.softmax.context.backend = Backend::kCpu;
  // Hints such as the block size are not part of the key, since the config for the key sets them.
  options.softmax.q_block = 64;
  CHECK(module.call_text(a.inputs(), options) == plain);
  options.mask.causal = true;
  CHECK(module.call_text(a.inputs(), options) != plain);
  options.mask.causal = false;
  options.mask.window = Window(3, std::nullopt);
  CHECK(module.call_text(a.inputs(), options).find(" sliding_window=3+none") != std::string::npos);
  const Tensor half = astype(a.query, DType::kBFloat16);
  CHECK(module.call_text({&half, &a.key, &a.value}, {}) != plain);
  const Tensor ids(DType::kInt32, {2, 40});
  const MaskInfo info = MaskInfo::from_segments(ids);
  options = {};
  CallMask mask(info);
  mask.give(options);
  CHECK(module.call_text(a.inputs(), options).find("mask=mask[2,1,40,40]") != std::string::npos);
}

TEST_CASE("executor: a call that lacks the mesh or the specs runs unsplit, as in ejkernel") {
  const Arrays a;
  CallOptions call;
  call.mesh = attention::mesh_from_text("dp=7");
  const Executor executor;
  CHECK_NOTHROW(executor(FlashAttention(), a.inputs(), {}, call));
}

TEST_CASE("executor: calls are recorded and labelled if the options ask for it", "[attention]") {
  const Arrays a;
  Lines stamps;
  ExecutorOptions options;
  options.record = true;
  options.stamp = Stamp::kHash;
  options.on_stamp = [&](const std::string& label) { stamps.push_back(label); };
  ConfigSelectorChain::Options chain;
  chain.policy.cache_miss_fallback = CacheMiss::kHeuristics;
  const auto shared = std::make_shared<ConfigSelectorChain>(std::move(chain));
  const Executor executor(shared, options);
  executor(FlashAttention(), a.inputs());
  executor(FlashAttention(), a.inputs());
  executor(ScaledDotProductAttention(), a.inputs());
  const std::vector<RecordedCall> calls = executor.recorded();
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].calls == 2);
  CHECK(calls[0].key.operation == "flash_attention@v0");
  CHECK(calls[0].config == AnyConfig(FlashAttentionConfig{}));
  CHECK(calls[1].calls == 1);
  REQUIRE(stamps.size() == 3);
  CHECK(stamps[0] == "ejkernel_ops#flash_attention@v0:" + short_hash(calls[0].key.call));
  CHECK(stamps[1] == stamps[0]);
  CHECK(stamps[2] != stamps[0]);
  options.stamp = Stamp::kJson;
  const Executor with_json(shared, options);
  with_json(FlashAttention(), a.inputs());
  REQUIRE(stamps.size() == 4);
  CHECK(stamps[3] == "{\"op\":\"flash_attention@v0\",\"device\":\"" + device_fingerprint() +
                         "\",\"key\":\"" + short_hash(calls[0].key.call) + "\"}");
}

TEST_CASE("executor: a compiled call keeps its config", "[attention]") {
  const Arrays a;
  const Executor executor;
  CallOptions call;
  call.cfg = FlashAttentionConfig{.fwd_params = FwdParams{.q_blocksize = 8}};
  const auto compiled = executor.compile(FlashAttention(), a.inputs(), {}, call);
  const SoftmaxResult seen = compiled(a.inputs(), {});
  check_close(seen.out, flash_attention(a.query, a.key, a.value).out, 1e-6, "out");
  CHECK(AnyConfig(executor.choose_config(FlashAttention(), a.inputs())) ==
        *call.cfg);  // the config is remembered
}

TEST_CASE("executor: a stored config of another operation is refused", "[attention]") {
  const Arrays a;
  const Executor executor;
  const ConfigKey key{device_fingerprint(), "flash_attention@v0",
                      FlashAttention().call_text(a.inputs(), {})};
  executor.chain().cache().put(key, GLAttentionConfig{});
  CHECK(error_of([&] {
          executor(FlashAttention(), a.inputs());
        }).starts_with("flash_attention@v0 was given the config of another operation"));
}

TEST_CASE("modules: the first candidate is the heuristic config; fixed kernels have no other",
          "[attention]") {
  const Arrays a;
  FlashAttentionOptions options;
  CHECK(FlashAttention().candidate_cfgs(a.inputs(), options).size() == 7);
  CHECK(FlashAttention().candidate_cfgs(a.inputs(), options)[0] == FlashAttentionConfig{});
  for (const Backend backend : {Backend::kReference, Backend::kCuda}) {
    options.softmax.context.backend = backend;
    CHECK(FlashAttention().candidate_cfgs(a.inputs(), options).size() == 1);
  }
  CHECK(NativeSparseAttention().candidate_cfgs({}, {}).size() == 1);
}

TEST_CASE("modules: a call with backend kReference runs on the reference", "[attention]") {
  const Arrays a;
  const Executor executor;
  FlashAttentionOptions options;
  options.softmax.context.backend = Backend::kReference;
  const SoftmaxResult expected = flash_attention(a.query, a.key, a.value, options);
  const SoftmaxResult seen = executor(FlashAttention(), a.inputs(), options);
  check_close(seen.out, expected.out, 0, "out");
  CHECK(std::ranges::equal(seen.out.bytes(), expected.out.bytes()));
}

TEST_CASE("default runtime: its options cannot be set after its first use", "[attention]") {
  Runtime& runtime = default_runtime();
  CHECK(&runtime == &default_runtime());
  CHECK_THROWS_AS(set_default_runtime_options({}), Error);
}

}  // namespace

}  // namespace runtime_executor_cases
