// Compares mean pooling with float64 loops, values computed by hand and finite differences.
#include "maskctl/kernels/mean_pooling/mean_pooling.h"

#include <limits>
#include <optional>

#include "support/backends.h"
#include "support/catch_compat.h"
#include "support/error_of.h"
#include "support/finite_differences.h"
#include "support/tensors.h"

namespace mean_pooling_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using namespace maskctl::test;

struct Problem {
  Tensor x;
  std::optional<Tensor> cu_seqlens, mask;
  MeanPoolingOptions options;

  MeanPoolingInputs inputs() const {
    return {&x, cu_seqlens ? &*cu_seqlens : nullptr, mask ? &*mask : nullptr};
  }
  Tensor forward(Backend backend) const {
    MeanPoolingOptions o = options;
    o.context.backend = backend;
    return mean_pooling(inputs(), o);
  }
};

Problem problem(unsigned seed, DType dtype) {
  RandomTensors r(seed);
  const bool packed = r.chance(0.4);
  const Index b = packed ? 1 : 1 + r.below(3), t = r.below(r.chance(0.2) ? 500 : 20);
  const Index width = 1 + r.below(r.chance(0.2) ? 1200 : 10);
  Problem p;
  p.options.mode = r.chance(0.5) ? PoolingMode::kPerChunk : PoolingMode::kPerSequence;
  p.options.chunk_size = 1 + r.below(9);
  const bool per_chunk = p.options.mode == PoolingMode::kPerChunk;
  std::vector<Index> shape{t, width};
  if (!packed || per_chunk) shape.insert(shape.begin(), b);
  if (r.chance(0.3)) shape.push_back(2);
  p.x = r.normal(shape, dtype);
  if (packed) {
    p.cu_seqlens = r.cu_seqlens(1 + r.below(5), t);
  } else if (r.chance(0.5)) {
    p.mask = astype(r.uniform({b, t}, 0, 2), DType::kInt32);  // conversion to integers gives 0 or 1
  }
  return p;
}

/// Returns an array [2,3,2]: 2 batches of 3 tokens with 2 channels.
Tensor six_tokens() { return f32({2, 3, 2}, {1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 7, 70}); }

void check_both(const Problem& p, const Tensor& out, const Tensor& d_out, const Tensor& d_x) {
  for (const Backend backend : usable_backends()) {
    check_close(p.forward(backend), out, 1e-6, "out");
    MeanPoolingOptions o = p.options;
    o.context.backend = backend;
    check_close(mean_pooling_backward(p.inputs(), d_out, o), d_x, 1e-6, "d_x");
  }
}

}  // namespace

TEST_CASE("mean pooling gives the mean of each batch entry, over its valid tokens") {
  Problem p;
  p.x = six_tokens();
  const Tensor d_out = f32({2, 2}, {3, 0, 0, 6});
  check_both(p, f32({2, 2}, {2, 20, 16.0f / 3, 160.0f / 3}), d_out,
             f32({2, 3, 2}, {1, 0, 1, 0, 1, 0, 0, 2, 0, 2, 0, 2}));
  p.mask = i32({1, 0, 1, 0, 0, 0});
  p.mask->reshape({2, 3});
  // An element of a token that the mask excludes.
  p.x.as<float>()[2] = std::numeric_limits<float>::quiet_NaN();
  check_both(p, f32({2, 2}, {2, 20, 0, 0}), d_out,
             f32({2, 3, 2}, {1.5f, 0, 0, 0, 1.5f, 0, 0, 0, 0, 0, 0, 0}));
  p.mask = astype(*p.mask, DType::kBool);
  check_close(p.forward(Backend::kCpu), f32({2, 2}, {2, 20, 0, 0}), 0, "bool mask");
}

TEST_CASE("mean pooling gives the mean of each packed sequence, and 0 for an empty one") {
  Problem p;
  p.x = six_tokens();
  p.x.reshape({6, 2});
  p.cu_seqlens = i32({0, 1, 1, 5});
  check_both(p, f32({3, 2}, {1, 10, 0, 0, 3.5f, 35}), f32({3, 2}, {1, 0, 1, 1, 0, 4}),
             f32({6, 2}, {1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0}));
}

