// Compares operations on shards of their arrays with the same call on one device.
#pragma once

#include <list>

#include "attention/arrays.h"
#include "maskctl/attention/operations/all.h"
#include "maskctl/attention/sharded/shard_map.h"

namespace sharded_test {

using namespace maskctl::attention_test;

inline const AxisName kWhole;
inline PartitionSpec spec(std::vector<AxisName> axes) { return {std::move(axes)}; }
inline const PartitionSpec kTokens = spec({"dp", kWhole, "tp", kWhole});  // for [B,S,H,D]
inline const PartitionSpec kHeads = spec({"dp", "tp"});                   // for [B,H,S,D]
inline const PartitionSpec kBatch = spec({"dp"});

template <class Op>
Sharding on(const char* mesh, std::vector<std::optional<PartitionSpec>> in_specs,
            std::vector<PartitionSpec> out_specs) {
  return {mesh_from_text(mesh), std::move(in_specs), std::move(out_specs)};
}

/// Runs an operation on shards of its arrays.
template <class Op>
typename Op::Output run(const typename Op::Inputs& inputs, const typename Op::Options& options,
                        const Sharding& sharding) {
  const typename Op::Call call{inputs, options};
  const AnyValue out = ShardMap(kOperation<Op>, &call, sharding).forward(kOperation<Op>.forward);
  return std::move(*static_cast<typename Op::Output*>(out.get()));
}

inline void check_same(const std::vector<ResultArray>& seen,
                       const std::vector<ResultArray>& expected, double tolerance) {
  REQUIRE(seen.size() == expected.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    check_close(*seen[i].tensor, *expected[i].tensor, tolerance, std::string(seen[i].name).c_str());
  }
}

/// Checks that the sharded and the unsharded call have equal results and, for random gradients of
/// out, lse and final_state, equal gradients.
template <class Op>
void check_sharded(const typename Op::Inputs& inputs, const typename Op::Options& options,
                   const Sharding& sharding, double tolerance = 2e-6) {
  auto expected = Op::forward(inputs, options);
  auto seen = run<Op>(inputs, options, sharding);
  const auto arrays = [](auto& output) { return arrays_of(kOperation<Op>.outputs, &output); };
  check_same(arrays(seen), arrays(expected), tolerance);
  if constexpr (!std::is_same_v<typename Op::Gradients, NoGradients>) {
    Random random(11);
    std::list<Tensor> tensors;
    Cotangents d;
    for (const ResultArray& array : arrays(expected)) {
      const Tensor& random_one =
          tensors.emplace_back(random.normal(array.tensor->shape(), array.tensor->dtype()));
      if (array.name == "out") d.out = &random_one;
      if (array.name == "lse") d.lse = &random_one;
      if (array.name == "final_state") d.final_state = &random_one;
    }
    auto one = Op::backward(inputs, expected, d, options);
    const typename Op::Call call{inputs, options};
    const AnyValue parts =
        ShardMap(kOperation<Op>, &call, sharding).backward(&seen, d, kOperation<Op>.backward);
    check_same(arrays_of(kOperation<Op>.gradients, parts.get()),
               arrays_of(kOperation<Op>.gradients, &one), 4 * tolerance);
  }
}

struct Qkv {
  Tensor query, key, value;
  Qkv(Random& random, Index b, Index q, Index k, Index h, Index u, DType dtype = DType::kFloat32)
      : query(random.normal({b, q, h, 8}, dtype)),
        key(random.normal({b, k, u, 8}, dtype)),
        value(random.normal({b, k, u, 6}, dtype)) {}
  QkvInputs inputs() const { return {&query, &key, &value}; }
};

inline const std::vector<std::optional<PartitionSpec>> kThree = {kTokens, kTokens, kTokens};

}  // namespace sharded_test
