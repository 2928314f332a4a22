// Tests what the outputs of a probe say of the key heads and the scale of a call, for kernels of
// plain loops with planted faults.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/verify/probe.h"
#include "support/catch_compat.h"
#include "support/rounds.h"

namespace probe_call_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;

/// A kernel of plain loops, and what it may do wrong.
struct Kernel {
  double scale = 0;                           // 0: 1/sqrt(D)
  std::function<Index(Index head)> key_head;  // absent: h / group
  double sink = 0;                            // added to the sum of the exponentials
  double bias = 0;                            // times (i - j)
  bool rounds = false;                        // the exponentials to the type of the arrays
  bool widens = false;                        // the outputs to float32
};

struct Run {
  ProbeShape shape;
  Probe probe;
  Mask mask;
  DType dtype;
};

void round_all(DType dtype, std::vector<double>& numbers) {
  Tensor all(DType::kFloat32, {static_cast<Index>(numbers.size())});
  std::ranges::transform(numbers, all.as<float>().begin(),
                         [](double x) { return static_cast<float>(x); });
  all = astype(astype(all, dtype), DType::kFloat32);
  std::ranges::copy(all.as<float>(), numbers.begin());
}

/// The outputs of all passes, [passes,B,Q,H,D]: the weight of key pD + c in channel c.
Tensor outputs_of(const Run& run, const Kernel& kernel) {
  const ProbeShape& s = run.shape;
  Tensor out(DType::kFloat32, {s.passes(), s.batch, s.queries, s.heads, s.dim});
  const Tensor query = astype(run.probe.query, DType::kFloat32);
  const Tensor key = astype(run.probe.key, DType::kFloat32);
  const Tensor cells = dense_from_mask(run.mask, 1 << 20);
  const double scale = kernel.scale == 0 ? 1 / std::sqrt(static_cast<double>(s.dim)) : kernel.scale;
  for (Index b = 0; b < s.batch; ++b) {
    for (Index h = 0; h < s.heads; ++h) {
      const Index u = kernel.key_head ? kernel.key_head(h) : h / (s.heads / s.kv_heads);
      for (Index i = 0; i < s.queries; ++i) {
        std::vector<double> weights(as_size(s.keys));
        double sum = kernel.sink;
        for (Index j = 0; j < s.keys; ++j) {
          if (cells.as<std::uint8_t>()[as_size(((b * s.heads + h) * s.queries + i) * s.keys + j)] ==
              0) {
            continue;
          }
          double logit = kernel.bias * static_cast<double>(j - i);
          for (Index e = 0; e < s.dim; ++e) {
            logit += scale *
                     query.as<float>()[as_size(((b * s.queries + i) * s.heads + h) * s.dim + e)] *
                     key.as<float>()[as_size(((b * s.keys + j) * s.kv_heads + u) * s.dim + e)];
          }
          weights[as_size(j)] = std::exp(logit);
          sum += weights[as_size(j)];
        }
        if (kernel.rounds) round_all(run.dtype, weights);
        for (Index j = 0; j < s.keys && sum > 0; ++j) {
          const Index pass = j / s.dim;
          const Index row = ((pass * s.batch + b) * s.queries + i) * s.heads + h;
          out.as<float>()[as_size(row * s.dim + j % s.dim)] =
              static_cast<float>(weights[as_size(j)] / sum);
        }
      }
    }
  }
  return kernel.widens ? out : astype(out, run.dtype);
}

/// A random probe of 2 or more key heads, and a mask.
Run random_run(unsigned seed) {
  std::mt19937 engine(seed);
  const auto below = [&engine](Index n) { return static_cast<Index>(engine() % as_size(n)); };
  ProbeShape shape;
  shape.batch = 1 + below(2);
  shape.queries = 6 + below(20);
  shape.keys = 8 + below(40);
  shape.kv_heads = 2 + below(3);
  shape.heads = shape.kv_heads * (2 + below(2));
  shape.dim = Index{4} << below(5);
  const DType dtypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};
  const DType dtype = dtypes[below(3)];
  Tensor cells(DType::kBool, {shape.batch, shape.heads, shape.queries, shape.keys});
  std::bernoulli_distribution is_open(seed % 2 == 0 ? 0.3 : 0.8);
  for (auto& cell : cells.as<std::uint8_t>()) cell = is_open(engine) ? 1 : 0;
  return {shape, make_probe(shape, dtype), mask_from_dense(cells), dtype};
}