TEST_CASE("mean pooling gives the mean of each chunk; the last chunk may be shorter") {
  Problem p;
  p.x = six_tokens();
  p.options.mode = PoolingMode::kPerChunk;
  p.options.chunk_size = 2;
  check_both(p, f32({2, 2, 2}, {1.5f, 15, 3, 30, 4.5f, 45, 7, 70}),
             f32({2, 2, 2}, {2, 0, 0, 1, 0, 0, 1, 0}),
             f32({2, 3, 2}, {1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0}));
  p.x.reshape({1, 6, 2});
  p.cu_seqlens = i32({0, 3, 3, 6});
  check_close(p.forward(Backend::kCpu), f32({1, 4, 2}, {1.5f, 15, 3, 30, 4.5f, 45, 7, 70}), 1e-6,
              "packed");
}

TEST_CASE("mean pooling equals float64 loops, and its gradient finite differences") {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    for (unsigned seed = 0; seed < 60; ++seed) {
      INFO("seed " << seed);
      Problem p = problem(seed, dtype);
      const Tensor expected = p.forward(Backend::kReference);
      // A 16-bit result near a rounding tie may be rounded either way.
      for (const Backend backend : judged_backends()) {
        check_close(p.forward(backend), expected, dtype == DType::kFloat32 ? 1e-6 : 4e-3, "out");
      }
      if (dtype != DType::kFloat32 || expected.elements() == 0) continue;
      RandomTensors r(seed);
      const Tensor d_out = r.normal(expected.shape());
      const Tensor d_x = mean_pooling_backward(p.inputs(), d_out, p.options);
      check_finite_differences(p.x, d_x, [&] { return dot(p.forward(Backend::kReference), d_out); },
                               "d_x", {.step = 64, .margin = 1e-3, .epsilon = 1e-3, .elements = 3});
    }
  }
}

TEST_CASE("mean pooling refuses wrong shapes before any work") {
  const auto message = [](auto change) {
    Problem p;
    p.x = six_tokens();
    change(p);
    return error_of([&] { p.forward(Backend::kCpu); });
  };
  using P = Problem;
  CHECK(message([](P&) {}) == "no error");
  CHECK(message([](P& p) { p.x = f32({2}, {1, 2}); }) == "x is (2,), expected 2 or more axes");
  CHECK(message([](P& p) { p.x = astype(p.x, DType::kInt32); }) ==
        "x is int32, expected float32, float16 or bfloat16");
  CHECK(message([](P& p) { p.options.chunk_size = 0; }) == "chunk_size is 0, expected at least 1");
  CHECK(message([](P& p) {
          p.mask = i32({1, 1, 1});
        }) == "attention_mask is (3,), expected (2, 3)");
  CHECK(message([](P& p) {
          p.mask = i32({1, 1, 1, 0, 2, 0});
          p.mask->reshape({2, 3});
        }) == "attention_mask has 2, expected 0 and 1");
  CHECK(message([](P& p) {
          p.mask = i32({1, 1});
          p.cu_seqlens = i32({0, 1});
        }) == "cu_seqlens and attention_mask are given, expected one at most");
  CHECK(message([](P& p) {
          p.cu_seqlens = i32({0, 3});
        }) == "cu_seqlens ends at 3, past the 2 tokens");
  CHECK(message([](P& p) {
          p.options.mode = PoolingMode::kPerChunk;
          p.cu_seqlens = i32({0, 3});
        }) == "cu_seqlens needs a batch of 1, the batch is 2; pack the rows");
  CHECK(error_of([] { mean_pooling({}); }) == "x is missing");
  const Tensor x = six_tokens();
  CHECK(error_of([&] { mean_pooling_backward({&x}, x); }) == "d_out is (2, 3, 2), expected (2, 2)");
}

}  // namespace mean_pooling_cases
