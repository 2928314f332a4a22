// Compares ragged decoding with softmax attention of one query over the key range of its sequence;
// also tests bad input.
#include "attention/paged_batches.h"
#include "maskctl/attention/operations/paged/ragged_decode_attention.h"
#include "maskctl/mask/arrays/dense.h"
#include "support/error_of.h"

namespace maskctl::attention::paging {
namespace {

TEST_CASE("ragged decoding equals softmax attention of one query over its range of keys") {
  for (unsigned seed = 0; seed < 150; ++seed) {
    INFO("seed " << seed);
    RandomTensors r(seed);
    const DType dtype = any_float(r);
    const Index batch = 1 + r.below(4), kv = 1 + r.below(3), heads = kv * (1 + r.below(5));
    const Index dim = 1 + r.below(40), keys = 1 + r.below(r.chance(0.3) ? 600 : 30);
    Tensor query = r.normal({batch, 1, heads, dim}, dtype);
    const Tensor key = r.normal({batch, keys, kv, dim}, dtype);
    const Tensor value = r.normal({batch, keys, kv, dim}, dtype);
    Tensor start(DType::kInt32, {batch}), end(DType::kInt32, {batch});
    RaggedDecodeAttentionOptions options;
    if (r.chance(0.5)) options.sliding_window.emplace(std::nullopt, std::nullopt);
    if (options.sliding_window && r.chance(0.8)) options.sliding_window->left = r.below(9);
    if (options.sliding_window && r.chance(0.5)) options.sliding_window->right = r.below(3);
    if (r.chance(0.3)) options.logits_soft_cap = 2;
    if (r.chance(0.3)) options.softmax_scale = 0.3;
    std::optional<Tensor> sinks;
    if (r.chance(0.4)) sinks = r.chance(0.5) ? r.normal({2}) : r.normal({kv, 2});
    Tensor dense(DType::kBool, {batch, 1, 1, keys});
    for (Index b = 0; b < batch; ++b) {
      Index first = r.below(keys + 1), last = r.below(keys + 1);
      if (first > last) std::swap(first, last);
      start.as<std::int32_t>()[as_size(b)] = static_cast<std::int32_t>(first);
      end.as<std::int32_t>()[as_size(b)] = static_cast<std::int32_t>(last);
      for (Index j = first; j < last; ++j) {
        const bool near = !options.sliding_window || !options.sliding_window->left ||
                          j >= last - 1 - *options.sliding_window->left;
        dense.as<std::uint8_t>()[as_size(b * keys + j)] = near;
      }
    }
    const Mask mask = mask_from_dense(dense);
    SoftmaxOptions softmax;
    softmax.scale = options.softmax_scale, softmax.soft_cap = options.logits_soft_cap;
    softmax.context.backend = Backend::kReference;
    const Tensor* aux = sinks ? &*sinks : nullptr;
    Tensor expected = softmax_forward({&query, &key, &value, &mask, nullptr, aux}, softmax).out;
    if (r.chance(0.5)) {
      query.reshape({batch, heads, dim});
      expected.reshape({batch, heads, dim});
    }
    for (const Backend backend : usable_backends()) {
      options.context.backend = backend;
      check_close(ragged_decode_attention({&query, &key, &value, &start, &end, aux}, options),
                  expected, tolerance(dtype), "out");
    }
  }
}

TEST_CASE("ragged decoding refuses bad ranges with one error before any work") {
  RandomTensors r(1);
  const Tensor query = r.normal({2, 2, 8}), key = r.normal({2, 5, 1, 8});
  const auto error = [&](const Tensor& start, const Tensor& end,
                         RaggedDecodeAttentionOptions options = {}) {
    return error_of([&] { ragged_decode_attention({&query, &key, &key, &start, &end}, options); });
  };
  CHECK(error(i32({0, 5}), i32({5, 5})) == "no error");
  CHECK(error(i32({0, 4}), i32({5, 3})) == "sequence 1 is 4 to 3, expected 0 <= start <= end <= 5");
  CHECK_THAT(error(i32({-1, 0}), i32({5, 3})), Contains("sequence 0 is -1 to 5"));
  CHECK_THAT(error(i32({0, 0}), i32({5, 6})), Contains("sequence 1 is 0 to 6"));
  CHECK_THAT(error(i32({0}), i32({5, 5})), Contains("sequence_start is (1,)"));
  CHECK_THAT(error(f32({2}, {0, 0}), i32({5, 5})), Contains("expected integers"));
  RaggedDecodeAttentionOptions options;
  options.sliding_window = Window{-1, 0};
  CHECK_THAT(error(i32({0, 0}), i32({5, 5}), options), Contains("sliding_window holds -1"));
}

}  // namespace
}  // namespace maskctl::attention::paging
