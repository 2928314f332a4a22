// Compares attention over pages with its float64 reference, and that reference with softmax
// attention over the tokens of each sequence and with results computed by hand. Also tests both
// forms of the call, and bad input.
#include "attention/paged_batches.h"
#include "maskctl/attention/operations/paged/page_attention.h"
#include "maskctl/base/threads.h"
#include "support/error_of.h"

namespace maskctl::attention::paging {
namespace {

TEST_CASE("ragged page attention equals softmax attention over the gathered tokens") {
  for (unsigned seed = 0; seed < 150; ++seed) {
    INFO("seed " << seed);
    RandomTensors r(seed);
    const Batch b = batch(r, r.chance(0.3) ? 1300 : 40, 12);
    const Rules with = rules(r, b, true);
    const Tensor expected = gathered_twin(b, with);
    for (const Backend backend : usable_backends()) {
      check_close(ragged(b, with, backend), expected, tolerance(b.dtype), name(backend).data());
    }
  }
}

TEST_CASE("results of paged attention do not depend on the number of threads") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    RandomTensors r(seed);
    const Batch b = batch(r, 1300, 12);
    const Rules with = rules(r, b, true);
    set_threads(1);
    const Tensor one = ragged(b, with, Backend::kCpu);
    set_threads(3);
    const Tensor three = ragged(b, with, Backend::kCpu);
    set_threads(0);
    check_close(three, one, 0, "three threads");
  }
}

TEST_CASE("sequences after the first num_seqs are ignored and not checked") {
  RandomTensors r(3);
  const Tensor queries = r.normal({3, 1, 4}), pages = r.normal({2, 4, 2, 4});
  const Tensor lens = i32({4, -7}), tables = i32({2, 1}, {1, 99}), starts = i32({0, 2, -5});
  const Tensor one = i32({1});
  const Tensor out = ragged_page_attention({&queries, &pages, &lens, &tables, &starts, &one});
  const Tensor first_lens = i32({4}), first_table = i32({1, 1}, {1}), first_starts = i32({0, 2});
  check_close(out,
              ragged_page_attention({&queries, &pages, &first_lens, &first_table, &first_starts}),
              0, "out");
  for (std::size_t x = 8; x < 12; ++x) CHECK(out.as<float>()[x] == 0);
}

TEST_CASE("page attention equals ragged page attention with one query per sequence") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO("seed " << seed);
    RandomTensors r(seed);
    Batch b = batch(r, r.chance(0.3) ? 1300 : 40, 0);
    Rules with = rules(r, b, false);
    with.window.reset();
    b.queries = r.normal({b.count(), b.q_heads, b.dim}, b.dtype);
    const Tensor lens = b.lens(), tables = b.tables();
    for (Index n = 0; n < b.count(); ++n) {
      b.starts[as_size(n) + 1] = static_cast<std::int32_t>(n + 1);
    }
    // The reference has no row for an empty sequence; its output must be 0.
    Tensor expected(b.dtype, b.queries.shape());
    for (Index n = 0; n < b.count(); ++n) {
      if (b.lengths[as_size(n)] == 0) continue;
      Batch one = b;
      one.starts.assign(b.starts.size(), 0);
      for (Index later = n + 1; later <= b.count(); ++later) one.starts[as_size(later)] = 1;
      const Index bytes = b.q_heads * b.dim * size_bytes(b.dtype);
      one.queries = Tensor(b.dtype, {1, b.q_heads, b.dim});
      std::copy_n(b.queries.bytes().begin() + n * bytes, bytes, one.queries.bytes().begin());
      const Tensor row = gathered_twin(one, with);
      std::copy_n(row.bytes().begin(), bytes, expected.bytes().begin() + n * bytes);
    }
    for (const bool heads_first : {true, false}) {
      const Tensor keys = heads_first ? b.heads_first(b.keys) : b.tokens_first(b.keys);
      const Tensor values = heads_first ? b.heads_first(b.values) : b.tokens_first(b.values);
      Tensor query = b.queries, wanted = expected;
      if (r.chance(0.5)) {
        query.reshape({b.count(), 1, b.q_heads, b.dim});
        wanted.reshape({b.count(), 1, b.q_heads, b.dim});
      }
      PageAttentionOptions options;
      options.attn_scale = with.scale, options.attn_logits_soft_cap = with.soft_cap;
      options.kv_layout = heads_first ? KvLayout::kHeadsFirst : KvLayout::kTokensFirst;
      for (const Backend backend : usable_backends()) {
        options.context.backend = backend;
        check_close(page_attention({&query, &keys, &values, &lens, &tables}, options), wanted,
                    tolerance(b.dtype), heads_first ? "heads first" : "tokens first");
      }
    }
  }
}

