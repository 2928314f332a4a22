// ejkernel's lazy block-sparse masks: classes, operators, indexing, equality.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::lazy {

/// A Python slice; null parts are None.
struct Slice {
  std::optional<Index> start, stop, step;
};
/// One index of mask[...]: a slice, an int, or a numpy index array (int32).
using Subscript = std::variant<Slice, Index, Tensor>;

class LazyMask;
using MaskPtr = std::shared_ptr<const LazyMask>;

/// The arguments that made a mask of each class, in members named as ejkernel's attributes.
namespace attributes {
struct CausalMask {
  Index offset = 0;
  friend bool operator==(const CausalMask&, const CausalMask&) = default;
};
struct LocalMask {
  std::pair<std::optional<Index>, std::optional<Index>> window_size;  // nullopt = no limit
  Index offset = 0;
  friend bool operator==(const LocalMask&, const LocalMask&) = default;
};
struct ChunkedCausalMask {
  Index chunk_size = 0;
  friend bool operator==(const ChunkedCausalMask&, const ChunkedCausalMask&) = default;
};
struct FullMask {};
struct NumpyMask {
  Tensor array;  // [Q,K] of bool, a copy
};
struct LogicalAnd {
  MaskPtr left, right;
};
struct LogicalOr {
  MaskPtr left, right;
};
struct MultiHeadMask {
  std::vector<MaskPtr> masks;
};
}  // namespace attributes

/// The alternative is the class of the mask.
using Attributes =
    std::variant<attributes::CausalMask, attributes::LocalMask, attributes::ChunkedCausalMask,
                 attributes::FullMask, attributes::NumpyMask, attributes::LogicalAnd,
                 attributes::LogicalOr, attributes::MultiHeadMask>;

/// ejkernel's Mask: [Q,K] (MultiHeadMask: [H,Q,K]), true = may attend, computed when indexed. All
/// functions throw PythonError with ejkernel's type and text. Source: ejkernel's
/// blocksparse_attention._masks; rules of indexing: recorded results.
class LazyMask {
 public:
  virtual ~LazyMask() = default;
  virtual std::vector<Index> shape() const = 0;
  virtual Attributes attributes() const = 0;
  /// mask[...] as a dense bool array.
  virtual Tensor at(std::span<const Subscript> index) const = 0;
  /// Python's ==: class, shape, parameters (NumpyMask: elements).
  virtual bool equals(const LazyMask& other) const = 0;
  /// Equal masks hash equally.
  virtual std::size_t hash() const = 0;
  /// The same relation as a Mask [1, H or 1, Q, K]; nothing of size Q x K is made.
  virtual Mask mask() const = 0;
  /// Causal, local and chunked masks: rules on indices. Kernels evaluate these instead of loading
  /// partial blocks.
  virtual bool is_computable() const { return false; }
  /// bool(mask): throws NotImplementedError.
  [[noreturn]] void to_bool() const;
};

/// i + offset >= j. shard_count^2 must divide Q.
MaskPtr causal_mask(std::vector<Index> shape, Index offset = 0, Index shard_count = 1);
/// -left <= j - (i + offset) <= right; nullopt = no limit. `offset` has no default in ejkernel.
MaskPtr local_mask(std::vector<Index> shape,
                   std::pair<std::optional<Index>, std::optional<Index>> window_size, Index offset,
                   Index shard_count = 1);
/// Same chunk and i >= j.
MaskPtr chunked_causal_mask(std::vector<Index> shape, Index chunk_size, Index shard_count = 1);
MaskPtr full_mask(std::vector<Index> shape);
/// [Q,K] bool.
MaskPtr numpy_mask(Tensor array);
/// Objects of the classes LogicalAnd and LogicalOr.
MaskPtr logical_and(MaskPtr left, MaskPtr right);
MaskPtr logical_or(MaskPtr left, MaskPtr right);
/// The operators & and |: the same, with a different text for shapes that differ.
MaskPtr operator&(const MaskPtr& left, const MaskPtr& right);
MaskPtr operator|(const MaskPtr& left, const MaskPtr& right);
MaskPtr multi_head_mask(std::vector<MaskPtr> masks);
/// The masks of the heads; any other mask counts as one head.
std::vector<MaskPtr> heads_of(const MaskPtr& mask);

/// Dense arrays [Q,K] of bool.
Tensor make_causal_mask(Index queries, Index keys, Index offset = 0);
Tensor make_local_attention_mask(Index queries, Index keys,
                                 std::pair<std::optional<Index>, std::optional<Index>> window_size,
                                 Index offset = 0);
Tensor make_chunk_attention_mask(Index queries, Index keys, Index chunk_size);
/// numpy.random.seed(seed); binomial(1, 1 - sparsity).
Tensor make_random_mask(Index queries, Index keys, double sparsity, std::int64_t seed);

}  // namespace maskctl::lazy
