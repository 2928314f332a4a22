// The element types that tests go through, from the table of all.
#pragma once

#include <vector>

#include "maskctl/tensor/element_types.h"

namespace maskctl::test {

inline std::vector<DType> all_dtypes() {
  std::vector<DType> out;
  for (const ElementType& type : kElementTypes) out.push_back(type.dtype);
  return out;
}

/// Those that an .npy can hold.
inline std::vector<DType> npy_dtypes() {
  std::vector<DType> out = all_dtypes();
  std::erase_if(out, [](DType dtype) { return element_type(dtype).npy.empty(); });
  return out;
}

/// Those that numpy has itself.
inline std::vector<DType> numpy_dtypes() {
  std::vector<DType> out = npy_dtypes();
  std::erase(out, DType::kBFloat16);
  return out;
}

}  // namespace maskctl::test
