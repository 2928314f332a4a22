// Lists of element types for tests that go through all of them.
#pragma once

#include <vector>

#include "maskctl/tensor/element_types.h"

namespace maskctl::test {

inline std::vector<DType> all_dtypes() {
  std::vector<DType> out;
  for (const ElementType& type : kElementTypes) out.push_back(type.dtype);
  return out;
}

/// The element types that an .npy file can hold.
inline std::vector<DType> npy_dtypes() {
  std::vector<DType> out = all_dtypes();
  std::erase_if(out, [](DType dtype) { return element_type(dtype).npy.empty(); });
  return out;
}

/// The element types that numpy has without ml_dtypes.
inline std::vector<DType> numpy_dtypes() {
  std::vector<DType> out = npy_dtypes();
  std::erase(out, DType::kBFloat16);
  return out;
}

}  // namespace maskctl::test
