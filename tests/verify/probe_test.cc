// Tests that the outputs of a kernel for probe inputs read back as the mask that the kernel
// applied.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "maskctl/attention/softmax/softmax.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/verify/probe_verdict.h"
#include "support/catch_compat.h"

namespace probe_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;

Tensor random_cells(std::mt19937& engine, std::vector<Index> shape, double open) {
  Tensor dense(DType::kBool, std::move(shape));
  std::bernoulli_distribution is_open(open);
  for (auto& cell : dense.as<std::uint8_t>()) cell = is_open(engine) ? 1 : 0;
  return dense;
}

/// Returns the values of one pass of the probe, repeated for all batches and key heads, as
/// [B,T,H,D].
Tensor pass_values(const Probe& probe, Index pass) {
  Tensor out(probe.key.dtype(), probe.key.shape());
  const Index keys = out.extent(1), heads = out.extent(2), dim = out.extent(3);
  const Tensor floats = astype(probe.value, DType::kFloat32);
  Tensor values(DType::kFloat32, out.shape());
  for (Index i = 0; i < out.elements(); ++i) {
    const Index key = i / (heads * dim) % keys;
    values.as<float>()[as_size(i)] =
        floats.as<float>()[as_size((pass * keys + key) * dim + i % dim)];
  }
  return astype(values, out.dtype());
}

/// Returns the outputs of all passes of the probe from a kernel that applies `mask`.
Tensor outputs_of(const Probe& probe, const Mask& mask, const SoftmaxOptions& options = {}) {
  const Index passes = probe.value.extent(0);
  std::vector<Index> shape = probe.query.shape();
  shape.insert(shape.begin(), passes);
  Tensor out(probe.query.dtype(), shape);
  for (Index p = 0; p < passes; ++p) {
    const Tensor value = pass_values(probe, p);
    const SoftmaxInputs inputs{&probe.query, &probe.key, &value, &mask};
    const Tensor one = softmax_forward(inputs, options).out;
    std::ranges::copy(one.bytes(),
                      out.bytes().begin() + p * static_cast<Index>(one.bytes().size()));
  }
  return out;
}

TEST_CASE("probe: any mask is read back, for head dimensions above and below the number of keys") {
  std::mt19937 engine(1);
  for (int round = 0; round < 200; ++round) {
    const auto below = [&engine](Index n) { return static_cast<Index>(engine() % as_size(n)); };
    ProbeShape shape;
    shape.batch = 1 + below(2);
    shape.queries = 1 + below(20);
    shape.keys = 2 + below(30);
    shape.kv_heads = 1 + below(2);
    shape.heads = shape.kv_heads * (1 + below(3));
    shape.dim = 1 + below(40);
    const DType dtypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};
    const Tensor cells = random_cells(engine, {shape.batch, shape.heads, shape.queries, shape.keys},
                                      round % 4 == 0 ? 0.05 : 0.6);
    const Mask mask = mask_from_dense(cells);
    const Probe probe = make_probe(shape, dtypes[below(3)]);
    const ProbeReading reading = read_probe(outputs_of(probe, mask), shape.keys, shape.layout);
    INFO("round " << round);
    REQUIRE(dense_from_mask(reading.mask, 1 << 20).bytes().size() == cells.bytes().size());
    REQUIRE(std::ranges::equal(dense_from_mask(reading.mask, 1 << 20).bytes(), cells.bytes()));
    REQUIRE(reading.averaged_rows == 0);
    REQUIRE(reading.nan_rows == 0);
  }
}

