#include "maskctl/tensor/dtype.h"

#include <algorithm>
#include <cmath>

#include "maskctl/tensor/element_types.h"

namespace maskctl {

Index size_bytes(DType dtype) { return element_type(dtype).bytes; }

std::string_view name(DType dtype) { return element_type(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  const auto row = std::ranges::find(kElementTypes, name, &ElementType::name);
  if (row == kElementTypes.end()) return std::nullopt;
  return row->dtype;
}

bool is_integer(DType dtype) {
  const ElementKind kind = element_type(dtype).kind;
  return kind == ElementKind::kSigned || kind == ElementKind::kUnsigned;
}

bool is_floating(DType dtype) { return element_type(dtype).kind == ElementKind::kFloat; }

double epsilon(DType dtype) {
  return is_floating(dtype) ? std::ldexp(1, -element_type(dtype).layout.mantissa) : 0;
}

double largest_number(DType dtype) {
  const FloatLayout& layout = element_type(dtype).layout;
  const std::uint64_t bits = layout.largest(), hidden = std::uint64_t{1} << layout.mantissa;
  const auto significand = static_cast<double>(hidden | (bits & (hidden - 1)));
  const int exponent = static_cast<int>(bits >> layout.mantissa) - layout.bias();
  return std::ldexp(significand, exponent - layout.mantissa);
}

double least_number(DType dtype) {
  const FloatLayout& layout = element_type(dtype).layout;
  return std::ldexp(1, 1 - layout.bias() - layout.mantissa);
}

}  // namespace maskctl
