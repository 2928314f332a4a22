// Arrays of any float type as f32.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>

#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

/// An array as f32: itself, or a converted copy; null where it is left out.
class Floats {
 public:
  explicit Floats(const std::optional<TensorView>& array);
  const float* data() const { return data_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  std::unique_ptr<Tensor> copy_;
  const float* data_ = nullptr;
};

/// An output as f32: itself, or an array that finish() rounds into it.
class FloatOutput {
 public:
  explicit FloatOutput(const MutableTensorView& output);
  FloatOutput(const FloatOutput&) = delete;
  FloatOutput& operator=(const FloatOutput&) = delete;

  /// All elements, not written yet.
  std::span<float> values() const { return floats_; }
  float* data() const { return floats_.data(); }
  void fill(float value) const { std::ranges::fill(floats_, value); }
  void finish() const;

 private:
  MutableTensorView output_;
  std::optional<Tensor> wide_;  // holds the values if the output has another dtype
  std::span<float> floats_;
};

}  // namespace maskctl::attention
