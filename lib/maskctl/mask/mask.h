// The lazy attention mask: one plane per batch and head, equal ones shared.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// A relation [batch, heads, queries, keys] -> bool, true = may attend. Immutable and cheap to
/// copy. heads == 1 means that all heads share the planes.
class Mask {
 public:
  Mask() = default;  // [0, 0, 0, 0]
  /// A mask of one plane: [1, 1, q, k].
  explicit Mask(PlanePtr plane) : Mask(1, 1, {std::move(plane)}, {0}) {}
  /// A mask where plane(b, h) is distinct[which[b * heads + h]]. All planes must have equal
  /// extents.
  Mask(Index batch, Index heads, std::vector<PlanePtr> distinct, std::vector<std::uint32_t> which);
  /// Calls plane(b, h) once for each batch and head. Planes returned more than once (equal
  /// pointers) are stored once.
  static Mask make(Index batch, Index heads, Index queries, Index keys,
                   const std::function<PlanePtr(Index b, Index h)>& plane);

  Index batch() const { return batch_; }
  Index heads() const { return heads_; }
  Index queries() const { return queries_; }
  Index keys() const { return keys_; }
  /// The plane of batch b and head h. If heads() == 1, h may be any number; if batch() == 1, so may
  /// b.
  const PlanePtr& plane(Index b, Index h) const;
  /// The distinct planes, for work that is done once per plane. index_of(b, h) is the index of the
  /// plane of (b, h) in this list.
  std::span<const PlanePtr> distinct() const { return distinct_; }
  std::uint32_t index_of(Index b, Index h) const;

  Index count() const;  // open cells over all batches and heads
  Index cells() const { return batch_ * heads_ * queries_ * keys_; }

  /// A mask of the same shape with f(plane) for each distinct plane; f is called once for each.
  Mask map(const std::function<PlanePtr(const PlanePtr&)>& f) const;
  /// map() for rules that differ between batches: calls f once for each pair of batch and distinct
  /// plane. If batch() == 1, the mask is repeated for `batch` batches first.
  Mask map_batch(Index batch, const std::function<PlanePtr(Index b, const PlanePtr&)>& f) const;

 private:
  Index batch_ = 0, heads_ = 0, queries_ = 0, keys_ = 0;
  std::vector<PlanePtr> distinct_;
  std::vector<std::uint32_t> which_;
};

/// Combines two masks cell by cell. Batches and heads broadcast as in numpy; queries and keys must
/// agree. Each distinct pair of planes is combined once. Throws Error(kShape) that names both
/// shapes.
Mask zip(Op op, const Mask& a, const Mask& b);
Mask complement(const Mask& mask);
Mask transposed(const Mask& mask);
/// The part of a mask in these ranges, which must be inside it. Indices count from 0 again.
Mask sliced(const Mask& mask, Range b, Range h, Range q, Range k);
/// The queries in these ranges, concatenated in this order; nothing is copied.
Mask rows_of(const Mask& mask, std::span<const Range> ranges);
/// Combines the heads into one: kOr is open if any head is open, kAnd if all heads are.
Mask reduce_heads(Op op, const Mask& mask);

/// A mask with every cell open.
Mask full_mask(Index batch, Index heads, Index queries, Index keys);
/// full_mask() with the shape of another mask.
Mask full_like(const Mask& mask);

/// True when both have the same batch, heads, queries and keys.
bool same_shape(const Mask& a, const Mask& b);

/// The number of cells that differ; batches and heads broadcast. Planes are not read cell by cell
/// if their combination has a closed form. Throws Error(kShape) for shapes that do not broadcast.
Index differing_cells(const Mask& a, const Mask& b);

/// The shape as every message writes it: "[B 1, H 1, Q 4, K 4]".
std::string shape_text(const Mask& mask);

}  // namespace maskctl
