// Compares vmap_with_config and pmap_with_config with a loop over the elements of a batch.
#include "attention/arrays.h"
#include "maskctl/ejkernel/runtime/batch.h"
#include "maskctl/ejkernel/runtime/modules.h"
#include "support/error_of.h"

namespace runtime_batch_cases {

namespace {

using namespace maskctl::attention_test;
using maskctl::test::error_of;

/// Three attention calls with a common key; the calls' values lie along axis 2 of one array.
struct Batch {
  Random random{3};
  Tensor query = random.normal({3, 2, 7, 4, 8}), key = random.normal({2, 9, 2, 8});
  Tensor value = random.normal({2, 9, 3, 2, 8}), bias = random.normal({3, 1, 4, 7, 9});
  InAxes axes = std::vector<std::optional<Index>>{0, std::nullopt, 2, 0};
  QkvInputs inputs() const { return {&query, &key, &value}; }
  FlashAttentionOptions options() const {
    FlashAttentionOptions o;
    o.bias = &bias, o.mask.causal = true, o.softmax.dropout = 0.2;
    return o;
  }
};

Tensor integers(std::vector<Index> shape, const std::vector<std::int32_t>& values) {
  Tensor t = i32(values);
  t.reshape(std::move(shape));
  return t;
}

/// Returns an executor that counts in `choices` how often a config is chosen.
Executor counting(Index& choices) {
  ConfigSelectorChain::Options chain;
  chain.policy.cache_miss_fallback = CacheMiss::kHeuristics;
  chain.on_event = [&choices](const SelectionEvent&) { ++choices; };
  return Executor(std::make_shared<ConfigSelectorChain>(std::move(chain)));
}

template <class Mapped>
void check_against_loop(const Batch& a, const Mapped& mapped) {
  const FlashAttentionOptions options = a.options();
  const SoftmaxResult seen = mapped(a.inputs(), options);
  CHECK(seen.out.shape() == std::vector<Index>{3, 2, 7, 4, 8});
  CHECK(seen.lse.shape() == std::vector<Index>{3, 2, 4, 7});
  Random random(8);
  const Tensor d_out = random.normal(seen.out.shape()), d_lse = random.normal(seen.lse.shape());
  const SoftmaxGradients g =
      mapped.backward(a.inputs(), seen, {.out = &d_out, .lse = &d_lse}, options);
  CHECK(g.value.shape() == a.value.shape());
  Tensor d_key(DType::kFloat32, a.key.shape());
  for (Index i = 0; i < 3; ++i) {
    const Tensor query = element_of(a.query, 0, i), value = element_of(a.value, 2, i);
    const Tensor bias = element_of(a.bias, 0, i), one_d_out = element_of(d_out, 0, i);
    const Tensor one_d_lse = element_of(d_lse, 0, i);
    FlashAttentionOptions o = options;
    o.bias = &bias;
    const SoftmaxResult one = flash_attention(query, a.key, value, o);
    check_close(element_of(seen.out, 0, i), one.out, 0, "out");
    check_close(element_of(seen.lse, 0, i), one.lse, 0, "lse");
    const SoftmaxGradients own =
        flash_attention_backward(query, a.key, value, one, one_d_out, o, &one_d_lse);
    check_close(element_of(g.query, 0, i), own.query, 1e-6, "query");
    check_close(element_of(g.value, 2, i), own.value, 1e-6, "value");
    check_close(element_of(*g.bias, 0, i), *own.bias, 1e-6, "bias");
    for (std::size_t x = 0; x < d_key.as<float>().size(); ++x) {
      d_key.as<float>()[x] += own.key.as<float>()[x];
    }
  }
  check_close(g.key, d_key, 1e-6, "key");
}

TEST_CASE(
    "batch: forward and backward give the results of a loop, with one config for all elements",
    "[attention]") {
  const Batch a;
  Index choices = 0;
  const Executor executor = counting(choices);
  check_against_loop(a, vmap_with_config(executor, FlashAttention(), a.axes));
  CHECK(choices == 2);  // one for forward, one for backward
  check_against_loop(a, pmap_with_config(executor, FlashAttention(), a.axes));
  CHECK(choices == 4);
}

TEST_CASE("batch: one axis may hold for all arrays, and every element updates its cache",
          "[attention]") {
  Random random(4);
  const Tensor q = random.normal({2, 5, 4, 8}), k = random.normal({2, 5, 2, 8});
  Tensor cache(DType::kFloat32, {2, 4, 4, 4, 1, 128});
  const Tensor lens = integers({2, 1}, {5, 5}), tables = integers({2, 2}, {0, 1, 2, 3});
  const Tensor starts = integers({2, 2}, {0, 5, 0, 5});
  const Tensor distribution = integers({2, 3}, {0, 0, 1, 0, 0, 1});
  const RaggedPageAttentionV3Call call{{&q, &k, &k, &lens, &tables, &starts, &distribution},
                                       &cache};
  Index choices = 0;
  const Tensor seen = vmap_with_config(counting(choices), RaggedPageAttentionv3())(call, {});
  for (Index i = 0; i < 2; ++i) {
    const Tensor q1 = element_of(q, 0, i), k1 = element_of(k, 0, i);
    const Tensor lens1 = element_of(lens, 0, i), tables1 = element_of(tables, 0, i);
    const Tensor starts1 = element_of(starts, 0, i), d1 = element_of(distribution, 0, i);
    Tensor own(DType::kFloat32, {4, 4, 4, 1, 128});
    const Tensor expected =
        ragged_page_attention_v3({&q1, &k1, &k1, &lens1, &tables1, &starts1, &d1}, own);
    check_close(element_of(seen, 0, i), expected, 0, "out");
    check_close(element_of(cache, 0, i), own, 0, "cache");
  }
}

TEST_CASE("batch: arrays that do not fit are refused before any work", "[attention]") {
  const Batch a;
  Index choices = 0;
  const Executor executor = counting(choices);
  const auto refused = [&](InAxes axes) {
    return error_of([&] { vmap_with_config(executor, FlashAttention(), axes)(a.inputs()); });
  };
  using Each = std::vector<std::optional<Index>>;
  CHECK(refused(0) == "key has 2 elements along axis 0, expected 3");
  CHECK(refused(5) == "query is (3, 2, 7, 4, 8), which has no axis 5 to take elements from");
  CHECK(refused(Each{}) == "no array has an axis of elements; give one an axis");
  CHECK(choices == 0);
  const auto failing = pmap_with_config(executor, FlashAttention(), Each{0});
  // The error is that of the call itself.
  CHECK(error_of([&] { failing(a.inputs()); }).find("value is") == 0);
}

}  // namespace

}  // namespace runtime_batch_cases