TEST_CASE("page attention reads only the slots of the context, with values computed by hand") {
  // A page has 2 slots, the page table is [3, 0, -1]: the 3 tokens are in slots 0 and 1 of page 3
  // and in slot 0 of page 0.
  const float nan = std::nanf("");
  Tensor keys = f32({4, 1, 2, 1}, {2, nan, nan, nan, nan, nan, 0, 1});
  Tensor values = f32({4, 1, 2, 1}, {9, nan, nan, nan, nan, nan, 3, 5});
  const Tensor query = f32({1, 1, 1}, {1}), lens = i32({3}), table = i32({1, 3}, {3, 0, -1});
  const double e = std::exp(1.0), expected = (3 + 5 * e + 9 * e * e) / (1 + e + e * e);
  for (const Backend backend : usable_backends()) {
    PageAttentionOptions options;
    options.context.backend = backend;
    const Tensor out = page_attention({&query, &keys, &values, &lens, &table}, options);
    CHECK(static_cast<double>(out.as<float>()[0]) == Catch::Approx(expected).epsilon(1e-6));
  }
}

TEST_CASE("the queries of a ragged sequence are its last tokens, with values computed by hand") {
  // With window 2, position 3 sees keys 2 and 3, position 4 keys 3 and 4. All logits are 0.
  const Tensor queries = f32({2, 1, 1}, {0, 0});
  const Tensor pages = f32({1, 5, 2, 1}, {0, 1, 0, 2, 0, 4, 0, 8, 0, 16});
  const Tensor lens = i32({5}), table = i32({1, 1}, {0}), starts = i32({0, 2});
  RaggedPageAttentionOptions options;
  options.sliding_window = 2;
  for (const Backend backend : usable_backends()) {
    options.context.backend = backend;
    const Tensor out = ragged_page_attention({&queries, &pages, &lens, &table, &starts}, options);
    CHECK(out.as<float>()[0] == Catch::Approx(6));
    CHECK(out.as<float>()[1] == Catch::Approx(12));
  }
}

// Errors about bad input.

TEST_CASE("page attention refuses bad pages with one error before any work") {
  RandomTensors r(1);
  const Tensor query = r.normal({2, 4, 8}), cache = r.normal({3, 2, 4, 8});
  const Tensor lens = i32({5, 2}), tables = i32({2, 2}, {0, 2, 1, -1});
  const auto error = [&](PageAttentionInputs in, PageAttentionOptions options = {}) {
    options.kv_layout = KvLayout::kHeadsFirst;
    return error_of([&] { page_attention(in, options); });
  };
  const PageAttentionInputs good{&query, &cache, &cache, &lens, &tables};
  CHECK(error(good) == "no error");
  PageAttentionInputs in = good;
  in.block_tables = nullptr;
  CHECK(error(in) == "block_tables is missing");
  const Tensor outside = i32({2, 2}, {0, 3, 1, -1});
  in.block_tables = &outside;
  CHECK(error(in) == "block_tables: page 1 of sequence 0 is 3, outside the 3 pages of the cache");
  const Tensor unused = i32({2, 2}, {0, -1, 1, -1});
  in.block_tables = &unused;
  CHECK_THAT(error(in), Contains("page 1 of sequence 0 is -1"));
  in = good;
  const Tensor long_lens = i32({9, 2}), negative = i32({5, -2});
  in.context_lens = &long_lens;
  CHECK(error(in) == "context_lens[0] is 9, outside 0 to 8: 2 pages of 4");
  in.context_lens = &negative;
  CHECK_THAT(error(in), Contains("context_lens[1] is -2"));
  in = good;
  const Tensor halves = astype(cache, DType::kFloat16), odd = r.normal({3, 3, 4, 8});
  in.value_cache = &halves;
  CHECK(error(in) == "query is float32 and value_cache is float16; convert one");
  in.key_cache = in.value_cache = &odd;
  CHECK(error(in) == "4 query heads do not divide into groups of 3 key heads");
  PageAttentionOptions options;
  options.attn_logits_soft_cap = 0;
  CHECK_THAT(error(good, options), Contains("soft cap 0 is not above 0"));
  options = {};
  options.max_context_len = 4;
  CHECK(error(good, options) == "context_lens holds 5, above max_context_len 4");
  options = {};
  options.num_splits = -1;
  CHECK_THAT(error(good, options), Contains("num_splits -1"));
}

