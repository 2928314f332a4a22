#include "maskctl/attention/arrays/floats.h"

#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

Tensor unwritten_floats(std::span<const Index> shape) {
  return Tensor::unwritten(DType::kFloat32, {shape.begin(), shape.end()});
}

}  // namespace

Floats::Floats(const std::optional<TensorView>& array) {
  if (!array) return;
  if (array->dtype() == DType::kFloat32) {
    data_ = array->as<float>().data();
    return;
  }
  copy_ = std::make_unique<Tensor>(unwritten_floats(array->shape()));
  convert(*array, *copy_);
  data_ = copy_->as<float>().data();
}

FloatOutput::FloatOutput(const MutableTensorView& output) : output_(output) {
  if (output.dtype() != DType::kFloat32) wide_ = unwritten_floats(output.shape());
  floats_ = wide_ ? wide_->as<float>() : output.as<float>();
}

void FloatOutput::finish() const {
  if (wide_) convert(*wide_, output_);
}

}  // namespace maskctl::attention
