#include "maskctl/verify/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/verify/key_side.h"
#include "maskctl/verify/probe_outputs.h"

namespace maskctl::attention {
namespace {

/// The largest logit of a key but the first: ln(1.5).
constexpr double kMostTilt = 0.405465108108164;

void check(const ProbeShape& shape, DType dtype) {
  const Index least =
      std::min({shape.batch, shape.queries, shape.keys, shape.heads, shape.kv_heads, shape.dim});
  if (least < 1) {
    refuse(fmt::format(
        "a probe needs 1 or more of each: batches {}, query heads {}, key heads {}, "
        "queries {}, keys {}, elements of a head {}",
        shape.batch, shape.heads, shape.kv_heads, shape.queries, shape.keys, shape.dim));
  }
  if (shape.heads % shape.kv_heads != 0) {
    refuse(
        fmt::format("{} query heads are no multiple of {} key heads", shape.heads, shape.kv_heads));
  }
  if (!is_floating(dtype)) {
    refuse(fmt::format("a probe is floating-point, not {}", name(dtype)));
  }
}

/// Sets element 0 of each vector of `dim` elements.
void fill_first(Tensor& tensor, Index dim, float value) {
  const auto all = tensor.as<float>();
  for (std::size_t i = 0; i < all.size(); i += as_size(dim)) all[i] = value;
}

/// A pseudo-random number in [0, 1) for a key and its head. Its pattern changes if keys or heads
/// are shifted.
double level_of(Index key, Index head) {
  std::uint64_t x = static_cast<std::uint64_t>(key) * 0x9E3779B97F4A7C15U +
                    static_cast<std::uint64_t>(head) * 0xD1B54A32D192ED03U;
  for (const int shift : {30, 27}) x = (x ^ (x >> shift)) * 0xBF58476D1CE4E5B9U;
  return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

/// The logit of a key under the usual scale.
double probe_logit(Index key, Index head) {
  if (key == 0) return std::numbers::ln2;
  // Key 1 is the least, so that the weights of a row that sees all keys are never equal.
  return key == 1 ? 0 : kMostTilt * level_of(key, head);
}

Tensor probe_keys(const ProbeShape& shape) {
  Tensor key(DType::kFloat32,
             arranged(shape.layout, shape.batch, shape.keys, shape.kv_heads, shape.dim));
  const double scale = std::sqrt(static_cast<double>(shape.dim));
  for (Index b = 0; b < shape.batch; ++b) {
    for (Index u = 0; u < shape.kv_heads; ++u) {
      for (Index j = 0; j < shape.keys; ++j) {
        const Index at = vector_at(shape.layout, b, j, u, shape.keys, shape.kv_heads);
        key.as<float>()[as_size(at * shape.dim)] = static_cast<float>(scale * probe_logit(j, u));
      }
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

enum class RowKind : std::uint8_t { kWeights, kAveraged, kNan };

/// Reads which keys of a row are open. A row counts as averaged if its largest weight is less than
/// `evenness` times its smallest.
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

/// Sums over the logarithms of those weights that are above 0.
struct LogMoments {
  double count = 0, sum = 0, squares = 0;

  void add(std::span<const float> weights) {
    for (const float w : weights) {
      if (!(w > 0)) continue;
      const double x = std::log(static_cast<double>(w));
      ++count;
      sum += x;
      squares += x * x;
    }
  }
  double mean() const { return sum / count; }
  /// The sum of the squared deviations from the mean.
  double scatter() const { return std::max(squares - sum * sum / count, 0.0); }
};

/// Finds weights of 0 that do not prove their cell closed, because they may have underflowed.
class Underflow {
 public:
  Underflow(const WeightView& view, DType precision, Index plane)
      : least_(std::max(std::log(least_number(precision) / 2), kLeastNormal)) {
    std::vector<float> weights(as_size(view.keys));
    double scatter = 0, freedom = 0;
    for (Index i = 0; i < view.queries; ++i) {
      view.row(plane / view.heads, plane % view.heads, i, weights);
      LogMoments row;
      row.add(weights);
      if (row.count < 2) continue;
      scatter += row.scatter();
      freedom += row.count - 1;
    }
    if (freedom > 0) spread_ = std::sqrt(scatter / freedom);
  }

  /// Whether a weight of 0 in this row may have underflowed. In a row of zeros none has: the
  /// weights of a row with an open key sum to 1.
  bool possible(std::span<const float> weights) const {
    LogMoments row;
    row.add(weights);
    if (row.count == 0) return false;
    const double own = row.count < kFew ? 0 : std::sqrt(row.scatter() / (row.count - 1));
    return row.mean() - kDeviations * std::max({own, spread_, kLeastSpread}) < least_;
  }

 private:
  static constexpr double kDeviations = 8, kFew = 8, kLeastSpread = 0.5;
  /// The logarithm of the least normal number of float32 and bfloat16.
  static constexpr double kLeastNormal = -126 * std::numbers::ln2;
  double least_, spread_ = 0;  // both are natural logarithms of weights
};

ProbeReading read(const WeightView& view, double threshold, float evenness,
                  const std::optional<DType>& precision, const Mask* declared) {
  if (!(threshold >= 0 && threshold < 1)) {
    refuse(fmt::format("threshold is {}, expected 0 up to less than 1", threshold));
  }
  Tensor dense(DType::kBool, {view.batch_extent, view.heads, view.queries, view.keys});
  Tensor untold(DType::kBool, dense.shape());
  std::vector<RowKind> kinds(as_size(view.batch_extent * view.heads * view.queries));
  parallel_for(view.batch_extent * view.heads, [&](Index plane) {
    const Index batch = plane / view.heads, head = plane % view.heads;
    std::optional<Underflow> underflow;
    if (precision) underflow.emplace(view, *precision, plane);
    std::vector<float> weights(as_size(view.keys));
    for (Index i = 0; i < view.queries; ++i) {
      view.row(batch, head, i, weights);
      const Index row = plane * view.queries + i;
      std::uint8_t* open = dense.as<std::uint8_t>().data() + row * view.keys;
      RowKind& kind = kinds[as_size(row)];
      kind = read_row(weights, threshold, evenness, open);
      if (kind == RowKind::kAveraged && declared &&
          declared->plane(batch, head)->count({i, i + 1}, {0, view.keys}) == view.keys) {
        kind = RowKind::kWeights;
        std::fill_n(open, view.keys, std::uint8_t{1});
      }
      if (kind != RowKind::kWeights || !underflow || !underflow->possible(weights)) continue;
      std::uint8_t* const out = untold.as<std::uint8_t>().data() + row * view.keys;
      for (std::size_t j = 0; j < weights.size(); ++j) out[j] = weights[j] == 0 ? 1 : 0;
    }
  });
  return {mask_from_dense(dense), mask_from_dense(untold),
          std::ranges::count(kinds, RowKind::kAveraged), std::ranges::count(kinds, RowKind::kNan)};
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
  const ProbeOutputs given(outputs, keys, layout);
  return read(given.weights(), threshold, 1.25F, {}, nullptr);
}

ProbeReading read_weights(const Tensor& weights, double threshold, const Mask* declared) {
  if (weights.rank() != 4 || weights.elements() == 0) {
    refuse_shape(fmt::format("weights are {}, expected (batch, heads, queries, keys)",
                             shape_text(weights.shape())));
  }
  const auto fits = [](Index extent, Index of) { return extent == 1 || extent == of; };
  const bool comparable = declared && declared->queries() == weights.extent(2) &&
                          declared->keys() == weights.extent(3) &&
                          fits(declared->batch(), weights.extent(0)) &&
                          fits(declared->heads(), weights.extent(1));
  if (declared && !comparable) {
    refuse_shape(fmt::format("weights are {}, the declared mask is {}", shape_text(weights.shape()),
                             shape_text(*declared)));
  }
  check_float("the array of weights", weights);
  const Tensor floats = astype(weights, DType::kFloat32);
  const Index heads = weights.extent(1), queries = weights.extent(2), keys = weights.extent(3);
  return read({floats.as<float>().data(), weights.extent(0), heads, queries, keys, keys, 0,
               heads * queries * keys, queries * keys, keys},
              threshold, 1.000001F, precision_of(weights), declared);
}

}  // namespace maskctl::attention
