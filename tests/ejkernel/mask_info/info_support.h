// For tests of MaskInfo: arrays with given values, and masks compared cell by cell with a rule.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "maskctl/ejkernel/mask_info/mask_info.h"
#include "maskctl/ejkernel/mask_info/python_error.h"
#include "support/catch_compat.h"
#include "support/tensors.h"

namespace maskctl::info_test {

using test::i32;

/// Makes an int32 array [1,S] of the values.
inline Tensor row(const std::vector<std::int32_t>& values) {
  return i32({1, static_cast<Index>(values.size())}, values);
}
inline Tensor list(const std::vector<std::int32_t>& values) {
  return i32({static_cast<Index>(values.size())}, values);
}
inline Array list_array(const std::vector<std::int32_t>& values) {
  return make_array(list(values));
}
inline Array row_array(const std::vector<std::int32_t>& values) { return make_array(row(values)); }

inline Tensor bools(std::vector<Index> shape, const std::vector<int>& values) {
  Tensor out(DType::kBool, std::move(shape));
  REQUIRE(out.elements() == static_cast<Index>(values.size()));
  std::ranges::transform(values, out.as<std::uint8_t>().begin(),
                         [](int v) { return static_cast<std::uint8_t>(v != 0); });
  return out;
}

inline std::vector<std::int32_t> values(const Tensor& tensor) {
  REQUIRE(tensor.dtype() == DType::kInt32);
  const auto all = tensor.as<std::int32_t>();
  return {all.begin(), all.end()};
}
inline std::vector<std::int32_t> values(const Array& array) {
  REQUIRE(array);
  return values(*array);
}

using Shape = std::vector<Index>;
using Values = std::vector<std::int32_t>;

/// Checks that a bool mask has this shape, and that a cell is open where rule(b, h, q, k) is true.
template <typename Rule>
void check_cells(const MaskArray& mask, const Shape& shape, Rule rule) {
  REQUIRE(mask.dtype() == DType::kBool);
  REQUIRE(mask.shape() == shape);
  const Tensor cells = mask.tensor();
  std::size_t at = 0, wrong = 0;
  for (Index b = 0; b < shape[0]; ++b) {
    for (Index h = 0; h < shape[1]; ++h) {
      for (Index q = 0; q < shape[2]; ++q) {
        for (Index k = 0; k < shape[3]; ++k) {
          const bool open = cells.as<std::uint8_t>()[at++] != 0;
          if (open != static_cast<bool>(rule(b, h, q, k)) && ++wrong == 1) {
            FAIL_CHECK("cell " << b << ' ' << h << ' ' << q << ' ' << k << " is " << open);
          }
        }
      }
    }
  }
  CHECK(wrong == 0);
}

/// Returns the PythonError that a call throws as "ValueError: text", or "nothing".
template <typename F>
std::string python_error_of(F&& f) {
  try {
    f();
  } catch (const PythonError& error) {
    return std::string(name(error.type())) + ": " + error.what();
  }
  return "nothing";
}

}  // namespace maskctl::info_test
