// Compares sparse and paged operations on the shards of a mesh with one device,
// forward and, where an operation has gradients, backward.
#include "attention/sharded_check.h"
#include "maskctl/base/error.h"

namespace sharded_others_cases {

namespace {

using namespace sharded_test;

TEST_CASE(
    "sharded: native_sparse_attention gives the results of one device, with given and chosen "
    "blocks",
    "[attention]") {
  Random random(12);
  const Qkv a(random, 2, 20, 20, 4, 2);
  const Tensor blocks = random.integers({2, 20, 2, 3}, 5);
  const Tensor g_cmp = random.normal({2, 20, 4}), g_slc = random.normal({2, 20, 4});
  NativeSparseOptions options;
  options.block_size = 4;
  options.block_counts = 3;
  NativeSparseInputs inputs;
  inputs.query = &a.query;
  inputs.key = &a.key;
  inputs.value = &a.value;
  inputs.g_slc = &g_slc;
  inputs.block_indices = &blocks;
  const auto call = on<NativeSparseAttentionOp>("dp=2+tp=2", kThree, {kTokens});
  check_sharded<NativeSparseAttentionOp>(inputs, options, call, 1e-5);
  inputs.block_indices = nullptr;
  inputs.g_cmp = &g_cmp;
  check_sharded<NativeSparseAttentionOp>(inputs, options, call, 1e-5);
}

TEST_CASE("sharded: page_attention split over sequences and heads gives the results of one device",
          "[attention]") {
  Random random(16);
  const Tensor query = random.normal({4, 8, 16}), lens = test::i32({5, 0, 8, 3});
  Tensor decode = query;
  decode.reshape({4, 1, 8, 16});
  const Tensor tables = random.integers({4, 4}, 6);
  const PartitionSpec q = spec({"dp", "tp"}), by_sequence = spec({"dp"});
  for (const KvLayout layout : {KvLayout::kHeadsFirst, KvLayout::kTokensFirst}) {
    const bool first = layout == KvLayout::kHeadsFirst;
    const std::vector<Index> shape =
        first ? std::vector<Index>{6, 4, 2, 16} : std::vector<Index>{6, 2, 4, 16};
    const Tensor keys = random.normal(shape), values = random.normal(shape);
    PageAttentionInputs inputs;
    inputs.query = &query;
    inputs.key_cache = &keys;
    inputs.value_cache = &values;
    inputs.context_lens = &lens;
    inputs.block_tables = &tables;
    PageAttentionOptions options;
    options.kv_layout = layout;
    const PartitionSpec cache = first ? spec({kWhole, "tp"}) : spec({kWhole, kWhole, "tp"});
    check_sharded<PageAttentionOp>(
        inputs, options,
        on<PageAttentionOp>("dp=2+tp=4", {q, cache, cache, by_sequence, by_sequence}, {q}));
    inputs.query = &decode;
    check_sharded<PageAttentionOp>(
        inputs, options, on<PageAttentionOp>("dp=2+tp=4", {kTokens, cache, cache}, {kTokens}));
  }
}

TEST_CASE(
    "sharded: ragged_page_attention and ragged_decode_attention give the results of one device",
    "[attention]") {
  Random random(17);
  const PartitionSpec heads = spec({kWhole, "tp"}), none, pages = spec({kWhole, kWhole, "tp"});
  const Tensor queries = random.normal({7, 8, 16}), cache = random.normal({6, 2, 8, 16});
  const Tensor lens = test::i32({5, 6}), starts = test::i32({0, 3, 7}), count = test::i32({2});
  const Tensor tables = random.integers({2, 3}, 6), sinks = random.normal({4, 2});
  RaggedPageAttentionInputs v2;
  v2.queries = &queries;
  v2.kv_pages = &cache;
  v2.context_lens = &lens;
  v2.block_tables = &tables;
  v2.query_start_loc = &starts;
  v2.num_seqs = &count;
  v2.softmax_aux = &sinks;
  check_sharded<RaggedPageAttentionOp>(
      v2, {},
      on<RaggedPageAttentionOp>("tp=4", {heads, pages, none, none, none, none, spec({"tp"})},
                                {heads}));

  const Tensor query = random.normal({4, 8, 16}), key = random.normal({4, 9, 4, 16});
  const Tensor value = random.normal({4, 9, 4, 16});
  const Tensor begin = test::i32({0, 2, 3, 0}), end = test::i32({9, 5, 3, 1});
  RaggedDecodeAttentionInputs decode;
  decode.query = &query;
  decode.key = &key;
  decode.value = &value;
  decode.sequence_start = &begin;
  decode.sequence_end = &end;
  decode.softmax_aux = &sinks;
  const PartitionSpec q = spec({"dp", "tp"});
  check_sharded<RaggedDecodeAttentionOp>(
      decode, {},
      on<RaggedDecodeAttentionOp>("dp=2+tp=4", {q, kTokens, kTokens, kBatch, kBatch}, {q}));
}

TEST_CASE("sharded: ragged_page_attention_v3 updates the whole cache", "[attention]") {
  Random random(18);
  const PartitionSpec heads = spec({kWhole, "tp"}), none, pages = spec({kWhole, kWhole, "tp"});
  const auto dtype = GENERATE(DType::kFloat32, DType::kBFloat16);
  const Index packing = dtype == DType::kFloat32 ? 1 : 2;
  const Tensor queries = random.normal({5, 8, 16}, dtype), keys = random.normal({5, 4, 16}, dtype);
  const Tensor values = random.normal({5, 4, 16}, dtype), sink = random.normal({8});
  const Tensor before = random.normal({6, 2, 8 / packing, packing, 128}, dtype);
  const Tensor lens = test::i32({5, 4}), starts = test::i32({0, 3, 5});
  const Tensor tables = test::i32({0, 2, 4, 1, 3, 5}), distribution = test::i32({0, 0, 2});
  Tensor one = before, split = before;
  RaggedPageAttentionV3Call call;
  call.queries = &queries;
  call.keys = &keys;
  call.values = &values;
  call.kv_lens = &lens;
  call.block_tables = &tables;
  call.query_start_loc = &starts;
  call.distribution = &distribution;
  call.attention_sink = &sink;
  call.kv_cache = &one;
  const Tensor expected = RaggedPageAttentionv3Op::forward(call, {});
  call.kv_cache = &split;
  const Tensor seen = run<RaggedPageAttentionv3Op>(
      call, {},
      on<RaggedPageAttentionv3Op>("tp=4", {heads, heads, heads, pages, none, none, none, none},
                                  {heads, pages}));
  check_close(seen, expected, 2e-6, "out");
  check_close(split, one, 0, "kv_cache");
  CHECK(std::ranges::count(std::span(before.bytes()), std::byte{0}) !=
        std::ranges::count(std::span(one.bytes()), std::byte{0}));
}

TEST_CASE("sharded: ejkernel's form of ragged_page_attention_v3 gives the results of one device",
          "[attention]") {
  Random random(19);
  const PartitionSpec heads = spec({kWhole, "tp"}), none, pages = spec({kWhole, kWhole, "tp"});
  const Tensor query = random.normal({5, 4, 8}), keys = random.normal({6, 2, 2, 8});
  const Tensor values = random.normal({6, 2, 2, 8}), tables = random.integers({2, 3}, 6);
  const Tensor cu_q = test::i32({0, 3, 5}), cu_k = test::i32({0, 5, 9});
  RaggedPageAttentionV3PagesInputs inputs;
  inputs.query = &query;
  inputs.key_pages = &keys;
  inputs.value_pages = &values;
  inputs.cu_seqlens_q = &cu_q;
  inputs.cu_seqlens_k = &cu_k;
  inputs.page_indices = &tables;
  check_sharded<RaggedPageAttentionv3PagesOp>(
      inputs, {},
      on<RaggedPageAttentionv3PagesOp>("tp=2", {heads, pages, pages, none, none, none}, {heads}));
}

}  // namespace

}  // namespace sharded_others_cases
