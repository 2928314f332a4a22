// Masks that are defined by a rule on indices, and dense arrays of the same rules.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "maskctl/base/checked.h"
#include "maskctl/base/mt19937.h"
#include "maskctl/ejkernel/lazy/lazy_mask.h"
#include "maskctl/ejkernel/lazy/lazy_shape.h"
#include "maskctl/ejkernel/lazy/subscript.h"
#include "maskctl/ejkernel/mask_info/python_error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::lazy {
namespace {

using WindowSize = std::pair<std::optional<Index>, std::optional<Index>>;

/// Clamps a value to a range that exceeds every extent, but allows sums of a few values without
/// overflow.
Index bounded(Index value) { return std::clamp(value, -kUnbounded, kUnbounded); }

// Rules that open a single range of keys per query.

struct CausalRule : attributes::CausalMask {
  static constexpr std::size_t kTag = 1;
  Range keys(Index q) const { return {-kUnbounded, q + bounded(offset) + 1}; }
  Mask mask(Index queries, Index keys) const {
    return Mask(diagonal_band(queries, keys, -kUnbounded, bounded(offset)));
  }
  std::size_t hash() const { return hash_of(kTag, offset); }
};

struct LocalRule : attributes::LocalMask {
  static constexpr std::size_t kTag = 2;
  Index low() const {
    return window_size.first ? bounded(offset) - bounded(*window_size.first) : -4 * kUnbounded;
  }
  Index high() const {
    return window_size.second ? bounded(offset) + bounded(*window_size.second) : 4 * kUnbounded;
  }
  Range keys(Index q) const { return {q + low(), q + high() + 1}; }
  Mask mask(Index queries, Index keys) const {
    return Mask(diagonal_band(queries, keys, low(), high()));
  }
  std::size_t hash() const { return hash_of(kTag, window_size.first, window_size.second, offset); }
};

struct ChunkedCausalRule : attributes::ChunkedCausalMask {
  static constexpr std::size_t kTag = 3;
  Range keys(Index q) const { return {q / chunk_size * chunk_size, q + 1}; }
  Mask mask(Index queries, Index keys) const {
    return apply(Mask(diagonal_band(queries, keys, -kUnbounded, 0)), Step{step::Chunk{chunk_size}});
  }
  std::size_t hash() const { return hash_of(kTag, chunk_size); }
};

/// Evaluates the rule for the queries `q` and keys `k`.
template <typename Rule>
Tensor block(const Rule& rule, Range q, Range k) {
  Tensor out(DType::kBool, {q.size(), k.size()});
  auto* row = out.as<std::uint8_t>().data();
  for (Index i = q.begin; i < q.end; ++i, row += k.size()) {
    const Range open = intersect(rule.keys(i), k);
    if (!open.empty())
      std::memset(row + open.begin - k.begin, 1, static_cast<std::size_t>(open.size()));
  }
  return out;
}

void check_shards(std::span<const Index> shape, Index shard_count) {
  const auto squared = checked_mul(shard_count, shard_count);
  if (!squared || *squared == 0) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("shard count {}: expected at least 1", shard_count));
  }
  if (shape[0] % *squared != 0) {
    throw PythonError(PythonType::kValueError,
                      fmt::format("Shard count squared ({}) must divide Q seq_len ({}) evenly.",
                                  *squared, shape[0]));
  }
}

template <typename Rule>
class ComputedMask final : public LazyMask {
 public:
  ComputedMask(std::vector<Index> shape, Rule rule, Index shard_count)
      : shape_(std::move(shape)), rule_(std::move(rule)) {
    check_matrix_shape(shape_);
    check_shards(shape_, shard_count);
  }
  std::vector<Index> shape() const override { return shape_; }
  Attributes attributes() const override { return rule_; }
  Tensor at(std::span<const Subscript> index) const override {
    const Window w = filled_slices(index, shape_);
    const Positions rows = resolve(Slice{w.q_start, w.q_stop, {}}, shape_[0]);
    return block(rule_, {rows.start, rows.start + rows.count}, {w.k_start, w.k_stop});
  }
  bool equals(const LazyMask& other) const override {
    const auto* same = dynamic_cast<const ComputedMask*>(&other);
    return same && same->shape_ == shape_ && same->rule_ == rule_;
  }
  std::size_t hash() const override { return hash_of_shape(rule_.hash(), shape_); }
  Mask mask() const override { return rule_.mask(shape_[0], shape_[1]); }
  bool is_computable() const override { return true; }

