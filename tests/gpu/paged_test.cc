// Tests attention over pages whose arrays are on the GPU: against the CPU, with lengths that change
// between calls, and with bad page tables and sequences.
#include "gpu/device_batch.h"
#include "gpu/kernels_ran.h"

namespace maskctl::attention::paging {
namespace {

/// Makes three sequences that have 2, 1 and 2 queries, on pages of 4 slots.
Batch three_sequences() {
  RandomTensors r(11);
  Batch b;
  b.kv_heads = 2, b.q_heads = 6, b.dim = 8, b.page_size = 4, b.pages = 12, b.width = 4;
  b.lengths = {9, 16, 5}, b.starts = {0, 2, 3, 5};
  b.table = {3, 1, 11, -1, 0, 2, 4, 5, 7, 6, 1 << 30, -7};
  for (const std::int32_t length : b.lengths) {
    b.keys.push_back(r.normal({length, b.kv_heads, b.dim}));
    b.values.push_back(r.normal({length, b.kv_heads, b.dim}));
  }
  b.queries = r.normal({6, b.q_heads, b.dim});
  return b;
}

TEST_CASE("gpu: sequences described on the GPU give the results of those described on the host") {
  const int calls = gpu_test::calls(100);
  for (int seed = 0; seed < calls; ++seed) {
    INFO("seed " << seed);
    RandomTensors r(static_cast<unsigned>(seed));
    const Batch b = batch(r, r.chance(0.5) ? 3000 : 40, r.chance(0.5) ? 90 : 3);
    const Rules with = rules(r, b, true);
    DeviceBatch there(b, with);
    const cuda::PagedPlan plan = there.plan();
    const Tensor seen = there.run(plan);
    CHECK(there.status() == 0);
    check_close(seen, ragged(b, with, Backend::kCpu), tolerance(b.dtype), "out");
    check_close(there.run(plan), seen, 0, "again");
    check_close(there.run(there.trusting_plan()), seen, 0, "trusted");
  }
  gpu_test::say_ran("paged from the device door", "every dtype", 3 * calls);
}

TEST_CASE(
    "gpu: paged attention equals the reference for heads of any width and groups of any size") {
  struct Heads {
    DType dtype;
    Index dim, kv_heads, q_heads;
  };
  for (const Heads& heads : {Heads{DType::kBFloat16, 128, 1, 4}, Heads{DType::kFloat16, 136, 1, 70},
                             Heads{DType::kFloat32, 256, 2, 2}, Heads{DType::kBFloat16, 576, 1, 16},
                             Heads{DType::kFloat32, 1023, 1, 3}, Heads{DType::kFloat16, 2048, 1, 2},
                             Heads{DType::kBFloat16, 1, 1, 130}}) {
    INFO(name(heads.dtype) << " " << heads.dim << " " << heads.q_heads);
    RandomTensors r(9);
    Batch b;
    b.dtype = heads.dtype, b.dim = heads.dim;
    b.kv_heads = heads.kv_heads, b.q_heads = heads.q_heads;
    b.page_size = 16, b.pages = 12, b.width = 10;
    b.lengths = {150, 7}, b.starts = {0, 1, 4};
    b.table = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    for (const std::int32_t length : b.lengths) {
      b.keys.push_back(r.normal({length, b.kv_heads, b.dim}, b.dtype));
      b.values.push_back(r.normal({length, b.kv_heads, b.dim}, b.dtype));
    }
    b.queries = r.normal({4, b.q_heads, b.dim}, b.dtype);
    check_close(ragged(b, {}, Backend::kCuda), ragged(b, {}, Backend::kReference),
                tolerance(b.dtype), "out");
  }
  PagedProblem wide;
  wide.cache.dim = 1025;
  CHECK(cuda::paged_unsupported(wide) == "heads have 1025 elements, more than 1024");
}

TEST_CASE("gpu: NaN in a key reaches only the rows that see the key") {
  for (const Index rows : {3, 9, 70}) {
    RandomTensors r(4);
    const Index length = rows + 90, token = 4 * 8;
    const Tensor queries = r.normal({rows, 4, 8}), clean = r.normal({1, length, 4, 8});
    const Tensor lens = i32({static_cast<std::int32_t>(length)}), table = i32({1, 1}, {0});
    const Tensor starts = i32({0, static_cast<std::int32_t>(rows)});
    RaggedPageAttentionOptions options;
    options.sliding_window = 30;
    options.context.backend = Backend::kReference;
    const Tensor expected =
        ragged_page_attention({&queries, &clean, &lens, &table, &starts}, options);
    // No query sees key 60, since the window of the first one begins at key 61. The last query
    // alone sees the last key.
    Tensor pages = clean;
    for (const Index key : {Index{60}, length - 1}) {
      for (Index x = 0; x < token; ++x) put(pages, key * token + x, std::nanf(""));
    }
    options.context.backend = Backend::kCuda;
    check_nan_rows(ragged_page_attention({&queries, &pages, &lens, &table, &starts}, options),
                   expected, rows - 1, rows);
  }
}

TEST_CASE("gpu: without starts each row is the last token of its sequence") {
  Batch b = three_sequences();
  b.starts = {0, 1, 2, 3};
  b.queries = RandomTensors(12).normal({3, b.q_heads, b.dim});
  DeviceBatch there(b, {});
  there.arrays().starts = nullptr;
  const cuda::PagedPlan plan = there.plan();
  check_close(there.run(plan), ragged(b, {}, Backend::kReference), 2e-6, "out");
  // Now the sequences have other lengths, and the last one has ended.
  Batch later = b;
  later.lengths = {5, 13, 0};
  for (std::size_t n = 0; n < 3; ++n) {
    const Index row = b.kv_heads * b.dim, length = later.lengths[n];
    for (auto* tokens : {&later.keys[n], &later.values[n]}) {
      Tensor fewer(b.dtype, {length, b.kv_heads, b.dim});
      std::copy_n(tokens->as<float>().begin(), length * row, fewer.as<float>().begin());
      *tokens = fewer;
    }
  }
  there.change(there.arrays().lengths, later.lengths);
  later.starts = {0, 1, 2, 2};
  check_close(there.run(plan), ragged(later, {}, Backend::kReference), 2e-6, "later");
  CHECK(there.status() == 0);
}

TEST_CASE("gpu: rows of a sequence with a bad page or length are NaN, others are not") {
  const Batch good = three_sequences();
  const Tensor expected = ragged(good, {}, Backend::kReference);
  struct Case {
    Index place;
    std::int32_t value;
    int status;
    Range rows;
  };
  // The last case changes a table entry after the last page of its sequence, which is never read.
  for (const auto& [place, value, status, rows] :
       {Case{0, -1, kBadPages, {0, 2}}, Case{2, 12, kBadPages, {0, 2}},
        Case{6, 1 << 30, kBadPages, {2, 3}}, Case{3, 99, 0, {0, 0}}}) {
    std::vector<std::int32_t> table = good.table;
    table[as_size(place)] = value;
    INFO("entry " << place << " is " << value);
    DeviceBatch there(good, {});
    there.change(there.arrays().tables, table);
    const cuda::PagedPlan plan = there.plan();
    check_nan_rows(there.run(plan), expected, rows.begin, rows.end);
    CHECK(there.status() == status);
  }
  for (const auto& [place, value, status, rows] :
       {Case{0, 1, kBadLengths, {0, 2}}, Case{1, 17, kBadLengths, {2, 3}},
        Case{2, -3, kBadLengths, {3, 5}}, Case{2, 1 << 30, kBadLengths, {3, 5}}}) {
    std::vector<std::int32_t> lengths = good.lengths;
    lengths[as_size(place)] = value;
    INFO("length " << place << " is " << value);
    DeviceBatch there(good, {});
    there.change(there.arrays().lengths, lengths);
    const cuda::PagedPlan plan = there.plan();
    check_nan_rows(there.run(plan), expected, rows.begin, rows.end);
    CHECK(there.status() == status);
  }
}

TEST_CASE("gpu: if starts do not ascend, all rows are NaN") {
  const Batch good = three_sequences();
  const Tensor expected = ragged(good, {}, Backend::kReference);
  for (const std::vector<std::int32_t>& starts :
       {std::vector<std::int32_t>{0, 3, 2, 5}, {1, 2, 3, 5}, {0, 2, 3, 7}, {-1, 2, 3, 5}}) {
    DeviceBatch there(good, {});
    there.change(there.arrays().starts, starts);
    const cuda::PagedPlan plan = there.plan();
    check_nan_rows(there.run(plan), expected, 0, 6);
    CHECK((there.status() & kBadRows) != 0);
  }
}

}  // namespace
}  // namespace maskctl::attention::paging
