// An attention mask as an ejkernel array: lazy where possible, dense where necessary.
#pragma once

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// An array, or null for None. Shared, never copied.
using Array = std::shared_ptr<const Tensor>;
Array make_array(Tensor tensor);

/// An array of 0 and 1, or of other numbers, of any rank. Bool arrays of rank 2 to 4, and casts of
/// them, are lazy: they are a Mask whose last axes are those of the array, as in numpy's
/// broadcasting (so [B,Q,K] is a Mask [1,B,Q,K]). All other arrays store their elements.
class MaskArray {
 public:
  /// An array [B,H,Q,K] of 0 and 1.
  explicit MaskArray(Mask mask, DType dtype = DType::kBool)
      : MaskArray(std::move(mask), 4, dtype) {}
  /// An array of rank 2 to 4; the axes of `mask` that it lacks must have extent 1.
  MaskArray(Mask mask, Index rank, DType dtype);
  /// Lazy if the tensor is bool and of rank 2 to 4.
  explicit MaskArray(const Tensor& tensor);

  DType dtype() const { return dtype_; }
  const std::vector<Index>& shape() const { return shape_; }
  Index rank() const { return static_cast<Index>(shape_.size()); }
  bool lazy() const { return std::holds_alternative<Mask>(content_); }

  /// The cells where the array is nonzero, as [B,H,Q,K]; leading axes that the array lacks have
  /// extent 1. Fast if the array is lazy, else it reads the elements. Throws PythonError(TypeError)
  /// for ranks below 2 or above 4.
  Mask mask() const;
  /// The elements. Throws Error(kLimit) if a lazy array would take more than max_bytes.
  Tensor tensor(Index max_bytes = Index{4} << 30) const;
  /// numpy's astype. A lazy array stays lazy; a dense array that is cast to bool becomes lazy if
  /// its rank is 2 to 4.
  MaskArray astype(DType dtype) const;

 private:
  DType dtype_;
  std::vector<Index> shape_;
  std::variant<Mask, Array> content_;
};

/// Computes a op b on bools, with numpy's broadcasting over all axes. The result has the higher
/// rank, and is lazy if that is 2 to 4. Throws PythonError(TypeError) for shapes that do not match.
MaskArray combine(Op op, const MaskArray& a, const MaskArray& b);

}  // namespace maskctl
