#include "maskctl/attention/probe/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "maskctl/attention/core/checks.h"
#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/dense.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

void check(const ProbeShape& shape, DType dtype) {
  const Index least =
      std::min({shape.batch, shape.queries, shape.keys, shape.heads, shape.kv_heads, shape.dim});
  if (least < 1) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("a probe needs extents of 1 or more, one is {}", least));
  }
  if (shape.heads % shape.kv_heads != 0) {
    throw Error(
        Errc::kInvalidArgument,
        fmt::format("{} query heads are no multiple of {} key heads", shape.heads, shape.kv_heads));
  }
  if (!is_floating(dtype)) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("a probe is floating-point, not {}", name(dtype)));
  }
}

std::vector<Index> arranged(Layout layout, Index batch, Index tokens, Index heads, Index dim) {
  return layout == Layout::kBthd ? std::vector{batch, tokens, heads, dim}
                                 : std::vector{batch, heads, tokens, dim};
}

/// Sets channel 0 of some vectors.
void fill_first(Tensor& tensor, Index dim, float value) {
  const auto all = tensor.as<float>();
  for (std::size_t i = 0; i < all.size(); i += as_size(dim)) all[i] = value;
}

Tensor probe_keys(const ProbeShape& shape) {
  Tensor key(DType::kFloat32,
             arranged(shape.layout, shape.batch, shape.keys, shape.kv_heads, shape.dim));
  const float tilt = std::numbers::ln2_v<float> * std::sqrt(static_cast<float>(shape.dim));
  const bool heads_last = shape.layout == Layout::kBthd;
  const Index head_stride = heads_last ? shape.dim : shape.keys * shape.dim;
  for (Index b = 0; b < shape.batch; ++b) {
    for (Index u = 0; u < shape.kv_heads; ++u) {
      key.as<float>()[as_size(b * shape.keys * shape.kv_heads * shape.dim + u * head_stride)] =
          tilt;
    }
  }
  return key;
}

Tensor probe_values(const ProbeShape& shape) {
  const Index channels = shape.channels();
  std::vector<Index> extents = arranged(shape.layout, 1, shape.keys, 1, channels);
  extents.insert(extents.begin(), shape.passes());
  Tensor value(DType::kFloat32, std::move(extents));
  const auto all = value.as<float>();
  for (Index j = 0; j < shape.keys; ++j) {
    const Index pass = j / channels, channel = j % channels;
    all[as_size((pass * shape.keys + j) * channels + channel)] = 1;
  }
  return value;
}

/// Weights of rows wherever they lie: weight of key pD + c of row (b, h, i) at
/// data[p * pass + b * batch + h * head + i * query + c].
struct WeightView {
  const float* data;
  Index batch_extent, heads, queries, keys, dim;
  Index pass, batch, head, query;

  void row(Index b, Index h, Index i, std::vector<float>& out) const {
    const float* at = data + b * batch + h * head + i * query;
    for (Index j = 0; j < keys; ++j) out[as_size(j)] = at[j / dim * pass + j % dim];
  }
};

enum class RowKind : std::uint8_t { kWeights, kAveraged, kNan };

/// `evenness`: largest / smallest weight of a row that averages is below it.
RowKind read_row(const std::vector<float>& weights, double threshold, float evenness,
                 std::uint8_t* open) {
  const bool has_nan = std::ranges::any_of(weights, [](float w) { return std::isnan(w); });
  if (has_nan) return RowKind::kNan;
  const auto [least, most] = std::ranges::minmax(weights);
  if (weights.size() > 1 && least > 0 && most < evenness * least) return RowKind::kAveraged;
  const float others =
      weights.size() > 1 ? *std::max_element(weights.begin() + 1, weights.end()) : 0;
  const double bar = threshold * static_cast<double>(others > 0 ? others : most);
  for (std::size_t j = 0; j < weights.size(); ++j) {
    open[j] = static_cast<double>(weights[j]) > bar ? 1 : 0;
  }
  return RowKind::kWeights;
}

ProbeReading read(const WeightView& view, double threshold, float evenness) {
  if (!(threshold >= 0 && threshold < 1)) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("threshold is {}, expected 0 up to less than 1", threshold));
  }
  Tensor dense(DType::kBool, {view.batch_extent, view.heads, view.queries, view.keys});
  std::vector<RowKind> kinds(as_size(view.batch_extent * view.heads * view.queries));
  parallel_for(view.batch_extent * view.heads, [&](Index plane) {
    std::vector<float> weights(as_size(view.keys));
    for (Index i = 0; i < view.queries; ++i) {
      view.row(plane / view.heads, plane % view.heads, i, weights);
      const Index row = plane * view.queries + i;
      std::uint8_t* open = dense.as<std::uint8_t>().data() + row * view.keys;
      kinds[as_size(row)] = read_row(weights, threshold, evenness, open);
    }
  });
  return {mask_from_dense(dense), std::ranges::count(kinds, RowKind::kAveraged),
          std::ranges::count(kinds, RowKind::kNan)};
}

Tensor as_floats(const Tensor& tensor, const char* what) {
  check_float(what, tensor);
  return astype(tensor, DType::kFloat32);
}

}  // namespace

Probe make_probe(const ProbeShape& shape, DType dtype) {
  check(shape, dtype);
  Tensor query(DType::kFloat32,
               arranged(shape.layout, shape.batch, shape.queries, shape.heads, shape.dim));
  fill_first(query, shape.dim, 1);
  return {astype(query, dtype), astype(probe_keys(shape), dtype),
          astype(probe_values(shape), dtype)};
}

ProbeReading read_probe(const Tensor& outputs, Index keys, Layout layout, double threshold) {
  if (outputs.rank() != 5 || outputs.elements() == 0 ||
      outputs.extent(0) != ceil_div(keys, outputs.extent(4))) {
    throw Error(Errc::kShape,
                fmt::format("outputs are {}, expected ({}) with passes = ceil({} keys / head_dim)",
                            shape_text(outputs.shape()),
                            layout == Layout::kBthd ? "passes, batch, queries, heads, head_dim"
                                                    : "passes, batch, heads, queries, head_dim",
                            keys));
  }
  const Tensor floats = as_floats(outputs, "the output");
  const bool heads_last = layout == Layout::kBthd;
  const Index heads = outputs.extent(heads_last ? 3 : 2);
  const Index queries = outputs.extent(heads_last ? 2 : 3), dim = outputs.extent(4);
  const Index plane = queries * heads * dim;
  return read({floats.as<float>().data(), outputs.extent(1), heads, queries, keys, dim,
               outputs.extent(1) * plane, plane, heads_last ? dim : queries * dim,
               heads_last ? heads * dim : dim},
              threshold, 1.25F);
}

ProbeReading read_weights(const Tensor& weights, double threshold) {
  if (weights.rank() != 4 || weights.elements() == 0) {
    throw Error(Errc::kShape, fmt::format("weights are {}, expected (batch, heads, queries, keys)",
                                          shape_text(weights.shape())));
  }
  const Tensor floats = as_floats(weights, "the array of weights");
  const Index heads = weights.extent(1), queries = weights.extent(2), keys = weights.extent(3);
  return read({floats.as<float>().data(), weights.extent(0), heads, queries, keys, keys, 0,
               heads * queries * keys, queries * keys, keys},
              threshold, 1.000001F);
}

}  // namespace maskctl::attention
