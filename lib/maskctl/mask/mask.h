// The lazy attention mask: one plane per batch and head, equal ones shared.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// The relation [batch, heads, queries, keys] -> bool, true = may attend. An immutable value that
/// is cheap to copy. heads == 1 means shared by all heads.
class Mask {
 public:
  Mask() = default;  // [0, 0, 0, 0]
  /// One plane: [1, 1, q, k].
  explicit Mask(PlanePtr plane) : Mask(1, 1, {std::move(plane)}, {0}) {}
  /// plane(b, h) = distinct[which[b * heads + h]]; all planes have equal extents.
  Mask(Index batch, Index heads, std::vector<PlanePtr> distinct, std::vector<std::uint32_t> which);
  /// Calls plane(b, h) once for each batch and head; equal pointers share one plane.
  static Mask make(Index batch, Index heads, Index queries, Index keys,
                   const std::function<PlanePtr(Index b, Index h)>& plane);

  Index batch() const { return batch_; }
  Index heads() const { return heads_; }
  Index queries() const { return queries_; }
  Index keys() const { return keys_; }
  /// Any h is allowed when heads() == 1, any b when batch() == 1.
  const PlanePtr& plane(Index b, Index h) const;
  /// The distinct planes; work once per entry. index_of(b, h) says which one belongs to (b, h).
  std::span<const PlanePtr> distinct() const { return distinct_; }
  std::uint32_t index_of(Index b, Index h) const;

  Index count() const;  // open cells over all batches and heads
  Index cells() const { return batch_ * heads_ * queries_ * keys_; }

  /// Applies f to each distinct plane, once.
  Mask map(const std::function<PlanePtr(const PlanePtr&)>& f) const;
  /// Applies f to each pair of batch and distinct plane once, for rules that differ between
  /// batches. The result has `batch` entries when batch() == 1.
  Mask map_batch(Index batch, const std::function<PlanePtr(Index b, const PlanePtr&)>& f) const;

 private:
  Index batch_ = 0, heads_ = 0, queries_ = 0, keys_ = 0;
  std::vector<PlanePtr> distinct_;
  std::vector<std::uint32_t> which_;
};

/// Numpy broadcasting over batch and heads; queries and keys must agree. Combines each distinct
/// pair of planes once. Throws Error(kShape) with both shapes.
Mask zip(Op op, const Mask& a, const Mask& b);
Mask complement(const Mask& mask);
Mask transposed(const Mask& mask);
/// Cuts ranges inside the mask; indices are re-based to 0.
Mask sliced(const Mask& mask, Range b, Range h, Range q, Range k);
/// The queries of these ranges, one below the other; nothing is copied.
Mask rows_of(const Mask& mask, std::span<const Range> ranges);
/// kOr: open if open for any head; kAnd: open if open for all heads. The result has one head.
Mask reduce_heads(Op op, const Mask& mask);

/// Every cell open.
Mask full_mask(Index batch, Index heads, Index queries, Index keys);
/// full_mask() in the shape of another mask.
Mask full_like(const Mask& mask);

/// True when batches, heads, queries and keys agree.
bool same_shape(const Mask& a, const Mask& b);

/// How many cells differ; batches and heads broadcast. Planes that a closed form can combine cost
/// no more than that. Throws Error(kShape) for shapes that do not broadcast.
Index differing_cells(const Mask& a, const Mask& b);

/// "[B 1, H 1, Q 4, K 4]": how every message names a shape.
std::string shape_text(const Mask& mask);

}  // namespace maskctl
