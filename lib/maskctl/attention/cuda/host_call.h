// How a call whose arrays are on the host gets to a kernel of the GPU: arrays are copied there, the
// kernel runs, results are copied back.
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

  /// The array on the GPU, float64 as float32; an array that is there already is complete, and is
  /// used as it is.
  TensorView to_device(const TensorView& array);
  /// Room for a result on the GPU, which finish() copies back; `holds_values`: its elements are
  /// copied there first.
  MutableTensorView to_device(const MutableTensorView& result, bool holds_values = false);
  /// Waits for all work and writes the results that belong on the host.
  void finish();

 private:
  struct Result {
    MutableTensorView host, device;
  };
  MutableTensorView room_for(const TensorView& array, DType dtype);

  OwnStream stream_;  // destroyed last
  Workspace workspace_{stream_.get()};
  std::vector<DeviceBuffer> buffers_;
  std::vector<Tensor> converted_;  // on their way to the GPU
  std::vector<Result> results_;
};

/// Replaces the arrays of a problem, or of a bundle of inputs or results, by arrays on the GPU.
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

/// Wraps a kernel for arrays on the GPU as an entry of `Kernels`, which takes arrays of the host.
/// Its Plan is what else it needs on the GPU.
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
