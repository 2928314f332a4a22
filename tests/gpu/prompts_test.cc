// Tests prompts over pages: sequences of many queries, which tensor cores compute in tiles, beside
// sequences that are decoded.
#include <array>

#include "gpu/device_batch.h"
#include "gpu/kernels_ran.h"
#include "maskctl/attention/cuda/gpus.h"

namespace maskctl::attention::paging {
namespace {

/// Checks that some sequences are computed as prompts, whether the sequences are given by the host
/// or on the GPU.
void check_has_prompts(const Batch& b, const Rules& with) {
  DeviceBatch there(b, with);
  CHECK(there.plan().prompts(there.problem()).tokens > 0);
  PagedProblem problem = there.problem();
  for (Index n = 0; n < b.count(); ++n) {
    problem.sequences.push_back({{b.starts[as_size(n)], b.starts[as_size(n) + 1]},
                                 {0, b.lengths[as_size(n)]},
                                 n * b.width});
  }
  CHECK(cuda::prompt_room(problem).tokens > 0);
}

TEST_CASE("gpu: prompts and decoded sequences in one call equal the reference") {
  constexpr std::array kHeads{Heads{2, 2, 64}, Heads{1, 4, 128}, Heads{1, 1, 256}, Heads{2, 1, 72},
                              Heads{1, 3, 8}};
  const int count = gpu_test::calls(80);
  for (int n = 0; n < count; ++n) {
    const Heads& heads = kHeads[as_size(n) % kHeads.size()];
    RandomTensors r(static_cast<unsigned>(n));
    const DType dtype = r.chance(0.5) ? DType::kFloat16 : DType::kBFloat16;
    const Index page_size = r.chance(0.5) ? 16 : 1 + r.below(40);
    // Sequences are computed as prompts only if their tiles keep a good share of the GPU's
    // multiprocessors busy.
    const Index repeats = ceil_div(Index{cuda::properties_in_use().multiprocessors},
                                   16 * heads.kv_heads * heads.group);
    std::vector<std::int32_t> lengths, rows;
    for (Index i = 0; i < repeats; ++i) {
      lengths.insert(lengths.end(), {90, 233, 0, 100, 1, 36, 150, 70});
      rows.insert(rows.end(), {1, 130, 0, 33, 1, 36, 2, 64});
    }
    const Batch b = dealt_batch(r, heads, dtype, page_size, lengths, rows);
    INFO("seed " << n << ", " << name(dtype) << " " << heads.kv_heads << " " << heads.group << " "
                 << heads.dim);
    Rules with = rules(r, b, true);
    with.window.reset();
    if (n % 2 == 1) with.window = 1 + r.below(150);
    check_has_prompts(b, with);
    const Tensor expected = ragged(b, with, Backend::kReference);
    const Tensor seen = ragged(b, with, Backend::kCuda);
    check_close(seen, expected, tolerance(dtype), "out");
    check_close(ragged(b, with, Backend::kCuda), seen, 0, "again");
    DeviceBatch there(b, with);
    const cuda::PagedPlan plan = there.plan();
    check_close(there.run(plan), expected, tolerance(dtype), "sequences on the GPU");
    CHECK(there.status() == 0);
  }
  gpu_test::say_ran("prompts over pages", "float16 and bfloat16", 3 * count, "tensor cores");
}

TEST_CASE("gpu: many prompts of equal and of random lengths equal the reference") {
  for (int seed = 0; seed < gpu_test::calls(40); ++seed) {
    RandomTensors r(static_cast<unsigned>(seed));
    std::vector<std::int32_t> lengths, rows;
    for (int n = 0; n < 8; ++n) {
      const bool are_equal = seed % 2 == 0;  // then prompts fill whole tiles
      const auto more = static_cast<std::int32_t>(are_equal ? 128 : r.below(200));
      rows.push_back(static_cast<std::int32_t>(are_equal ? 64 : 20 + r.below(90)));
      lengths.push_back(rows.back() + more);
    }
    const Batch b = dealt_batch(r, {1, 2, 64}, DType::kBFloat16, 16, lengths, rows);
    const Rules with = rules(r, b, true);
    check_close(ragged(b, with, Backend::kCuda), ragged(b, with, Backend::kReference),
                tolerance(b.dtype), "out");
  }
}

TEST_CASE("gpu: NaN in a key reaches only the rows of a prompt that see it", "[values]") {
  for (const Index key : {Index{50}, Index{150}, Index{199}}) {
    RandomTensors r(4);
    Batch b = dealt_batch(r, {1, 2, 64}, DType::kBFloat16, 8, {200, 140, 9}, {100, 70, 1});
    Rules with;
    with.window = 60;
    const Tensor expected = ragged(b, with, Backend::kReference);
    const Index token = b.kv_heads * b.dim;
    for (auto* tokens : {&b.keys[0], &b.values[0]}) {
      for (Index x = 0; x < token; ++x) put(*tokens, key * token + x, std::nanf(""));
    }
    // Query i of the first sequence is at position 100 + i.
    const Index first = std::max<Index>(key - 100, 0), end = std::min<Index>(key - 100 + 60, 100);
    check_nan_rows(ragged(b, with, Backend::kCuda), expected, first, end);
  }
}

TEST_CASE("gpu: prompts read changed lengths from the GPU, and give NaN for bad pages") {
  RandomTensors r(5);
  const Batch b =
      dealt_batch(r, {2, 2, 64}, DType::kFloat16, 8, {200, 31, 177, 8}, {100, 1, 50, 3});
  const Tensor expected = ragged(b, {}, Backend::kReference);
  DeviceBatch there(b, {});
  const cuda::PagedPlan plan = there.plan();
  check_close(there.run(plan), expected, tolerance(b.dtype), "out");
  std::vector<std::int32_t> table = b.table, lengths = b.lengths;
  table[as_size(2 * b.width)] = 1 << 30;
  there.change(there.arrays().tables, table);
  check_nan_rows(there.run(plan), expected, 101, 151);
  CHECK(there.status() == kBadPages);
  there.change(there.arrays().tables, b.table);
  lengths[0] = 99;  // fewer tokens than the sequence has queries
  there.change(there.arrays().lengths, lengths);
  check_nan_rows(there.run(plan), expected, 0, 100);
  CHECK(there.status() == kBadLengths);
}

}  // namespace
}  // namespace maskctl::attention::paging
