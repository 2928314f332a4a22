// Compares the dense operations on the shards of a mesh with one device, forward and backward.
#include <algorithm>
#include <atomic>

#include "attention/sharded_check.h"
#include "maskctl/attention/arrays/slices.h"
#include "support/backends.h"
#include "support/error_of.h"

namespace sharded_cases {

namespace {

using namespace sharded_test;
using maskctl::test::error_of;

TEST_CASE("sharded: ejkernel's flash attention on a mesh of 2 x 4", "[attention]") {
  Random random(1);
  const Qkv a(random, 4, 9, 11, 8, 4);
  const Tensor per_head = random.normal({4, 8, 9, 11}), shared = random.normal({1, 1, 9, 11});
  const Tensor sinks = random.normal({8, 2}), key_sinks = random.normal({4, 1});
  const Tensor few = random.normal({3}), mask = random.flags({4, 1, 9, 11}, 0.7);
  const Tensor padding = random.flags({4, 11}, 0.7), ids = random.integers({4, 9}, 3);
  const Tensor kv_ids = random.integers({4, 11}, 3);
  const auto call = on<FlashAttentionOp>("dp=2+tp=4", kThree, {kTokens});
  std::vector<FlashAttentionOptions> all(6);
  all[0].mask.causal = true;
  all[1].bias = &per_head;
  all[1].softmax_aux = &sinks;
  all[2].bias = &shared;
  all[2].softmax_aux = &few;
  all[2].mask.window = Window(3);
  all[3].mask.attention_mask = &mask;
  all[3].softmax_aux = &key_sinks;
  all[3].softmax.soft_cap = 2;
  all[4].mask.attention_mask = &padding;
  all[4].softmax.empty_row = EmptyRow::kMean;
  all[5].mask.q_segment_ids = &ids;
  all[5].mask.kv_segment_ids = &kv_ids;
  for (FlashAttentionOptions& options : all) {
    for (const Backend backend : test::usable_backends()) {
      options.softmax.context.backend = backend;
      check_sharded<FlashAttentionOp>(a.inputs(), options, call);
    }
  }
}

TEST_CASE(
    "sharded: unsplit key heads, one key head and 16-bit floats give the results of one device",
    "[attention]") {
  Random random(2);
  for (const Index kv_heads : {1, 2}) {
    const Qkv a(random, 2, 9, 9, 8, kv_heads, DType::kBFloat16);
    FlashAttentionOptions options;
    options.mask.causal = true;
    check_sharded<FlashAttentionOp>(
        a.inputs(), options,
        on<FlashAttentionOp>("dp=2+tp=4", {kTokens, kBatch, kBatch}, {kTokens}), 0.01);
  }
}

TEST_CASE(
    "sharded: unused mesh axes, and several names for one axis, give the results of one device",
    "[attention]") {
  Random random(3);
  const Qkv a(random, 4, 5, 5, 2, 2);
  const PartitionSpec p = spec({std::vector<std::string>{"dp", "fsdp"}});
  check_sharded<FlashAttentionOp>(a.inputs(), {},
                                  on<FlashAttentionOp>("dp=2+pp=3+fsdp=2", {p, p, p}, {p}));
}

TEST_CASE("sharded: devices that would repeat the work of others do not run", "[attention]") {
  Random random(14);
  const Qkv a(random, 4, 5, 5, 2, 2);
  const FlashAttentionOp::Call call{a.inputs(), {}};
  const PartitionSpec p = spec({"dp"});
  const Operation& row = kOperation<FlashAttentionOp>;
  const ShardMap map(row, &call, {mesh_from_text("dp=2+pp=3"), {p, p, p}, {p}});
  std::atomic<int> devices = 0;
  map.forward([&](const void* part) {
    ++devices;
    return row.forward(part);
  });
  CHECK(devices == 2);
}

TEST_CASE("sharded: cumulative lengths of padded sequences give the results of one device",
          "[attention]") {
  Random random(4);
  const Qkv a(random, 4, 8, 10, 4, 2);
  const Tensor cu_q = test::i32({0, 8, 11, 11, 16}), cu_k = test::i32({0, 9, 13, 13, 23});
  FlashAttentionOptions options;
  options.mask.cum_seqlens_q = &cu_q;
  options.mask.cum_seqlens_k = &cu_k;
  options.mask.causal = true;
  check_sharded<FlashAttentionOp>(a.inputs(), options,
                                  on<FlashAttentionOp>("dp=2+tp=2", kThree, {kTokens}));
}

TEST_CASE("sharded: flash attention under a lazy mask gives the results of one device",
          "[attention]") {
  Random random(5);
  const Qkv a(random, 4, 9, 9, 4, 2);
  const auto call = on<FlashAttentionOp>("dp=2+tp=2", kThree, {kTokens});
  FlashAttentionOptions options;
  const Mask mask = random.mask(4, 4, 9, 9, 0.6);
  options.mask.mask = &mask;
  check_sharded<FlashAttentionOp>(a.inputs(), options, call);
}

TEST_CASE("sharded: scaled_dot_product_attention gives the results of one device", "[attention]") {
  Random random(6);
  const Qkv a(random, 4, 7, 9, 4, 2);
  const Tensor lengths = test::i32({9, 3, 0, 5}), q_lengths = test::i32({7, 0, 4, 5});
  const Tensor bias = random.normal({4, 4, 7, 9});
  ScaledDotProductAttentionOptions options;
  options.mask.key_lengths = &lengths;
  options.mask.query_lengths = &q_lengths;
  options.init_bias = [&] { return bias; };
  check_sharded<ScaledDotProductAttentionOp>(
      a.inputs(), options,
      on<ScaledDotProductAttentionOp>(
          "dp=2+tp=2", {kTokens, kTokens, kTokens, kHeads, kBatch, kBatch}, {kTokens}));
}

TEST_CASE("sharded: attention and its weights give the results of one device", "[attention]") {
  Random random(7);
  const Qkv a(random, 2, 7, 9, 4, 2);
  const Tensor bias = random.normal({2, 2, 7, 9});
  AttentionOptions options;
  options.bias = &bias;
  options.mask.causal = true;
  check_sharded<AttentionOp>(a.inputs(), options, on<AttentionOp>("dp=2+tp=2", kThree, {kTokens}));
}

TEST_CASE(
    "sharded: blocksparse_attention with a mask for each head gives the results of one device",
    "[attention]") {
  Random random(8);
  const Tensor query = random.normal({2, 4, 8, 8}), key = random.normal({2, 2, 8, 8});
  const Tensor value = random.normal({2, 2, 8, 8}), sinks = random.normal({2, 3});
  const Tensor block_mask = random.flags({4, 2, 2}, 0.6);
  const auto window_of_head = [](Index, Index h, Index i, Index j) { return j >= i - h; };
  BlocksparseAttentionOptions options;
  const auto call = on<BlockSparseAttentionOp>("dp=2+tp=2", {kHeads, kHeads, kHeads}, {kHeads});
  const QkvInputs inputs{&query, &key, &value};
  options.static_mask = std::make_shared<const Mask>(mask_of_rule(1, 4, 8, 8, window_of_head));
  options.softmax_aux = &sinks;
  check_sharded<BlockSparseAttentionOp>(inputs, options, call);
  options.mask.mask = nullptr;
  // Atomic, since devices build their masks on threads of their own.
  std::atomic<bool> as_whole = true;
  options.mask_builder = [&](Index, Index, Index count, Index head, Index reps) {
    if (count != 4 || reps != 2) as_whole = false;
    return std::make_shared<const Mask>(mask_of_rule(
        1, 1, 8, 8, [&](Index, Index, Index i, Index j) { return window_of_head(0, head, i, j); }));
  };
  check_sharded<BlockSparseAttentionOp>(inputs, options, call);
  CHECK(as_whole);
  options.mask_builder = {};
  options.mask.block_mask = &block_mask;
  options.mask.block_size = 4;
  check_sharded<BlockSparseAttentionOp>(inputs, options, call);
}

TEST_CASE("sharded: blocksparse_attention split over queries gives the results of one device",
          "[attention]") {
  Random random(13);
  const Tensor query = random.normal({2, 4, 12, 8}), key = random.normal({2, 2, 10, 8});
  const Tensor value = random.normal({2, 2, 10, 6}), sinks = random.normal({4, 2});
  const Tensor bias = random.normal({2, 4, 12, 10}), key_bias = random.normal({1, 4, 1, 10});
  const Tensor ids = random.integers({2, 12}, 3), kv_ids = random.integers({2, 10}, 3);
  const Tensor places = random.integers({2, 12}, 9), kv_places = random.integers({2, 10}, 9);
  const Tensor block_mask = random.flags({4, 4, 4}, 0.6);
  const Mask cells = random.mask(2, 4, 12, 10, 0.5);
  const QkvInputs inputs{&query, &key, &value};
  const PartitionSpec q = spec({"dp", "tp", "sp"});
  std::vector<BlocksparseAttentionOptions> all(7);
  all[0].bias = &bias, all[0].softmax_aux = &sinks;
  all[1].bias = &key_bias, all[1].mask.window = Window(3), all[1].softmax.soft_cap = 2;
  all[2].mask.q_segment_ids = &ids, all[2].mask.kv_segment_ids = &kv_ids,
  all[2].mask.causal = false;
  all[3].mask.q_positions = &places, all[3].mask.kv_positions = &kv_places;
  all[4].mask.block_mask = &block_mask, all[4].mask.block_size = 3,
  all[4].softmax.empty_row = EmptyRow::kMean;
  all[5].mask.chunk_size = 5;
  all[6].static_mask = std::make_shared<const Mask>(mask_of_rule(
      1, 1, 12, 10, [](Index, Index, Index i, Index j) { return i - 2 <= j && j <= i + 1; })),
  all[6].mask.mask = &cells;
  for (BlocksparseAttentionOptions& options : all) {
    options.sequence_parallelism_mesh_axis_name = "sp";
    for (const Backend backend : test::usable_backends()) {
      options.softmax.context.backend = backend;
      for (const char* mesh : {"dp=2+sp=3+tp=2", "sp=12+dp=1+tp=1", "dp=1+sp=1+tp=2"}) {
        check_sharded<BlockSparseAttentionOp>(
            inputs, options, on<BlockSparseAttentionOp>(mesh, {q, kHeads, kHeads}, {q}));
      }
    }
  }
  BlocksparseAttentionOptions options;
  const auto refused = [&](const PartitionSpec& k, const char* mesh) {
    return error_of([&] {
      run<BlockSparseAttentionOp>(inputs, options,
                                  on<BlockSparseAttentionOp>(mesh, {q, k, k}, {q}));
    });
  };
  CHECK(refused(kHeads, "dp=2+sp=3+tp=2") ==
        "sharded blocksparse_attention: axis Tq is split over (sp), expected "
        "sequence_parallelism_mesh_axis_name ''");
  options.sequence_parallelism_mesh_axis_name = "sp";
  CHECK(refused(kHeads, "dp=2+sp=3+tp=2") == "no error");
  CHECK(refused(q, "dp=2+sp=2+tp=2").find("a shard on its own can split") != std::string::npos);
  options.sequence_parts = 5;
  CHECK(error_of([&] { blocksparse_attention(query, key, value, options); }) ==
        "12 queries, which 5 sequence_parts do not divide");
  options.sequence_parts = 0;
  CHECK(error_of([&] { blocksparse_attention(query, key, value, options); }) ==
        "sequence_parts 0 is below 1");
  options.sequence_parts = 3, options.sequence_part = 3;
  CHECK(error_of([&] { blocksparse_attention(query, key, value, options); }) ==
        "sequence_part 3 of 3 sequence_parts: they are counted from 0");
}

TEST_CASE("blocksparse_attention computes one part of the queries as in the whole call",
          "[attention]") {
  Random random(11);
  const Tensor query = random.normal({2, 4, 12, 8}), key = random.normal({2, 2, 15, 8}),
               value = random.normal({2, 2, 15, 6}), bias = random.normal({2, 4, 12, 15});
  BlocksparseAttentionOptions options;
  options.bias = &bias;
  options.sequence_parts = 3;
  const SoftmaxResult whole = blocksparse_attention(query, key, value, options);
  for (Index part = 0; part < 3; ++part) {
    options.sequence_part = part;
    const Range rows{4 * part, 4 * part + 4};
    const SoftmaxResult own = blocksparse_attention(slice_of(query, 2, rows), key, value, options);
    CHECK(std::ranges::equal(own.out.bytes(), slice_of(whole.out, 2, rows).bytes()));
    CHECK(std::ranges::equal(own.lse.bytes(), slice_of(whole.lse, 2, rows).bytes()));
  }
}

TEST_CASE("sharded: ring_attention over the sequence axis gives the results of one device",
          "[attention]") {
  Random random(9);
  const Qkv a(random, 2, 12, 12, 4, 2);
  const PartitionSpec p = spec({"dp", "sp", "tp"});
  const Tensor ids = random.integers({2, 12}, 3), bias = random.normal({2, 4, 12, 12});
  RingAttentionOptions options;
  options.axis_name = "sp";
  options.mask.causal = true;
  options.mask.q_segment_ids = options.mask.kv_segment_ids = &ids;
  options.bias = &bias;
  for (const char* mesh : {"dp=2+sp=3+tp=2", "sp=4+dp=1+tp=1", "dp=2+sp=1+tp=1"}) {
    check_sharded<RingAttentionOp>(a.inputs(), options, on<RingAttentionOp>(mesh, {p, p, p}, {p}),
                                   1e-5);
  }
  options.bias = nullptr;
  const Mask mask = random.mask(2, 4, 12, 12, 0.3);  // some queries see no key
  options.mask.mask = &mask;
  options.softmax.empty_row = EmptyRow::kMean;
  for (const Backend backend : test::usable_backends()) {
    options.softmax.context.backend = backend;
    check_sharded<RingAttentionOp>(a.inputs(), options,
                                   on<RingAttentionOp>("dp=2+sp=3+tp=2", {p, p, p}, {p}), 1e-5);
  }
  const auto refused = [&](const PartitionSpec& q, const PartitionSpec& k, const char* axis) {
    options.axis_name = axis;
    return error_of([&] {
      run<RingAttentionOp>(a.inputs(), options,
                           on<RingAttentionOp>("dp=2+sp=3+tp=2", {q, k, k}, {q}));
    });
  };
  CHECK(refused(p, p, "sp") == "no error");
  CHECK(refused(p, p, "ring") ==
        "sharded ring_attention: axis Tq is split over (sp), expected axis_name "
        "'ring'");
  CHECK(refused(kTokens, kTokens, "sp") ==
        "sharded ring_attention: axis Tq is split over (), expected axis_name 'sp'");
}

TEST_CASE("sharded: mla_attention gives the results of one device", "[attention]") {
  Random random(10);
  const Tensor query = random.normal({2, 7, 4, 6}), latent = random.normal({2, 7, 5});
  const Tensor w_kc = random.normal({5, 2, 6}), w_vc = random.normal({5, 2, 4});
  const Tensor b_q = random.normal({2, 7, 3}), b_k = random.normal({2, 7, 3});
  MlaAttentionOptions options;
  options.b_q = &b_q;
  options.b_k = &b_k;
  options.mask.causal = true;
  const PartitionSpec weights = spec({kWhole, "tp"});
  check_sharded<FlashMLAOp>(
      {&query, &latent, &w_kc, &w_vc}, options,
      on<FlashMLAOp>("dp=2+tp=2", {kTokens, kBatch, weights, weights}, {kTokens}), 1e-5);
}

TEST_CASE("sharded: the sharded call drops the same weights as the unsharded one", "[attention]") {
  Random random(12);
  const Qkv a(random, 4, 12, 12, 4, 2);
  for (const Backend backend : test::usable_backends()) {
    FlashAttentionOptions flash;
    flash.softmax.dropout = 0.4, flash.softmax.dropout_seed = 7, flash.mask.causal = true,
    flash.softmax.context.backend = backend;
    check_sharded<FlashAttentionOp>(
        a.inputs(), flash, on<FlashAttentionOp>("dp=2+tp=4", {kTokens, kBatch, kBatch}, {kTokens}));
    AttentionOptions plain;
    plain.deterministic = false, plain.softmax.dropout = 0.4, plain.softmax.dropout_seed = 8;
    plain.softmax.context.backend = backend;
    check_sharded<AttentionOp>(a.inputs(), plain, on<AttentionOp>("dp=4+tp=2", kThree, {kTokens}));
    RingAttentionOptions ring;
    ring.deterministic = false, ring.softmax.dropout = 0.4, ring.softmax.dropout_seed = 9,
    ring.axis_name = "sp";
    ring.softmax.context.backend = backend;
    const PartitionSpec p = spec({"dp", "sp", "tp"});
    check_sharded<RingAttentionOp>(a.inputs(), ring,
                                   on<RingAttentionOp>("dp=2+sp=3+tp=2", {p, p, p}, {p}), 1e-5);
  }
}

TEST_CASE("sharded: wrong numbers of specs, and masks that do not fit, are refused",
          "[attention]") {
  Random random(20);
  const Qkv a(random, 2, 5, 5, 4, 2);
  const auto flash = [&](std::vector<std::optional<PartitionSpec>> in,
                         std::vector<PartitionSpec> out) {
    return error_of([&] {
      run<FlashAttentionOp>(a.inputs(), {},
                            on<FlashAttentionOp>("dp=2+tp=2", std::move(in), std::move(out)));
    });
  };
  CHECK(flash(kThree, {kTokens}) == "no error");
  CHECK(flash({kTokens, kTokens}, {kTokens}) ==
        "sharded flash_attention: 2 in_specs, expected 3 to 10");
  CHECK(flash(kThree, {kTokens, kTokens}) == "sharded flash_attention: 2 out_specs, expected 1");
  CHECK(flash({kTokens, kTokens, kTokens, std::nullopt, std::nullopt, std::nullopt, std::nullopt},
              {kTokens}) == "no error");
  FlashAttentionOptions options;
  const Mask mask = random.mask(3, 1, 5, 5, 0.5);
  options.mask.mask = &mask;
  const auto masked = [&] {
    run<FlashAttentionOp>(a.inputs(), options,
                          on<FlashAttentionOp>("dp=2+tp=2", kThree, {kTokens}));
  };
  CHECK(error_of(masked) == "sharded flash_attention: mask has extent 3 along axis B, expected 2");
}

}  // namespace

}  // namespace sharded_cases
