// Element types of arrays.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "maskctl/base/index.h"

namespace maskctl {

enum class DType : std::uint8_t {
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kFloat8E4M3,  // without infinities, as in PyTorch: 448 is the largest
  kFloat8E5M2,
};

Index size_bytes(DType dtype);
/// The name in numpy or ml_dtypes: "bool", "int32", "bfloat16", ...
std::string_view name(DType dtype);
/// The dtype of this name; nothing for an unknown name.
std::optional<DType> dtype_from_name(std::string_view name);
bool is_integer(DType dtype);  // signed or unsigned, not bool
bool is_floating(DType dtype);

double epsilon(DType dtype);  // from 1 to the next number: 2^-10 for float16; 0 if not floating
// For floating types only:
double largest_number(DType dtype);  // the largest finite one: 65504 for float16
double least_number(DType dtype);    // the smallest above 0, subnormal: 2^-24 for float16

}  // namespace maskctl