struct Found {
  Mask mask;
  ProbeCall call;
  ProbeCallVerdict verdict;
};

Found found(const Run& run, const Kernel& kernel, const Tensor* key = nullptr) {
  const Tensor outputs = outputs_of(run, kernel);
  const Mask read = read_probe(outputs, run.shape.keys, run.shape.layout).mask;
  const ProbeCall call =
      read_probe_call(outputs, {&run.probe.query, key ? key : &run.probe.key}, read);
  return {read, call, judge_probe_call(call)};
}

bool has(const std::vector<std::string>& texts, const std::string& part) {
  return std::ranges::any_of(
      texts, [&part](const std::string& text) { return text.find(part) != std::string::npos; });
}

TEST_CASE("probe call: right kernels pass, wrong key heads and scales are named") {
  Index told = 0, in_turn = 0, scales = 0;
  const unsigned rounds = test::rounds(150U);
  for (unsigned seed = 0; seed < rounds; ++seed) {
    const Run run = random_run(seed);
    INFO("seed " << seed << ", " << name(run.dtype) << ", heads " << run.shape.heads << " over "
                 << run.shape.kv_heads << ", dim " << run.shape.dim);
    const Found right = found(run, {});
    INFO((right.verdict.faults.empty() ? "" : right.verdict.faults.front()));
    REQUIRE(right.verdict.faults.empty());
    CHECK(zip(Op::kXor, right.mask, run.mask).count() == 0);
    for (const bool widens : {false, true}) {
      Kernel rounding;
      rounding.rounds = true;
      rounding.widens = widens;
      REQUIRE(found(run, rounding).verdict.faults.empty());
    }
    told += has(right.verdict.told, "key heads") ? 1 : 0;
    Kernel turned;
    turned.key_head = [&run](Index h) { return h % run.shape.kv_heads; };
    const Found heads = found(run, turned);
    REQUIRE_FALSE(heads.verdict.faults.empty());
    CHECK(zip(Op::kXor, heads.mask, run.mask).count() == 0);
    in_turn += heads.verdict.faults.size() == 1 &&
                       has(heads.verdict.faults, "query head h reads key head h mod " +
                                                     std::to_string(run.shape.kv_heads) +
                                                     " instead of h / ")
                   ? 1
                   : 0;
    const double usual = 1 / std::sqrt(static_cast<double>(run.shape.dim));
    for (const double factor : {0.5, 0.6931, 1.4427, 3.0}) {
      Kernel scaled;
      scaled.scale = factor * usual;
      const Found wrong = found(run, scaled);
      INFO("scale " << scaled.scale << " for " << usual);
      REQUIRE(has(wrong.verdict.faults, "softmax_scale "));
      REQUIRE(wrong.verdict.faults.size() == 1);
      for (const ProbeHead& head : wrong.call.heads) {
        if (!head.scale) continue;
        CHECK(std::abs(*head.scale - scaled.scale) <= head.scale_error);
        scales += std::abs(*head.scale - scaled.scale) < 0.05 * scaled.scale ? 1 : 0;
      }
    }
  }
  CHECK(told > static_cast<Index>(rounds) * 9 / 10);
  CHECK(in_turn > static_cast<Index>(rounds) * 9 / 10);
  CHECK(scales > static_cast<Index>(rounds) * 4 * 4 * 8 / 10);
}

