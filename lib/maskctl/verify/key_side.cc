#include "maskctl/verify/key_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/verify/compare.h"

namespace maskctl::attention {
namespace {

/// Returns a latent [B,K,C+1]: the values, then channel 0 of the keys.
Tensor latent_of(const Tensor& key, const Tensor& values) {
  const Index batch = values.extent(0), keys = values.extent(1), channels = values.extent(3);
  const Index dim = key.extent(3);
  Tensor out(DType::kFloat32, {batch, keys, channels + 1});
  for (Index n = 0; n < batch * keys; ++n) {
    float* const row = out.as<float>().data() + n * (channels + 1);
    std::copy_n(values.as<float>().data() + n * channels, channels, row);
    row[channels] = key.as<float>()[as_size(n * dim)];
  }
  return out;
}

/// Returns the projection [C+1,Hkv,D] that maps channel C, the last channel of a latent, to channel
/// 0 of the keys. `stretch` compensates for a scale that also counts rotary channels.
Tensor key_projection(Index channels, Index heads, Index dim, float stretch) {
  Tensor out(DType::kFloat32, {channels + 1, heads, dim});
  for (Index u = 0; u < heads; ++u) {
    out.as<float>()[as_size((channels * heads + u) * dim)] = stretch;
  }
  return out;
}

/// Returns the projection [C+1,Hkv,C] that maps channels 0 to C - 1 of a latent to the channels of
/// the values.
Tensor value_projection(Index channels, Index heads) {
  Tensor out(DType::kFloat32, {channels + 1, heads, channels});
  for (Index c = 0; c < channels; ++c) {
    for (Index u = 0; u < heads; ++u) {
      out.as<float>()[as_size((c * heads + u) * channels + c)] = 1;
    }
  }
  return out;
}

void use_latent(const Probe& probe, const Tensor& values, NamedArguments& arguments) {
  const Index heads = arguments.arrays.at("w_kc").extent(1);
  const Index channels = values.extent(3), dim = probe.key.extent(3);
  Index rotary = 0;
  for (const char* name : {"b_q", "b_k"}) {
    const auto found = arguments.arrays.find(name);
    if (found == arguments.arrays.end()) continue;
    rotary = found->second.shape().back();
    found->second = Tensor(DType::kFloat32, found->second.shape());
  }
  const float stretch = std::sqrt(static_cast<float>(dim + rotary) / static_cast<float>(dim));
  arguments.arrays["key_value"] = latent_of(probe.key, values);
  arguments.arrays["w_kc"] = key_projection(channels, heads, dim, stretch);
  arguments.arrays["w_vc"] = value_projection(channels, heads);
}

void check_rank(const char* name, const Tensor& array, Index rank) {
  if (array.rank() == rank) return;
  refuse_shape(fmt::format("{}: expected {} axes, got {}", name, rank, shape_text(array.shape())));
}

}  // namespace

bool has_latent(const NamedArguments& arguments) { return arguments.arrays.contains("key_value"); }

ProbeShape shape_of_call(const Operation& operation, const NamedArguments& arguments) {
  const bool latent = has_latent(arguments);
  const bool heads_first = operation.heads_first();
  const Tensor& query = arguments.arrays.at("query");
  const Tensor& key = arguments.arrays.at(latent ? "key_value" : "key");
  check_rank("query", query, 4);
  check_rank(latent ? "key_value" : "key", key, latent ? 3 : 4);
  ProbeShape shape;
  shape.layout = heads_first ? Layout::kBhtd : Layout::kBthd;
  shape.batch = query.extent(0);
  shape.queries = query.extent(heads_first ? 2 : 1);
  shape.heads = query.extent(heads_first ? 1 : 2);
  shape.keys = key.extent(heads_first ? 2 : 1);
  shape.kv_heads = latent ? 1 : key.extent(heads_first ? 1 : 2);
  shape.dim = query.extent(3);
  return shape;
}

std::vector<Index> arranged(Layout layout, Index batch, Index tokens, Index heads, Index dim) {
  return layout == Layout::kBthd ? std::vector{batch, tokens, heads, dim}
                                 : std::vector{batch, heads, tokens, dim};
}

Index vector_at(Layout layout, Index b, Index t, Index h, Index tokens, Index heads) {
  return layout == Layout::kBthd ? (b * tokens + t) * heads + h : (b * heads + h) * tokens + t;
}

void use_probe(const Probe& probe, const Tensor& values, NamedArguments& arguments) {
  arguments.arrays["query"] = probe.query;
  if (has_latent(arguments)) {
    use_latent(probe, values, arguments);
  } else {
    arguments.arrays["key"] = probe.key;
    arguments.arrays["value"] = values;
  }
  arguments = without_gradients(std::move(arguments));
}

Tensor value_gradient(NamedResults& results, const ProbeShape& shape) {
  const auto found = results.find("grad_key_value");
  if (found == results.end()) return std::move(results.at("grad_value"));
  const Index channels = found->second.extent(2) - 1;
  Tensor out(DType::kFloat32, {shape.batch, shape.keys, 1, channels});
  for (Index n = 0; n < shape.batch * shape.keys; ++n) {
    std::copy_n(found->second.as<float>().data() + n * (channels + 1), channels,
                out.as<float>().data() + n * channels);
  }
  return out;
}

void fill_key(NamedArguments& arguments, const ProbeShape& shape, Index b, Index j, Index u,
              float value) {
  for (const char* name : {"key", "value", "key_value", "b_k"}) {
    const auto found = arguments.arrays.find(name);
    if (found == arguments.arrays.end()) continue;
    fill_row(found->second, vector_at(shape.layout, b, j, u, shape.keys, shape.kv_heads), value);
  }
}

}  // namespace maskctl::attention
