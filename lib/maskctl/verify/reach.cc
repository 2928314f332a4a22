#include "maskctl/verify/reach.h"

#include <algorithm>

#include "maskctl/verify/key_side.h"

namespace maskctl::attention {
namespace {

/// Returns the values of the probe for one pass, for all batch entries and key heads.
Tensor values_of_pass(const Probe& probe, const ProbeShape& shape, Index pass) {
  const Index channels = shape.channels();
  std::vector<Index> extents = probe.key.shape();
  extents.back() = channels;
  Tensor out(DType::kFloat32, extents);
  const auto from = probe.value.as<float>();
  for (Index b = 0; b < shape.batch; ++b) {
    for (Index u = 0; u < shape.kv_heads; ++u) {
      for (Index j = 0; j < shape.keys; ++j) {
        const Index to = vector_at(shape.layout, b, j, u, shape.keys, shape.kv_heads) * channels;
        const Index at = (pass * shape.keys + j) * channels;
        std::copy_n(from.begin() + at, channels, out.as<float>().begin() + to);
      }
    }
  }
  return out;
}

/// Returns cotangents for D rows of query head number `member` of each group: row first + c is 1 in
/// channel c and 0 in all others (one-hot), and all other rows are 0. So one gradient of the values
/// shows the weights of these rows.
Tensor one_hot_cotangent(const ProbeShape& shape, Index first, Index member) {
  Tensor out(DType::kFloat32,
             arranged(shape.layout, shape.batch, shape.queries, shape.heads, shape.dim));
  const Index group = shape.heads / shape.kv_heads;
  for (Index b = 0; b < shape.batch; ++b) {
    for (Index u = 0; u < shape.kv_heads; ++u) {
      for (Index c = 0; c < std::min(shape.dim, shape.queries - first); ++c) {
        const Index at =
            vector_at(shape.layout, b, first + c, u * group + member, shape.queries, shape.heads);
        out.as<float>()[as_size(at * shape.dim + c)] = 1;
      }
    }
  }
  return out;
}

/// Copies the weights of rows [first, first + D), which the gradient of the values shows, to their
/// places in `weights`.
void collect(const Tensor& d_value, const ProbeShape& shape, Index first, Index member,
             Tensor& weights) {
  const Index group = shape.heads / shape.kv_heads;
  const auto from = d_value.as<float>();
  const auto to = weights.as<float>();
  for (Index b = 0; b < shape.batch; ++b) {
    for (Index u = 0; u < shape.kv_heads; ++u) {
      for (Index c = 0; c < std::min(shape.dim, shape.queries - first); ++c) {
        const Index row = (b * shape.heads + u * group + member) * shape.queries + first + c;
        for (Index j = 0; j < shape.keys; ++j) {
          const Index at = vector_at(shape.layout, b, j, u, shape.keys, shape.kv_heads);
          to[as_size(row * shape.keys + j)] = from[as_size(at * shape.dim + c)];
        }
      }
    }
  }
}

/// How many channels values may have so that the arrays of a pass stay small.
Index widest_values(const ProbeShape& shape) {
  // the most elements of the values, or of the output, of a pass
  constexpr Index kMostElements = Index{1} << 24;
  const Index rows = std::max<Index>(
      shape.batch * std::max(shape.keys * shape.kv_heads, shape.queries * shape.heads), 1);
  return std::clamp(kMostElements / rows, shape.dim, std::max(shape.dim, shape.keys));
}

}  // namespace

ProbeReading read_weights_reach(const Operation& operation, NamedArguments arguments, bool wide) {
  ProbeShape shape = shape_of_call(operation, arguments);
  if (wide && !has_latent(arguments)) shape.value_dim = widest_values(shape);
  const Probe probe = make_probe(shape);
  Tensor stacked(DType::kFloat32, {0});
  for (Index pass = 0; pass < shape.passes(); ++pass) {
    use_probe(probe, values_of_pass(probe, shape, pass), arguments);
    const Tensor out = run(operation, arguments).at("out");
    if (pass == 0) {
      std::vector<Index> extents = out.shape();
      extents.insert(extents.begin(), shape.passes());
      stacked = Tensor(DType::kFloat32, extents);
    }
    std::ranges::copy(out.as<float>(), stacked.as<float>().begin() + pass * out.elements());
  }
  return read_probe(stacked, shape.keys, shape.layout);
}

ProbeReading read_gradient_reach(const Operation& operation, NamedArguments arguments) {
  const ProbeShape shape = shape_of_call(operation, arguments);
  const Probe probe = make_probe(shape);
  use_probe(probe, probe.key, arguments);  // any values of the right shape
  Tensor weights(DType::kFloat32, {shape.batch, shape.heads, shape.queries, shape.keys});
  for (Index member = 0; member < shape.heads / shape.kv_heads; ++member) {
    for (Index first = 0; first < shape.queries; first += shape.dim) {
      arguments.arrays["cotangent_out"] = one_hot_cotangent(shape, first, member);
      NamedResults results = run(operation, arguments);
      collect(value_gradient(results, shape), shape, first, member, weights);
    }
  }
  return read_weights(weights);
}

}  // namespace maskctl::attention