TEST_CASE("probe: the verdict names the cells in which the applied mask differs") {
  std::mt19937 engine(2);
  for (Index round = 0; round < 60; ++round) {
    const Tensor cells = random_cells(engine, {1, 2, 9, 12}, 0.6);
    Tensor other = cells;
    if (round % 2 == 1) {
      std::uint8_t& cell = other.as<std::uint8_t>()[engine() % as_size(other.elements())];
      cell ^= 1U;
    }
    const Mask declared = mask_from_dense(cells), applied = mask_from_dense(other);
    const Probe probe = make_probe({1, 9, 12, 2, 1, 16, Layout::kBthd});
    const ProbeVerdict found =
        judge_probe(read_probe(outputs_of(probe, applied), 12, Layout::kBthd), declared, {});
    CHECK(differing_cells(found.applied, applied) == 0);
    CHECK(found.diff.only_a + found.diff.only_b == round % 2);
    CHECK(found.verdict() == (round % 2 == 1 ? Verdict::kAnother : Verdict::kObeys));
    if (round % 2 == 1) continue;
    CHECK(judge_probe(read_probe(outputs_of(probe, applied), 12, Layout::kBthd), declared,
                      {.faults = {"softmax_scale 1 instead of 0.25"}})
              .verdict() == Verdict::kOtherCall);
  }
}

TEST_CASE(
    "probe: averaged rows are distinguished from rows that see all keys, and NaN is counted") {
  Tensor cells(DType::kBool, {1, 1, 3, 5});
  // Queries 0 and 1 see all keys, query 2 sees none.
  std::ranges::fill(cells.as<std::uint8_t>().first(10), std::uint8_t{1});
  const Mask mask = mask_from_dense(cells);
  const Probe probe = make_probe({1, 3, 5, 1, 1, 4, Layout::kBthd});
  for (const EmptyRow policy : {EmptyRow::kZero, EmptyRow::kMean, EmptyRow::kNan}) {
    SoftmaxOptions options;
    options.empty_row = policy;
    const ProbeReading reading = read_probe(outputs_of(probe, mask, options), 5, Layout::kBthd);
    CHECK(std::ranges::equal(dense_from_mask(reading.mask, 100).bytes(), cells.bytes()));
    CHECK(reading.averaged_rows == (policy == EmptyRow::kMean ? 1 : 0));
    CHECK(reading.nan_rows == (policy == EmptyRow::kNan ? 1 : 0));
    CHECK(judge_probe(reading, mask, {}).verdict() ==
          (policy == EmptyRow::kNan ? Verdict::kPartly : Verdict::kObeys));
  }
}

TEST_CASE("probe: layout bhtd gives the same arrays with their axes moved") {
  const Probe time = make_probe({2, 3, 5, 4, 2, 4, Layout::kBthd});
  const Probe heads = make_probe({2, 3, 5, 4, 2, 4, Layout::kBhtd});
  CHECK(time.query.shape() == std::vector<Index>{2, 3, 4, 4});
  CHECK(heads.query.shape() == std::vector<Index>{2, 4, 3, 4});
  CHECK(time.value.shape() == std::vector<Index>{2, 1, 5, 1, 4});
  CHECK(heads.value.shape() == std::vector<Index>{2, 1, 1, 5, 4});
  CHECK(std::ranges::equal(time.value.bytes(), heads.value.bytes()));
  for (Index b = 0; b < 2; ++b) {
    for (Index u = 0; u < 2; ++u) {
      CHECK(time.key.as<float>()[as_size((b * 5 * 2 + u) * 4)] > 1);
      CHECK(heads.key.as<float>()[as_size((b * 2 + u) * 5 * 4)] > 1);
    }
  }
  // The query of head 1 sees key 4 only. The outputs are [2 passes, B, H, Q, D].
  Tensor out(DType::kFloat32, {2, 1, 2, 1, 4});
  out.as<float>()[as_size(((1 * 2 + 1) * 1 + 0) * 4)] = 1;
  const ProbeReading reading = read_probe(out, 5, Layout::kBhtd);
  CHECK(reading.mask.count() == 1);
  CHECK(reading.mask.plane(0, 1)->count({0, 1}, {4, 5}) == 1);
}

TEST_CASE("probe: weights are read with a threshold relative to the largest of the row") {
  Tensor weights(DType::kFloat32, {1, 1, 2, 3});
  const float values[] = {0.9F, 0.1F, 1e-6F, 0.2F, 0.2F, 0.2F};
  std::ranges::copy(values, weights.as<float>().begin());
  const ProbeReading all = read_weights(weights);
  CHECK(all.mask.count() == 3);
  CHECK(all.averaged_rows == 1);
  CHECK(read_weights(weights, 1e-3).mask.count() == 2);
}

