// Compares operations without a mask on the shards of a mesh with one device, forward and, where an
// operation has gradients, backward.
#include "attention/sharded_check.h"
#include "maskctl/base/error.h"
#include "maskctl/kernels/all.h"
#include "support/backends.h"
#include "support/error_of.h"

namespace sharded_kernels_cases {

namespace {

using namespace sharded_test;
using maskctl::test::error_of;

TEST_CASE("sharded: the linear operations give the results of one device", "[attention]") {
  Random random(13);
  const Qkv a(random, 2, 10, 10, 4, 2);
  const Tensor g = random.uniform({2, 10, 4, 8}, -0.5f, 0), gamma = random.uniform({4}, -0.5f, 0);
  const Tensor state = random.normal({2, 4, 8, 6}), decay = random.uniform({4}, -0.5f, 0);
  const auto call = on<RecurrentAttentionOp>("dp=2+tp=2", kThree, {kTokens});
  RecurrentAttentionInputs recurrent;
  recurrent.query = &a.query;
  recurrent.key = &a.key;
  recurrent.value = &a.value;
  recurrent.g = &g;
  recurrent.g_gamma = &gamma;
  recurrent.state = &state;
  check_sharded<RecurrentAttentionOp>(recurrent, {}, call, 1e-5);

  GlaAttentionInputs gla;
  gla.query = &a.query;
  gla.key = &a.key;
  gla.value = &a.value;
  gla.gate = &g;
  check_sharded<GLAttentionOp>(gla, {}, on<GLAttentionOp>("dp=2+tp=2", kThree, {kTokens}), 1e-5);

  LightningAttentionInputs lightning;
  lightning.query = &a.query;
  lightning.key = &a.key;
  lightning.value = &a.value;
  LightningAttentionOptions options;
  options.layer_idx = 1;
  options.num_layers = 4;
  const auto split = on<LightningAttentionOp>("dp=2+tp=2", kThree, {kTokens});
  check_sharded<LightningAttentionOp>(lightning, options, split, 1e-5);
  lightning.decay = &decay;
  options.layer_idx = options.num_layers = std::nullopt;
  check_sharded<LightningAttentionOp>(lightning, options, split, 1e-5);
}

TEST_CASE("sharded: the gated delta rule gives the results of one device", "[attention]") {
  Random random(15);
  const Tensor query = random.normal({2, 10, 2, 8}),
               key = random.uniform({2, 10, 2, 8}, -0.3f, 0.3f),
               value = random.normal({2, 10, 4, 6}), beta = random.uniform({2, 10, 4}, 0, 1),
               g = random.uniform({2, 10, 4}, -0.5f, 0), state = random.normal({2, 4, 8, 6});
  const GatedDeltaRuleInputs inputs{&query, &key, &value, &beta, &g, &state};
  GatedDeltaRuleOptions options;
  options.return_state = true;
  check_sharded<GatedDeltaRuleOp>(inputs, options,
                                  on<GatedDeltaRuleOp>("dp=2+tp=2", kThree, {kTokens}), 1e-5);
}

TEST_CASE("sharded: a short convolution gives the results of one device", "[attention]") {
  Random random(16);
  const Tensor x = random.normal({2, 10, 6}), weight = random.normal({6, 4}),
               bias = random.normal({6}), state = random.normal({2, 6, 3});
  const ShortConvolutionInputs inputs{&x, &weight, &bias, &state};
  const PartitionSpec channels = spec({"dp", kWhole, "tp"});
  check_sharded<ShortConvolutionOp>(
      inputs, {.activation = Activation::kSilu, .return_state = true},
      on<ShortConvolutionOp>("dp=2+tp=2", {channels, spec({"tp"})}, {channels}), 1e-5);
}

TEST_CASE("sharded: grouped_matmul split by rows and columns gives the results of one device",
          "[attention]") {
  Random random(14);
  const Tensor lhs = random.normal({12, 5}), rhs = random.normal({3, 5, 8});
  const Tensor turned = random.normal({3, 8, 5}), sizes = test::i32({5, 0, 4});
  const Tensor ids = random.integers({12}, 3), existing = random.normal({12, 8});
  const PartitionSpec rows = spec({"dp"}), matrices = spec({kWhole, kWhole, "tp"});
  const PartitionSpec none, out = spec({"dp", "tp"}), turned_spec = spec({kWhole, "tp"});
  GroupedMatmulInputs inputs;
  inputs.lhs = &lhs;
  inputs.rhs = &rhs;
  inputs.group_sizes = &sizes;
  inputs.existing_out = &existing;
  check_sharded<GroupedMatmulOp>(
      inputs, {}, on<GroupedMatmulOp>("dp=3+tp=2", {rows, matrices, none}, {out}), 1e-5);
  GroupedMatmulOptions options;
  options.transpose_rhs = true;
  inputs.rhs = &turned;
  check_sharded<GroupedMatmulOp>(
      inputs, options, on<GroupedMatmulOp>("dp=3+tp=2", {rows, turned_spec, none}, {out}), 1e-5);
  inputs.group_sizes = nullptr;
  inputs.group_ids = &ids;
  check_sharded<GroupedMatmulOp>(
      inputs, options, on<GroupedMatmulOp>("dp=3+tp=2", {rows, turned_spec, none}, {out}), 1e-5);
  const Tensor too_many = test::i32({5, 9, 4});
  inputs.group_ids = nullptr;
  inputs.group_sizes = &too_many;
  CHECK_THROWS_AS(
      run<GroupedMatmulOp>(inputs, options,
                           on<GroupedMatmulOp>("dp=3+tp=2", {rows, turned_spec, none}, {out})),
      Error);
}

TEST_CASE("sharded: grouped_matmul split over its groups (experts) gives the results of one device",
          "[attention]") {
  Random random(17);
  const Tensor sizes = test::i32({5, 0, 1, 3, 2, 4, 3}), offset = test::i32({1});
  const Tensor ids = random.integers({20}, 7);
  const PartitionSpec experts = spec({"ep"}), none;
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    const Tensor lhs = random.normal({20, 5}, dtype), rhs = random.normal({4, 5, 8}, dtype);
    const Tensor existing = random.normal({20, 8}, dtype);
    for (const bool by_size : {true, false}) {
      for (const auto mode : {ExistingOutMode::kAdd, ExistingOutMode::kKeepUnprocessed}) {
        for (const Tensor* existing_out : {static_cast<const Tensor*>(nullptr), &existing}) {
          GroupedMatmulInputs inputs{&lhs, &rhs, nullptr, nullptr, &offset, existing_out};
          (by_size ? inputs.group_sizes : inputs.group_ids) = by_size ? &sizes : &ids;
          GroupedMatmulOptions options;
          options.existing_out_mode = mode;
          for (const Backend backend : test::usable_backends()) {
            options.context.backend = backend;
            const double tolerance = dtype == DType::kFloat32 ? 1e-5 : 0.02;
            check_sharded<GroupedMatmulOp>(
                inputs, options, on<GroupedMatmulOp>("ep=2", {none, experts, none}, {none}),
                tolerance);
            check_sharded<GroupedMatmulOp>(
                inputs, options,
                on<GroupedMatmulOp>("dp=5+ep=4+tp=2",
                                    {spec({"dp"}), spec({"ep", kWhole, "tp"}), none},
                                    {spec({"dp", "tp"})}),
                tolerance);
          }
        }
      }
    }
  }
}

TEST_CASE("sharded: a number of groups that the devices do not divide is refused", "[attention]") {
  Random random(18);
  const Tensor lhs = random.normal({6, 5}), rhs = random.normal({3, 5, 8});
  const Tensor sizes = test::i32({1, 2, 3});
  GroupedMatmulInputs inputs{&lhs, &rhs, &sizes};
  CHECK(
      error_of([&] {
        run<GroupedMatmulOp>(inputs, {}, on<GroupedMatmulOp>("ep=2", {{}, spec({"ep"}), {}}, {{}}));
      }) == "sharded grouped_matmul: rhs has extent 3 along axis G, which 2 devices do not divide");
  GroupedMatmulOptions options;
  options.group_parts = 2;
  CHECK(error_of([&] { grouped_matmul(inputs, options); }) ==
        "rhs has 3 groups, which 2 group_parts do not divide");
  options.group_parts = 0;
  CHECK(error_of([&] { grouped_matmul(inputs, options); }) == "group_parts 0 is below 1");
}

TEST_CASE("sharded: mean_pooling gives the results of one device", "[attention]") {
  Random random(15);
  const Tensor x = random.normal({4, 6, 5}), mask = random.flags({4, 6}, 0.6);
  MeanPoolingInputs inputs;
  inputs.x = &x;
  inputs.attention_mask = &mask;
  check_sharded<MeanPoolingOp>(inputs, {}, on<MeanPoolingOp>("dp=2", {kBatch}, {kBatch}));
  inputs.attention_mask = nullptr;
  MeanPoolingOptions options;
  options.mode = PoolingMode::kPerChunk;
  options.chunk_size = 4;
  check_sharded<MeanPoolingOp>(inputs, options, on<MeanPoolingOp>("dp=2", {kBatch}, {kBatch}));
}

}  // namespace

}  // namespace sharded_kernels_cases
