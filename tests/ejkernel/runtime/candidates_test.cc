// Tests every candidate config of the operations that are tuned: results equal those of float64
// loops, and configs that divide sums differently round differently, so they do change what runs.
#include <set>

#include "attention/arrays.h"
#include "attention/paged_batches.h"
#include "maskctl/ejkernel/runtime/config_text.h"
#include "maskctl/ejkernel/runtime/modules.h"
#include "support/rounds.h"

namespace candidates_cases {

namespace {

using namespace maskctl::attention_test;
using maskctl::test::f32;
using maskctl::test::i32;
using maskctl::test::RandomTensors;

std::string bits_of(const Tensor& tensor) {
  const auto bytes = tensor.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class Options>
Options on_reference() {
  Options options;
  options.context.backend = Backend::kReference;
  return options;
}

/// All results of a call, or all gradients, by name.
using Results = std::map<std::string, Tensor>;

Results by_name(std::span<const ResultField> fields, void* of) {
  Results all;
  for (const ResultArray& array : arrays_of(fields, of))
    all[std::string(array.name)] = *array.tensor;
  return all;
}
template <class Op>
Results results_of(typename Op::Output output) {
  return by_name(kOperation<Op>.outputs, &output);
}
template <class Op>
Results gradients_of(typename Op::Gradients gradients) {
  return by_name(kOperation<Op>.gradients, &gradients);
}

void check_results(const Results& seen, const Results& expected, double tolerance) {
  CHECK(seen.size() == expected.size());
  for (const auto& [name, array] : expected)
    check_close(seen.at(name), array, tolerance, name.c_str());
}

/// Checks all candidate configs of a call. `candidates` is their number; `kinds` is how many
/// different sets of result bits they give.
template <class Op>
void check_candidates(const typename Op::Inputs& in, typename Op::Options options,
                      std::size_t candidates, std::size_t kinds, double tolerance) {
  INFO(kOperation<Op>.alias);
  const Module<Op> module;
  options.context.backend = Backend::kReference;
  const auto twin = Op::forward(in, options);
  const Results expected = results_of<Op>(twin);
  Results gradients;
  const Cotangents cotangents{.out = &expected.at("out")};
  if constexpr (Module<Op>::kHasBackward) {
    gradients = gradients_of<Op>(Op::backward(in, twin, cotangents, options));
  }
  options.context.backend = Backend::kCpu;
  const auto configs = module.candidate_cfgs(in, options);
  CHECK(configs.size() == candidates);
  std::set<std::string> rounded;
  for (const auto& config : configs) {
    INFO(to_text(config));
    const auto output = module.run(in, options, config);
    std::string bits = bits_of(results_of<Op>(output).at("out"));
    check_results(results_of<Op>(output), expected, tolerance);
    if constexpr (Module<Op>::kHasBackward) {
      const Results seen =
          gradients_of<Op>(module.run_backward(in, output, cotangents, options, config));
      check_results(seen, gradients, 10 * tolerance);
      for (const auto& [name, array] : seen) bits += bits_of(array);
    }
    rounded.insert(bits);
  }
  CHECK(rounded.size() == kinds);
  // A call without a config has the same bits as one with the heuristic config.
  CHECK(bits_of(results_of<Op>(Op::forward(in, options)).at("out")) ==
        bits_of(results_of<Op>(module.run(in, options, module.heuristic_cfg())).at("out")));
}

TEST_CASE("candidates: all chunk lengths of linear attention give its results") {
  RandomTensors r(1);
  for (const Index tokens : {230, 7}) {
    const Tensor q = r.normal({2, tokens, 4, 20}), k = r.normal({2, tokens, 2, 20}),
                 v = r.normal({2, tokens, 2, 12}), g = r.uniform({2, tokens, 4, 20}, -0.5f, 0),
                 decay = r.uniform({4}, -0.3f, 0);
    const std::size_t kinds = tokens > 24 ? 4 : 1;
    check_candidates<GLAttentionOp>({.query = &q, .key = &k, .value = &v, .g = &g}, {}, 4, kinds,
                                    2e-6);
    check_candidates<LightningAttentionOp>({.query = &q, .key = &k, .value = &v, .decay = &decay},
                                           {}, 4, kinds, 2e-6);
    RecurrentAttentionOptions reverse;
    reverse.reverse = true;
    check_candidates<RecurrentAttentionOp>(
        {.query = &q, .key = &k, .value = &v, .g_gamma = &decay, .gk = &g}, reverse, 4, kinds,
        2e-6);
  }
}

TEST_CASE("candidates: chunks of 1 to more than all tokens give the results of linear attention") {
  RandomTensors r(2);
  const Tensor q = r.normal({1, 130, 2, 9}), g = r.uniform({1, 130, 2, 9}, -3.0f, 0);
  const RecurrentAttentionInputs in{.query = &q, .key = &q, .value = &q, .gk = &g, .gv = &g};
  const auto slow = on_reference<RecurrentAttentionOptions>();
  const Tensor expected = recurrent_attention(in, slow).out;
  const LinearAttentionGradients gradients = recurrent_attention_backward(in, q, slow);
  for (const Index size : {1, 2, 5, 6, 7, 31, 32, 33, 95, 96, 97, 1 << 20}) {
    RecurrentAttentionOptions options;
    options.chunk_size = size;
    check_close(recurrent_attention(in, options).out, expected, 2e-6, "out");
    const LinearAttentionGradients seen = recurrent_attention_backward(in, q, options);
    check_close(seen.key, gradients.key, 1e-5, "d_key");
    check_close(*seen.gk, *gradients.gk, 1e-5, "d_gk");
  }
}

TEST_CASE("candidates: all tile sizes of the grouped product give its bits") {
  RandomTensors r(3);
  const Tensor lhs = r.normal({700, 600}), rhs = r.normal({3, 600, 300}),
               sizes = i32({500, 0, 190});
  // Whatever the tiles, each sum is added in the same order, so all candidates have the same bits.
  check_candidates<GroupedMatmulOp>({.lhs = &lhs, .rhs = &rhs, .group_sizes = &sizes}, {}, 9, 1,
                                    2e-6);
  GroupedMatmulOptions options;
  const Tensor expected =
      grouped_matmul({&lhs, &rhs, &sizes}, on_reference<GroupedMatmulOptions>());
  for (const Index size : {1, 33, 1 << 20}) {
    options.block_m = options.block_n = options.block_k = size;
    check_close(grouped_matmul({&lhs, &rhs, &sizes}, options), expected, 2e-6, "out");
  }
}

TEST_CASE("candidates: all ways to divide a paged sequence give the results of page attention") {
  RandomTensors r(4);
  const Tensor query = r.normal({2, 6, 16}), keys = r.normal({320, 2, 8, 16}),
               values = r.normal({320, 2, 8, 16}), lens = i32({2500, 60});
  Tensor tables(DType::kInt32, {2, 313});
  for (Index i = 0; i < tables.elements(); ++i) {
    tables.as<std::int32_t>()[as_size(i)] = static_cast<std::int32_t>(i * 7 % 320);
  }
  check_candidates<PageAttentionOp>({&query, &keys, &values, &lens, &tables}, {}, 8, 8, 2e-6);
  const Tensor start = i32({3, 0}), end = i32({900, 7}), key = r.normal({2, 900, 2, 16});
  check_candidates<RaggedDecodeAttentionOp>({&query, &key, &key, &start, &end}, {}, 5, 4, 2e-6);
}

TEST_CASE(
    "candidates: all page groups and prefill tiles give the results of ragged page attention") {
  for (unsigned seed = 0; seed < test::rounds(20U); ++seed) {
    RandomTensors r(seed);
    const paging::Batch b = paging::batch(r, 1300, 400);
    const Tensor pages = b.interleaved(), lens = b.lens(), tables = b.tables(),
                 starts = b.start_loc();
    RaggedPageAttentionInputs in{&b.queries, &pages, &lens, &tables, &starts};
    const Module<RaggedPageAttentionOp> module;
    const Tensor expected = ragged_page_attention(in, on_reference<RaggedPageAttentionOptions>());
    for (const auto& config : module.candidate_cfgs(in, {})) {
      check_close(module.run(in, {}, config), expected, paging::tolerance(b.dtype), "out");
    }
  }
  RandomTensors r(5);
  const Tensor queries = r.normal({302, 4, 16}), key_pages = r.normal({100, 16, 2, 16}),
               value_pages = r.normal({100, 16, 2, 16}), rows = i32({0, 2, 302}),
               tokens = i32({0, 900, 1300});
  Tensor tables(DType::kInt32, {2, 60});
  for (Index i = 0; i < 120; ++i)
    tables.as<std::int32_t>()[as_size(i)] = static_cast<std::int32_t>(i % 100);
  // Queries of a tile are computed independently, so the number of queries in a tile does not
  // change how results are rounded.
  check_candidates<RaggedPageAttentionv3PagesOp>(
      {&queries, &key_pages, &value_pages, &rows, &tokens, &tables}, {}, 6, 4, 2e-6);
}

TEST_CASE("candidates: a call without its arrays still has a list of candidate configs") {
  CHECK(PageAttention().candidate_cfgs({}, {}).size() == 8);
  CHECK(RaggedPageAttention().candidate_cfgs({}, {}).size() == 6);
}

TEST_CASE("every candidate config of latent attention gives its results") {
  RandomTensors r(3);
  const Tensor query = r.normal({2, 9, 4, 6}), latent = r.normal({2, 9, 5}),
               w_kc = r.normal({5, 2, 6}), w_vc = r.normal({5, 2, 7}),
               d_out = r.normal({2, 9, 4, 7});
  const MlaInputs inputs{&query, &latent, &w_kc, &w_vc};
  MlaAttentionOptions o;
  o.mask.causal = true;
  const SoftmaxResult expected = mla_attention(query, latent, w_kc, w_vc, o);
  const MlaGradients gradients =
      mla_attention_backward(query, latent, w_kc, w_vc, expected, d_out, o);
  const FlashMLA module;
  const std::vector<FlashMLAConfig> candidates = module.candidate_cfgs(inputs, o);
  CHECK(candidates.size() == 7);
  for (const FlashMLAConfig& config : candidates) {
    check_close(module.run(inputs, o, config).out, expected.out, 1e-5, "out");
    const MlaGradients g = module.run_backward(inputs, expected, {.out = &d_out}, o, config);
    check_close(g.key_value, gradients.key_value, 1e-5, "key_value");
    check_close(g.w_vc, gradients.w_vc, 1e-5, "w_vc");
  }
}

}  // namespace

}  // namespace candidates_cases