TEST_CASE("ragged page attention refuses a bad batch with one error before any work") {
  RandomTensors r(1);
  const Tensor queries = r.normal({4, 2, 8}), pages = r.normal({3, 4, 2, 8});
  const Tensor lens = i32({5, 2}), tables = i32({2, 2}, {0, 2, 1, -1}), starts = i32({0, 3, 4});
  const auto error = [&](RaggedPageAttentionInputs in, RaggedPageAttentionOptions options = {}) {
    return error_of([&] { ragged_page_attention(in, options); });
  };
  const RaggedPageAttentionInputs good{&queries, &pages, &lens, &tables, &starts};
  CHECK(error(good) == "no error");
  RaggedPageAttentionInputs in = good;
  const Tensor falls = i32({0, 3, 2}), past = i32({0, 3, 5}), late = i32({1, 3, 4});
  in.query_start_loc = &falls;
  CHECK_THAT(error(in), Contains("query_start_loc falls from 3 to 2"));
  in.query_start_loc = &past;
  CHECK_THAT(error(in), Contains("query_start_loc ends at 5, past the 4"));
  in.query_start_loc = &late;
  CHECK_THAT(error(in), Contains("query_start_loc starts with 1"));
  in = good;
  const Tensor short_lens = i32({2, 2});
  in.context_lens = &short_lens;
  CHECK(error(in) == "context_lens[0] is 2, below the 3 rows of the sequence, which it includes");
  in = good;
  const Tensor three = i32({3}), two = i32({1, 1});
  in.num_seqs = &three;
  CHECK_THAT(error(in), Contains("3 sequences, expected 0 to 2"));
  in.num_seqs = &two;
  CHECK_THAT(error(in), Contains("num_seqs is (2,)"));
  in = good;
  const Tensor odd = r.normal({3, 4, 3, 8}), aux = r.normal({3, 1});
  in.kv_pages = &odd;
  CHECK_THAT(error(in), Contains("kv_pages is (3, 4, 3, 8)"));
  in = good;
  in.softmax_aux = &aux;
  CHECK_THAT(error(in), Contains("sinks are (3, 1)"));
  RaggedPageAttentionOptions options;
  options.sliding_window = 0;
  CHECK_THAT(error(good, options), Contains("sliding_window 0"));
  // Sequence 0 has 8 tokens; with a window of 2 its first page is not read, so the page may be
  // missing.
  const Tensor hole = i32({2, 2}, {-1, 2, 1, -1});
  const Tensor long_lens = i32({8, 2});
  in = good;
  in.block_tables = &hole, in.context_lens = &long_lens;
  options.sliding_window = 2;
  CHECK(error(in, options) == "no error");
  options.sliding_window = 3;
  CHECK_THAT(error(in, options), Contains("page 0 of sequence 0 is -1"));
}

}  // namespace
}  // namespace maskctl::attention::paging
