// The table of the element types of arrays: generic code reads its rows.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "maskctl/base/index.h"
#include "maskctl/tensor/dtype.h"
#include "maskctl/tensor/float_layout.h"

namespace maskctl {

enum class ElementKind : std::uint8_t { kBool, kSigned, kUnsigned, kFloat };

struct ElementType {
  DType dtype;
  std::string_view name;  // in numpy and ml_dtypes
  ElementKind kind;
  int bytes;
  /// The type's code in .npy, without the byte order. If it is empty, neither .npy nor HDF5 has the
  /// type.
  std::string_view npy;
  std::string_view safetensors;
  std::uint8_t dlpack;  // DLPack's type code; its number of bits is 8 * bytes
  FloatLayout layout = {};
};

inline constexpr auto kElementTypes = std::to_array<ElementType>({
    {DType::kBool, "bool", ElementKind::kBool, 1, "b1", "BOOL", 6},
    {DType::kInt8, "int8", ElementKind::kSigned, 1, "i1", "I8", 0},
    {DType::kInt16, "int16", ElementKind::kSigned, 2, "i2", "I16", 0},
    {DType::kInt32, "int32", ElementKind::kSigned, 4, "i4", "I32", 0},
    {DType::kInt64, "int64", ElementKind::kSigned, 8, "i8", "I64", 0},
    {DType::kUInt8, "uint8", ElementKind::kUnsigned, 1, "u1", "U8", 1},
    {DType::kUInt16, "uint16", ElementKind::kUnsigned, 2, "u2", "U16", 1},
    {DType::kUInt32, "uint32", ElementKind::kUnsigned, 4, "u4", "U32", 1},
    {DType::kUInt64, "uint64", ElementKind::kUnsigned, 8, "u8", "U64", 1},
    {DType::kFloat16, "float16", ElementKind::kFloat, 2, "f2", "F16", 2, {5, 10}},
    {DType::kBFloat16, "bfloat16", ElementKind::kFloat, 2, "V2", "BF16", 4, {8, 7}},
    {DType::kFloat32, "float32", ElementKind::kFloat, 4, "f4", "F32", 2, {8, 23}},
    {DType::kFloat64, "float64", ElementKind::kFloat, 8, "f8", "F64", 2, {11, 52}},
    {DType::kFloat8E4M3, "float8_e4m3fn", ElementKind::kFloat, 1, "", "F8_E4M3", 10, {4, 3, false}},
    {DType::kFloat8E5M2, "float8_e5m2", ElementKind::kFloat, 1, "", "F8_E5M2", 12, {5, 2}},
});

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < kElementTypes.size(); ++i) {
    const ElementType& row = kElementTypes[i];
    const bool fits = row.kind != ElementKind::kFloat || row.layout.bits() == 8 * row.bytes;
    if (static_cast<std::size_t>(row.dtype) != i || !fits) return false;
  }
  return true;
}
static_assert(rows_are_in_order(), "a row stands at its enumerator; a float fills its bytes");

constexpr const ElementType& element_type(DType dtype) {
  return kElementTypes[static_cast<std::size_t>(dtype)];
}

/// Calls f with a value of the unsigned integer type of this many bytes: 1, 2, 4 or 8.
template <typename F>
auto visit_unsigned(Index bytes, const F& f) {
  switch (bytes) {
    case 1:
      return f(std::uint8_t());
    case 2:
      return f(std::uint16_t());
    case 4:
      return f(std::uint32_t());
    default:
      return f(std::uint64_t());
  }
}

}  // namespace maskctl