TEST_CASE("probe call: one wrong head is named; a declared scale, sinks and a bias are used") {
  Run run = random_run(4);
  run.dtype = DType::kFloat32;
  run.probe = make_probe(run.shape);
  Kernel one;
  const Index group = run.shape.heads / run.shape.kv_heads;
  one.key_head = [group](Index h) { return h == 1 ? 1 : h / group; };
  CHECK(has(found(run, one).verdict.faults, "query head 1 reads key head 1 instead of 0"));
  Kernel sinks;
  sinks.sink = 0.5;
  const Found with_sinks = found(run, sinks);
  REQUIRE(with_sinks.verdict.faults.size() == 1);
  CHECK(has(with_sinks.verdict.faults, "instead of 1, as with sinks or dropout"));
  Kernel biased;
  biased.bias = 0.1;
  CHECK(has(found(run, biased).verdict.faults, "no key head and no softmax_scale explain"));
  Kernel scaled;
  scaled.scale = 0.3;
  const Tensor outputs = outputs_of(run, scaled);
  const Mask read = read_probe(outputs, run.shape.keys, run.shape.layout).mask;
  const ProbeInputs inputs{&run.probe.query, &run.probe.key, Layout::kBthd, 0.3};
  CHECK(judge_probe_call(read_probe_call(outputs, inputs, read)).faults.empty());
}

TEST_CASE("probe call: if all key heads have the same keys, only the scale is told") {
  Run run = random_run(6);
  run.dtype = DType::kFloat32;
  run.probe = make_probe(run.shape);
  std::ranges::fill(run.probe.key.as<float>(), 0.0F);
  const ProbeShape& s = run.shape;
  for (Index b = 0; b < s.batch; ++b) {
    for (Index u = 0; u < s.kv_heads; ++u) {
      run.probe.key.as<float>()[as_size((b * s.keys * s.kv_heads + u) * s.dim)] =
          std::log(2.0F) * std::sqrt(static_cast<float>(s.dim));
    }
  }
  const Found right = found(run, {});
  CHECK(right.verdict.faults.empty());
  CHECK(has(right.verdict.untold, "key heads"));
  CHECK(has(right.verdict.told, "softmax_scale"));
  Kernel turned;
  turned.key_head = [&s](Index h) { return h % s.kv_heads; };
  CHECK(found(run, turned).verdict.faults.empty());
  Kernel scaled;
  scaled.scale = 2;
  CHECK(has(found(run, scaled).verdict.faults, "softmax_scale 2 instead of "));
}

TEST_CASE(
    "probe call: layout bhtd gives the same answer, and arrays of another probe are refused") {
  const Run run = random_run(9);
  const Tensor outputs = outputs_of(run, {});
  const Mask read = read_probe(outputs, run.shape.keys, Layout::kBthd).mask;
  const Tensor other(DType::kFloat32, {1, 3, 4, 5});
  CHECK_THROWS_AS(read_probe_call(outputs, {&run.probe.query, &other}, read), Error);
  CHECK_THROWS_AS(read_probe_call(outputs, {&other, &run.probe.key}, read), Error);
  Tensor differ = astype(run.probe.query, DType::kFloat32);
  differ.as<float>()[as_size(differ.elements() - 1)] = 1;
  CHECK_THROWS_AS(read_probe_call(outputs, {&differ, &run.probe.key}, read), Error);
  ProbeShape shape = run.shape;
  shape.layout = Layout::kBhtd;
  const Probe heads_first = make_probe(shape, run.dtype);
  Tensor moved(DType::kFloat32,
               {shape.passes(), shape.batch, shape.heads, shape.queries, shape.dim});
  const Tensor floats = astype(outputs, DType::kFloat32);
  for (Index n = 0; n < floats.elements(); ++n) {
    const Index e = n % shape.dim, h = n / shape.dim % shape.heads,
                i = n / (shape.dim * shape.heads) % shape.queries,
                rest = n / (shape.dim * shape.heads * shape.queries);
    moved.as<float>()[as_size(((rest * shape.heads + h) * shape.queries + i) * shape.dim + e)] =
        floats.as<float>()[as_size(n)];
  }
  const ProbeInputs inputs{&heads_first.query, &heads_first.key, Layout::kBhtd};
  const ProbeCallVerdict verdict =
      judge_probe_call(read_probe_call(astype(moved, run.dtype), inputs, read));
  CHECK(verdict.faults.empty());
  CHECK(has(verdict.told, "softmax_scale"));
}

}  // namespace

}  // namespace probe_call_cases
