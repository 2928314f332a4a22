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

/// A Python slice; nullopt is None.
struct Slice {
  std::optional<Index> start, stop, step;
};
/// An index in mask[...]: a slice, an int or a numpy index array (int32).
using Subscript = std::variant<Slice, Index, Tensor>;

class LazyMask;
using MaskPtr = std::shared_ptr<const LazyMask>;

/// The constructor arguments of each class of masks; members are named like ejkernel's attributes.
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

/// The constructor arguments of a mask. The alternative that the variant holds tells the class of
/// the mask.
using Attributes =
    std::variant<attributes::CausalMask, attributes::LocalMask, attributes::ChunkedCausalMask,
                 attributes::FullMask, attributes::NumpyMask, attributes::LogicalAnd,
                 attributes::LogicalOr, attributes::MultiHeadMask>;

/// ejkernel's class Mask: [Q,K], or [H,Q,K] for MultiHeadMask; true = may attend; elements are
/// computed when it is indexed. All functions throw PythonError with ejkernel's type and message.
/// Sources: ejkernel's blocksparse_attention._masks and, for the rules of indexing, recorded
/// results.
class LazyMask {
 public:
  virtual ~LazyMask() = default;
  virtual std::vector<Index> shape() const = 0;
  virtual Attributes attributes() const = 0;
  /// mask[...] as a dense bool array.
  virtual Tensor at(std::span<const Subscript> index) const = 0;
  /// Python's ==: compares class, shape and parameters (NumpyMask: elements).
  virtual bool equals(const LazyMask& other) const = 0;
  /// Equal masks hash equally.
  virtual std::size_t hash() const = 0;
  /// The same mask as a lazy Mask [1, H or 1, Q, K], without an array of size Q x K.
  virtual Mask mask() const = 0;
  /// Whether the mask is a rule on indices (causal, local, chunked). Kernels evaluate such a rule
  /// instead of loading partial blocks.
  virtual bool is_computable() const { return false; }
  /// bool(mask): always throws NotImplementedError.
  [[noreturn]] void to_bool() const;
};

/// Makes a mask [Q,K] in which query i sees key j if i + offset >= j. shard_count^2 must divide Q.
MaskPtr causal_mask(std::vector<Index> shape, Index offset = 0, Index shard_count = 1);
/// Makes a mask [Q,K] in which query i sees key j if -left <= j - (i + offset) <= right; nullopt:
/// no limit. In ejkernel, `offset` has no default.
MaskPtr local_mask(std::vector<Index> shape,
                   std::pair<std::optional<Index>, std::optional<Index>> window_size, Index offset,
                   Index shard_count = 1);
/// Makes a mask [Q,K] in which query i sees key j if both are in the same chunk and i >= j.
MaskPtr chunked_causal_mask(std::vector<Index> shape, Index chunk_size, Index shard_count = 1);
MaskPtr full_mask(std::vector<Index> shape);
/// Makes a mask of the elements of a bool array [Q,K].
MaskPtr numpy_mask(Tensor array);
/// Masks of the classes LogicalAnd and LogicalOr.
MaskPtr logical_and(MaskPtr left, MaskPtr right);
MaskPtr logical_or(MaskPtr left, MaskPtr right);
/// The operators & and |: like logical_and() and logical_or(), but with another message if shapes
/// differ.
MaskPtr operator&(const MaskPtr& left, const MaskPtr& right);
MaskPtr operator|(const MaskPtr& left, const MaskPtr& right);
MaskPtr multi_head_mask(std::vector<MaskPtr> masks);
/// The masks [Q,K] of each head of a mask [H,Q,K]; a mask [Q,K] counts as one head.
std::vector<MaskPtr> heads_of(const MaskPtr& mask);

/// Dense arrays [Q,K] of bool, by the rules of causal_mask() and local_mask().
Tensor make_causal_mask(Index queries, Index keys, Index offset = 0);
Tensor make_local_attention_mask(Index queries, Index keys,
                                 std::pair<std::optional<Index>, std::optional<Index>> window_size,
                                 Index offset = 0);
Tensor make_chunk_attention_mask(Index queries, Index keys, Index chunk_size);
/// Returns a random array [Q,K] of bool: numpy.random.seed(seed), then binomial(1, 1 - sparsity)
/// for each element.
Tensor make_random_mask(Index queries, Index keys, double sparsity, std::int64_t seed);

}  // namespace maskctl::lazy
