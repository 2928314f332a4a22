#include "maskctl/attention/verify/reach.h"

#include <algorithm>

#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

/// Element (b, t, h) of [B,T,H,D] or [B,H,T,D], in vectors of D.
Index vector_at(Layout layout, Index b, Index t, Index h, Index tokens, Index heads) {
  return layout == Layout::kBthd ? (b * tokens + t) * heads + h : (b * heads + h) * tokens + t;
}

/// The values of pass p for all batches and heads.
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

void use_probe(const Probe& probe, NamedArguments& arguments) {
  arguments.arrays["query"] = probe.query;
  arguments.arrays["key"] = probe.key;
  arguments.arrays["value"] = probe.key;  // of the right shape
  std::erase_if(arguments.arrays,
                [](const auto& entry) { return entry.first.starts_with("cotangent_"); });
  arguments.gradient_seed.reset();
}

/// One row of every batch and key head per channel: rows [first, first + D), query head `member` of
/// each group.
Tensor one_hot_cotangent(const ProbeShape& shape, Index first, Index member) {
  Tensor out(DType::kFloat32,
             shape.layout == Layout::kBthd
                 ? std::vector{shape.batch, shape.queries, shape.heads, shape.dim}
                 : std::vector{shape.batch, shape.heads, shape.queries, shape.dim});
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

/// Puts the weights that one gradient of the values shows where they belong.
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

/// Channels of values that keep the arrays of a pass small.
Index widest_values(const ProbeShape& shape) {
  constexpr Index kMostElements = Index{1} << 24;  // of the values or the output of a pass
  const Index rows =
      shape.batch * std::max(shape.keys * shape.kv_heads, shape.queries * shape.heads);
  return std::clamp(kMostElements / rows, shape.dim, std::max(shape.dim, shape.keys));
}

}  // namespace

ProbeShape shape_of_call(const NamedOperation& operation, const NamedArguments& arguments) {
  const Tensor &query = arguments.arrays.at("query"), &key = arguments.arrays.at("key");
  ProbeShape shape;
  const bool heads_first = operation.arrays.front().axes == "B Hq Tq D";
  shape.layout = heads_first ? Layout::kBhtd : Layout::kBthd;
  shape.batch = query.extent(0);
  shape.queries = query.extent(heads_first ? 2 : 1);
  shape.heads = query.extent(heads_first ? 1 : 2);
  shape.keys = key.extent(heads_first ? 2 : 1);
  shape.kv_heads = key.extent(heads_first ? 1 : 2);
  shape.dim = query.extent(3);
  return shape;
}

ProbeReading read_weights_reach(const NamedOperation& operation, NamedArguments arguments,
                                bool wide) {
  ProbeShape shape = shape_of_call(operation, arguments);
  if (wide) shape.value_dim = widest_values(shape);
  const Probe probe = make_probe(shape);
  use_probe(probe, arguments);
  Tensor stacked(DType::kFloat32, {0});
  for (Index pass = 0; pass < shape.passes(); ++pass) {
    arguments.arrays["value"] = values_of_pass(probe, shape, pass);
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

ProbeReading read_gradient_reach(const NamedOperation& operation, NamedArguments arguments) {
  const ProbeShape shape = shape_of_call(operation, arguments);
  use_probe(make_probe(shape), arguments);
  Tensor weights(DType::kFloat32, {shape.batch, shape.heads, shape.queries, shape.keys});
  for (Index member = 0; member < shape.heads / shape.kv_heads; ++member) {
    for (Index first = 0; first < shape.queries; first += shape.dim) {
      arguments.arrays["cotangent_out"] = one_hot_cotangent(shape, first, member);
      collect(run(operation, arguments).at("grad_value"), shape, first, member, weights);
    }
  }
  return read_weights(weights);
}

}  // namespace maskctl::attention
