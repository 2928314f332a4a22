// An attention mask as an array of ejkernel: lazy where possible, dense where necessary.
#pragma once

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// An array that may be None (null) and is never copied.
using Array = std::shared_ptr<const Tensor>;
Array make_array(Tensor tensor);

/// An array of 0 and 1, or of other numbers, of any rank. Bool arrays of rank 2 to 4, and casts of
/// these, are lazy: a Mask whose axes line up with the last axes of the array, as in numpy's
/// broadcasting ([B,Q,K] is a Mask [1,B,Q,K]). All others store their elements.
class MaskArray {
 public:
  /// [B,H,Q,K] of 0 and 1.
  explicit MaskArray(Mask mask, DType dtype = DType::kBool)
      : MaskArray(std::move(mask), 4, dtype) {}
  /// rank is 2 to 4; leading axes that the array lacks must be 1 in `mask`.
  MaskArray(Mask mask, Index rank, DType dtype);
  /// A bool tensor of rank 2 to 4 becomes lazy.
  explicit MaskArray(const Tensor& tensor);

  DType dtype() const { return dtype_; }
  const std::vector<Index>& shape() const { return shape_; }
  Index rank() const { return static_cast<Index>(shape_.size()); }
  bool lazy() const { return std::holds_alternative<Mask>(content_); }

  /// The cells where the array is nonzero, with axes lined up as above. Cheap when lazy, else reads
  /// the elements. Throws PythonError(TypeError) for ranks below 2 and above 4.
  Mask mask() const;
  /// The elements. Throws Error(kLimit) when a lazy one takes more than max_bytes.
  Tensor tensor(Index max_bytes = Index{4} << 30) const;
  /// numpy's astype. A lazy array stays lazy, and casting a dense array to bool makes it lazy if
  /// its rank allows.
  MaskArray astype(DType dtype) const;

 private:
  DType dtype_;
  std::vector<Index> shape_;
  std::variant<Mask, Array> content_;
};

/// a op b as bools with numpy's broadcasting over all axes. The result has the higher rank and is
/// lazy unless that is above 4. Throws PythonError(TypeError) for shapes that do not match.
MaskArray combine(Op op, const MaskArray& a, const MaskArray& b);

}  // namespace maskctl
