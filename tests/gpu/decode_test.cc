// Tests decoding on tensor cores: one or several queries in each sequence, 16-bit elements, sizes
// of heads and groups for which there are special kernels, and sizes between these.
#include "gpu/device_batch.h"
#include "gpu/kernels_ran.h"
#include "maskctl/attention/operations/paged/page_attention.h"

namespace maskctl::attention::paging {
namespace {

/// Makes sequences that have `rows` queries each, or all of their tokens if these are fewer.
Batch decoding(RandomTensors& r, const Heads& heads, DType dtype, Index page_size,
               const std::vector<std::int32_t>& lengths, std::int32_t rows = 1) {
  std::vector<std::int32_t> own = lengths;
  for (std::int32_t& n : own) n = std::min(n, rows);
  return dealt_batch(r, heads, dtype, page_size, lengths, own);
}

TEST_CASE("gpu: decoding equals the reference for any heads, groups and pages") {
  const Heads all[] = {{2, 4, 128}, {1, 8, 64},  {1, 9, 128}, {3, 1, 256}, {1, 16, 256},
                       {2, 16, 64}, {1, 20, 72}, {1, 5, 136}, {4, 2, 8}};
  int calls = 0;
  for (const Heads& heads : all) {
    for (const DType dtype : {DType::kBFloat16, DType::kFloat16}) {
      RandomTensors r(static_cast<unsigned>(heads.dim + heads.group));
      const Index page_size = r.chance(0.5) ? 16 : 1 + r.below(40);
      const auto length = [&r] { return static_cast<std::int32_t>(1 + r.below(300)); };
      const Batch b = decoding(r, heads, dtype, page_size, {length(), 0, 1, length(), 64});
      const Rules with = rules(r, b, true);
      INFO(name(dtype) << " " << heads.kv_heads << " " << heads.group << " " << heads.dim);
      check_close(ragged(b, with, Backend::kCuda), ragged(b, with, Backend::kReference),
                  tolerance(dtype), "out");
      ++calls;
    }
  }
  gpu_test::say_ran("decoding", "float16 and bfloat16", calls, "tensor cores");
}

TEST_CASE("gpu: several queries of a sequence are decoded together") {
  for (const Heads& heads : {Heads{2, 4, 64}, Heads{1, 1, 128}, Heads{1, 3, 72}, Heads{1, 16, 8}}) {
    for (const std::int32_t rows : {2, 5, 40}) {
      RandomTensors r(static_cast<unsigned>(rows));
      const DType dtype = r.chance(0.5) ? DType::kFloat16 : DType::kBFloat16;
      const Batch b = decoding(r, heads, dtype, 1 + r.below(20), {200, 0, 1, 3, 45, 77}, rows);
      Rules with = rules(r, b, true);
      if ((rows + heads.group) % 2 == 0) with.window = 1 + r.below(30);
      INFO(rows << " rows of " << heads.group << " heads of " << heads.dim);
      check_close(ragged(b, with, Backend::kCuda), ragged(b, with, Backend::kReference),
                  tolerance(dtype), "out");
    }
  }
}

TEST_CASE("gpu: NaN in a key reaches only the decoded rows that see the key", "[values]") {
  for (const std::int32_t rows : {2, 9}) {
    RandomTensors r(4);
    Batch b = decoding(r, {2, 4, 64}, DType::kBFloat16, 8, {90}, rows);
    Rules with;
    with.window = 30;
    const Tensor expected = ragged(b, with, Backend::kReference);
    // Two keys become NaN: one that only the first row sees, and the last key, which only the last
    // row sees.
    const Index token = b.kv_heads * b.dim;
    for (const Index key : {Index{90} - rows - 29, Index{89}}) {
      for (auto* tokens : {&b.keys[0], &b.values[0]}) {
        for (Index x = 0; x < token; ++x) put(*tokens, key * token + x, std::nanf(""));
      }
    }
    const Tensor seen = ragged(b, with, Backend::kCuda);
    Tensor middle = expected;
    const Index row = b.q_heads * b.dim;
    for (Index i = 0; i < row; ++i) put(middle, i, std::nanf(""));
    check_nan_rows(seen, middle, rows - 1, rows);
  }
}

TEST_CASE(
    "gpu: decoding of long and of many sequences equals the reference in both layouts of pages") {
  for (const std::vector<std::int32_t>& lengths :
       {std::vector<std::int32_t>{1500}, {40, 3, 0, 17, 129, 64, 65, 1, 1, 250, 7, 0, 90}}) {
    RandomTensors r(3);
    const Batch b = decoding(r, {2, 4, 64}, DType::kBFloat16, 16, lengths);
    const Tensor keys = b.heads_first(b.keys), values = b.heads_first(b.values);
    const Tensor turned_keys = b.tokens_first(b.keys), turned_values = b.tokens_first(b.values);
    const Tensor lens = b.lens(), tables = b.tables();
    const Tensor queries = r.normal({b.count(), b.q_heads, b.dim}, b.dtype);
    PageAttentionOptions options;
    options.kv_layout = KvLayout::kHeadsFirst;
    options.context.backend = Backend::kReference;
    const Tensor expected = page_attention({&queries, &keys, &values, &lens, &tables}, options);
    options.context.backend = Backend::kCuda;
    const Tensor seen = page_attention({&queries, &keys, &values, &lens, &tables}, options);
    check_close(seen, expected, tolerance(b.dtype), "heads first");
    options.kv_layout = KvLayout::kTokensFirst;
    check_close(page_attention({&queries, &turned_keys, &turned_values, &lens, &tables}, options),
                seen, 0, "tokens first");
  }
}

TEST_CASE("gpu: decoding reads changed lengths from the GPU, and gives NaN for bad pages") {
  RandomTensors r(5);
  const Batch b = decoding(r, {2, 4, 64}, DType::kFloat16, 8, {200, 31, 77, 8});
  const Tensor expected = ragged(b, {}, Backend::kReference);
  DeviceBatch there(b, {});
  const cuda::PagedPlan plan = there.plan();
  const Tensor seen = there.run(plan);
  check_close(seen, expected, tolerance(b.dtype), "out");
  check_close(there.run(plan), seen, 0, "again");
  check_close(there.run(there.trusting_plan()), seen, 0, "trusted");
  CHECK(there.status() == 0);

  std::vector<std::int32_t> table = b.table, lengths = b.lengths;
  table[as_size(b.width) + 2] = 1 << 30;
  there.change(there.arrays().tables, table);
  check_nan_rows(there.run(plan), expected, 1, 2);
  CHECK(there.status() == kBadPages);
  there.change(there.arrays().tables, b.table);
  lengths[2] = -1;
  there.change(there.arrays().lengths, lengths);
  check_nan_rows(there.run(plan), expected, 2, 3);
  CHECK(there.status() == kBadLengths);
}

}  // namespace
}  // namespace maskctl::attention::paging