/// Returns softmax weights of normal random logits under a mask, rounded to the dtype and converted
/// to f32.
Tensor weights_of(const Mask& mask, double sigma, DType dtype) {
  const Index keys = mask.keys();
  std::mt19937 engine(4);
  std::normal_distribution<double> logit(0, sigma);
  const Tensor cells = dense_from_mask(mask, 1 << 20);
  Tensor out(DType::kFloat32, {1, 1, mask.queries(), keys});
  for (Index i = 0; i < mask.queries(); ++i) {
    std::vector<double> row(as_size(keys));
    double sum = 0;
    for (Index j = 0; j < keys; ++j) {
      const bool open = cells.as<std::uint8_t>()[as_size(i * keys + j)] != 0;
      row[as_size(j)] = open ? std::exp(logit(engine)) : 0;
      sum += row[as_size(j)];
    }
    for (Index j = 0; j < keys && sum > 0; ++j) {
      out.as<float>()[as_size(i * keys + j)] = static_cast<float>(row[as_size(j)] / sum);
    }
  }
  return astype(astype(out, dtype), DType::kFloat32);
}

TEST_CASE("probe: weights that underflow float16 are no evidence, weights outside the mask are") {
  const Mask causal(diagonal_band(64, 64, -kUnbounded, 0));
  const Mask shorter(diagonal_band(64, 64, -20, 0));
  const ProbeReading sharp = read_weights(weights_of(causal, 12, DType::kFloat16), 0, &causal);
  CHECK(zip(Op::kSub, sharp.mask, causal).count() == 0);
  const Mask lost = zip(Op::kSub, causal, sharp.mask);
  CHECK(lost.count() > 500);
  CHECK(zip(Op::kSub, lost, sharp.untold).count() == 0);
  const ProbeVerdict unclear = judge_probe(sharp, causal, {});
  CHECK(unclear.verdict() == Verdict::kUnclear);
  CHECK(unclear.untold == lost.count());
  CHECK(differing_cells(unclear.applied, causal) == 0);
  // With small logits no open cell is rounded to weight 0, so that every 0 is a closed cell.
  const ProbeReading soft = read_weights(weights_of(shorter, 1, DType::kFloat16), 0, &causal);
  CHECK(zip(Op::kXor, soft.mask, shorter).count() == 0);
  CHECK(soft.untold.count() == 0);
  const ProbeReading full = read_weights(weights_of(causal, 1, DType::kFloat32), 0, &shorter);
  CHECK(zip(Op::kSub, full.mask, shorter).count() == zip(Op::kSub, causal, shorter).count());
}

TEST_CASE("probe: equal weights mean all keys if the row is declared open, else an average") {
  Tensor weights(DType::kFloat32, {1, 1, 2, 4});
  std::ranges::fill(weights.as<float>(), 0.25F);
  const Mask open(full_plane(2, 4)), causal(diagonal_band(2, 4, -kUnbounded, 0));
  CHECK(read_weights(weights, 0, &open).mask.count() == 8);
  CHECK(read_weights(weights, 0, &causal).averaged_rows == 2);
  CHECK_THROWS_AS(read_weights(weights, 0, std::make_unique<Mask>(full_plane(3, 4)).get()), Error);
}

TEST_CASE("probe: wrong requests are refused") {
  CHECK_THROWS_AS(make_probe({1, 0, 4, 1, 1, 4, Layout::kBthd}), Error);
  CHECK_THROWS_AS(make_probe({1, 4, 4, 3, 2, 4, Layout::kBthd}), Error);
  CHECK_THROWS_AS(make_probe({1, 4, 4, 1, 1, 4, Layout::kBthd}, DType::kInt32), Error);
  const Tensor outputs(DType::kFloat32, {2, 1, 3, 1, 4});
  CHECK_THROWS_AS(read_probe(outputs, 9, Layout::kBthd), Error);
  CHECK_THROWS_AS(read_probe(outputs, 8, Layout::kBthd, 1), Error);
  CHECK_THROWS_AS(read_weights(outputs), Error);
  CHECK_THROWS_AS(read_weights(Tensor(DType::kInt32, {1, 1, 2, 2})), Error);
}

}  // namespace

}  // namespace probe_cases
