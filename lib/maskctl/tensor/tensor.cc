// Sizes and shapes of arrays.
#include "maskctl/tensor/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/text.h"

namespace maskctl {
namespace {

Index checked_elements(std::span<const Index> shape) {
  for (Index extent : shape) {
    if (extent < 0) throw Error(Errc::kShape, "negative extent in shape " + shape_text(shape));
  }
  const auto elements = checked_product(shape);
  if (!elements) throw Error(Errc::kShape, "shape " + shape_text(shape) + " is too large");
  return *elements;
}

}  // namespace

Tensor::Tensor(DType dtype, std::vector<Index> shape, Unwritten)
    : dtype_(dtype), shape_(std::move(shape)), elements_(checked_elements(shape_)) {
  const auto bytes = checked_mul(elements_, size_bytes(dtype_));
  if (!bytes) throw Error(Errc::kShape, "shape " + shape_text(shape_) + " is too large");
  data_.resize(static_cast<std::size_t>(*bytes));
}

Tensor::Tensor(const Tensor&) = default;
Tensor::Tensor(Tensor&&) noexcept = default;
Tensor& Tensor::operator=(const Tensor&) = default;
Tensor& Tensor::operator=(Tensor&&) noexcept = default;
Tensor::~Tensor() = default;

Tensor::Tensor(DType dtype, std::vector<Index> shape)
    : Tensor(dtype, std::move(shape), Unwritten{}) {
  std::ranges::fill(data_, std::byte{0});
}

Tensor Tensor::unwritten(DType dtype, std::vector<Index> shape) {
  return {dtype, std::move(shape), Unwritten{}};
}

void Tensor::reshape(std::vector<Index> shape) {
  if (checked_elements(shape) != elements_) {
    throw Error(Errc::kShape, fmt::format("cannot reshape {} to {}: {} elements",
                                          shape_text(shape_), shape_text(shape), elements_));
  }
  shape_ = std::move(shape);
}

bool same_elements(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::ranges::equal(a.bytes(), b.bytes());
}

std::string shape_text(std::span<const Index> shape) {
  return fmt::format("({}{})", joined(shape, ", "), shape.size() == 1 ? "," : "");
}

}  // namespace maskctl
