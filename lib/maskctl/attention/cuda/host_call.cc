#include "maskctl/attention/cuda/host_call.h"

#include "maskctl/attention/cuda/gpus.h"
#include "maskctl/attention/cuda/staging.h"
#include "maskctl/base/error.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention::cuda {
namespace {

bool is_there(MemoryPlace place) { return place.space == MemorySpace::kDevice; }

DType device_dtype(DType dtype) { return dtype == DType::kFloat64 ? DType::kFloat32 : dtype; }

std::span<std::byte> bytes_of(const MutableTensorView& array) {
  return {array.data(), as_size(array.elements() * size_bytes(array.dtype()))};
}

}  // namespace

MutableTensorView HostCall::room_for(const TensorView& array, DType dtype) {
  buffers_.emplace_back(as_size(array.elements() * size_bytes(dtype)), stream());
  return {buffers_.back().data(), dtype, array.shape(), {MemorySpace::kDevice, gpu_in_use()}};
}

TensorView HostCall::to_device(const TensorView& array) {
  if (is_there(array.place())) return array;
  TensorView host = array;
  if (array.dtype() == DType::kFloat64) {
    converted_.push_back(
        Tensor::unwritten(DType::kFloat32, {array.shape().begin(), array.shape().end()}));
    convert(array, converted_.back());
    host = converted_.back();
  }
  const MutableTensorView device = room_for(host, host.dtype());
  stage_to_device(device.data(), {host.data(), bytes_of(device).size()}, stream());
  return device;
}

MutableTensorView HostCall::to_device(const MutableTensorView& result, bool holds_values) {
  if (is_there(result.place())) return result;
  const MutableTensorView device = room_for(result, device_dtype(result.dtype()));
  if (holds_values) stage_to_device(device.data(), bytes_of(result), stream());
  results_.push_back({result, device});
  return device;
}

void HostCall::finish() {
  std::vector<Tensor> narrow;
  narrow.reserve(results_.size());
  for (const auto& [host, device] : results_) {
    MutableTensorView to = host;
    if (host.dtype() != device.dtype()) {
      narrow.push_back(
          Tensor::unwritten(device.dtype(), {host.shape().begin(), host.shape().end()}));
      to = narrow.back();
    }
    stage_to_host(bytes_of(to), device.data(), stream());
  }
  stream_.synchronize();
  auto from = narrow.begin();
  for (const auto& [host, device] : results_) {
    if (host.dtype() != device.dtype()) convert(*from++, host);
  }
}

}  // namespace maskctl::attention::cuda
