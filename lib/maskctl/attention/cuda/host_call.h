// Runs a GPU kernel for a call whose arrays are on the host: copies the arrays to the GPU, runs the
// kernel, and copies the results back.
#pragma once

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "maskctl/attention/cuda/arrays.h"
#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/problems/context.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention::cuda {

/// The arrays of one call, on the GPU as long as the object lives.
class HostCall {
 public:
  Workspace& workspace() { return workspace_; }
  Stream stream() const { return stream_.get(); }

  /// Returns a copy of the array on the GPU, in which float64 has become float32. An array that is
  /// already on the GPU must be complete, and is used in place.
  TensorView to_device(const TensorView& array);
  /// Returns memory on the GPU for a result, which finish() copies to the host. `holds_values`: the
  /// kernel reads the result's old elements, so they are copied to the GPU first.
  MutableTensorView to_device(const MutableTensorView& result, bool holds_values = false);
  /// Copies the results to the host arrays they belong to, and waits for all work.
  void finish();

 private:
  struct Result {
    MutableTensorView host, device;
  };
  MutableTensorView room_for(const TensorView& array, DType dtype);

  /// declared first, so destroyed last: the buffers below are freed in this stream
  OwnStream stream_;
  Workspace workspace_{stream_.get()};
  std::vector<DeviceBuffer> buffers_;
  std::vector<Tensor> converted_;  // float32 copies of float64 arrays, until they are on the GPU
  std::vector<Result> results_;
};

/// Replaces each array of a problem, or of its inputs or results, by an array on the GPU.
template <class Arrays>
Arrays to_device(HostCall& host_call, Arrays arrays) {
  each_array(arrays, [&host_call](auto& array) {
    if constexpr (requires { array.has_value(); }) {
      if (array) array = host_call.to_device(*array);
    } else {
      array = host_call.to_device(array);
    }
  });
  return arrays;
}

/// Wraps `kernel`, which takes arrays on the GPU, as an entry of the table `Kernels`, whose
/// functions take arrays on the host. Plan: the class of what the kernel needs on the GPU besides
/// the arrays.
template <auto kernel>
struct FromHost;
template <class Problem, class Plan, class... Arrays,
          void (*kernel)(Workspace&, const Problem&, const Plan&, const Arrays&...)>
struct FromHost<kernel> {
  static void run(const Problem& problem, const Arrays&... arrays, const Context&) {
    HostCall host_call;
    const Plan plan(problem, host_call.stream());
    kernel(host_call.workspace(), to_device(host_call, problem), plan,
           to_device(host_call, arrays)...);
    throw_if_stopped();
    host_call.finish();
  }
};

}  // namespace maskctl::attention::cuda
