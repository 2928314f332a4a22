// Access to arrays of any float dtype as f32.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>

#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

/// Reads an array as f32: without a copy if it is f32, else from a converted copy. data() is null
/// if there is no array.
class Floats {
 public:
  explicit Floats(const std::optional<TensorView>& array);
  const float* data() const { return data_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  std::unique_ptr<Tensor> copy_;
  const float* data_ = nullptr;
};

/// Writes an array as f32: directly if it is f32, else into a buffer that finish() converts.
class FloatOutput {
 public:
  explicit FloatOutput(const MutableTensorView& output);
  FloatOutput(const FloatOutput&) = delete;
  FloatOutput& operator=(const FloatOutput&) = delete;

  /// All elements; uninitialized at first.
  std::span<float> values() const { return floats_; }
  float* data() const { return floats_.data(); }
  void fill(float value) const { std::ranges::fill(floats_, value); }
  void finish() const;

 private:
  MutableTensorView output_;
  std::optional<Tensor> wide_;  // the buffer, if the output is not f32
  std::span<float> floats_;
};

}  // namespace maskctl::attention
