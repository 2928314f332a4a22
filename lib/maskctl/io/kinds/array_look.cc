#include "maskctl/io/kinds/array_look.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "maskctl/base/checked.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

std::vector<double> numbers(DType dtype, std::span<const std::byte> elements) {
  Tensor part(dtype, {std::ssize(elements) / size_bytes(dtype)});
  std::ranges::copy(elements, part.bytes().begin());
  const Tensor wide = astype(part, DType::kFloat64);
  const auto values = wide.as<double>();
  return {values.begin(), values.end()};
}

/// How far the sum of a row of attention weights, rounded to `dtype`, may be from 1.
double rounding(DType dtype) { return std::max(4 * epsilon(dtype), 0x1p-13); }

bool rows_sum_to_one(std::span<const double> values, Index first, Index row, double off) {
  if (row < 1) return false;
  Index ones = 0;
  for (Index at = (row - first % row) % row; at + row <= std::ssize(values); at += row) {
    double sum = 0;
    for (Index i = at; i < at + row; ++i) sum += values[as_size(i)];
    if (std::abs(sum - 1) <= off) {
      ++ones;
    } else if (sum != 0) {
      return false;
    }
  }
  return ones > 0;
}

}  // namespace

ArrayLook look_of(DType dtype, std::span<const std::byte> elements, Index first, Index row) {
  if (dtype == DType::kBool || elements.empty()) return ArrayLook::kOther;
  const std::vector<double> values = numbers(dtype, elements);
  const auto all = [&](const auto& holds) { return std::ranges::all_of(values, holds); };
  if (all([](double x) { return x == 0 || x == 255; })) {
    const bool image = std::ranges::find(values, 255) != values.end();
    return image ? ArrayLook::kImage : ArrayLook::kOther;
  }
  if (is_integer(dtype)) {
    const bool ignored = std::ranges::find(values, -100) != values.end();
    const bool labels = ignored && all([](double x) { return x >= 0 || x == -100; });
    return labels ? ArrayLook::kLabels : ArrayLook::kOther;
  }
  if (!all([](double x) { return x >= 0 && x <= 1; })) return ArrayLook::kOther;
  return rows_sum_to_one(values, first, row, rounding(dtype)) ? ArrayLook::kWeights
                                                              : ArrayLook::kOther;
}

std::string_view words(ArrayLook look) {
  switch (look) {
    case ArrayLook::kImage:
      return "0 and 255 are the 0 and 1 of an image: save array != 0";
    case ArrayLook::kLabels:
      return "labels, of which -100 counts for no loss: they do not say what attends; tokens with "
             "a label are array != -100";
    case ArrayLook::kWeights:
      return "rows that sum to 1 are attention weights, not a bias: save array > 0, the cells that "
             "took part";
    case ArrayLook::kOther:
      break;
  }
  return "";
}

}  // namespace maskctl