 private:
  std::vector<Index> shape_;
  Rule rule_;
};

class FullMask final : public LazyMask {
 public:
  explicit FullMask(std::vector<Index> shape) : shape_(std::move(shape)) {
    check_matrix_shape(shape_);
  }
  std::vector<Index> shape() const override { return shape_; }
  Attributes attributes() const override { return attributes::FullMask(); }
  Tensor at(std::span<const Subscript> index) const override {
    const Window w = filled_slices(index, shape_);
    if (w.q_stop < w.q_start || w.k_stop < w.k_start) {
      throw PythonError(PythonType::kValueError, "negative dimensions are not allowed");
    }
    Tensor out(DType::kBool, {w.q_stop - w.q_start, w.k_stop - w.k_start});
    std::fill(out.bytes().begin(), out.bytes().end(), std::byte{1});
    return out;
  }
  bool equals(const LazyMask& other) const override {
    const auto* same = dynamic_cast<const FullMask*>(&other);
    return same && same->shape_ == shape_;
  }
  std::size_t hash() const override { return hash_of_shape(4, shape_); }
  Mask mask() const override { return Mask(full_plane(shape_[0], shape_[1])); }

 private:
  std::vector<Index> shape_;
};

void check_chunk_size(Index chunk_size) {
  if (chunk_size <= 0) {
    throw PythonError(PythonType::kValueError, "chunk_size must be positive");
  }
}

template <typename Rule>
Tensor dense(const Rule& rule, Index queries, Index keys) {
  check_matrix_shape(std::vector<Index>{queries, keys});
  return block(rule, {0, queries}, {0, keys});
}

}  // namespace

MaskPtr causal_mask(std::vector<Index> shape, Index offset, Index shard_count) {
  return std::make_shared<ComputedMask<CausalRule>>(std::move(shape), CausalRule{{offset}},
                                                    shard_count);
}

MaskPtr local_mask(std::vector<Index> shape, WindowSize window_size, Index offset,
                   Index shard_count) {
  return std::make_shared<ComputedMask<LocalRule>>(std::move(shape),
                                                   LocalRule{{window_size, offset}}, shard_count);
}

MaskPtr chunked_causal_mask(std::vector<Index> shape, Index chunk_size, Index shard_count) {
  check_chunk_size(chunk_size);
  return std::make_shared<ComputedMask<ChunkedCausalRule>>(
      std::move(shape), ChunkedCausalRule{{chunk_size}}, shard_count);
}

MaskPtr full_mask(std::vector<Index> shape) { return std::make_shared<FullMask>(std::move(shape)); }

Tensor make_causal_mask(Index queries, Index keys, Index offset) {
  return dense(CausalRule{{offset}}, queries, keys);
}

Tensor make_local_attention_mask(Index queries, Index keys, WindowSize window_size, Index offset) {
  return dense(LocalRule{{window_size, offset}}, queries, keys);
}

Tensor make_chunk_attention_mask(Index queries, Index keys, Index chunk_size) {
  check_chunk_size(chunk_size);
  return dense(ChunkedCausalRule{{chunk_size}}, queries, keys);
}

Tensor make_random_mask(Index queries, Index keys, double sparsity, std::int64_t seed) {
  if (seed < 0 || seed > 0xffffffff) {
    throw PythonError(PythonType::kValueError, "Seed must be between 0 and 2**32 - 1");
  }
  const double p = 1.0 - sparsity;
  if (!(p >= 0.0 && p <= 1.0)) {
    throw PythonError(PythonType::kValueError, "p < 0, p > 1 or p is NaN");
  }
  check_matrix_shape(std::vector<Index>{queries, keys});
  Tensor out(DType::kBool, {queries, keys});
  NumpyRandomState(seed).bernoulli(p, out.as<std::uint8_t>());
  return out;
}

}  // namespace maskctl::lazy
