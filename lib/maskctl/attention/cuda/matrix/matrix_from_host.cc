// Products of matrices on the host: both factors are copied to the GPU.
#include <array>

#include "maskctl/attention/cuda/host_call.h"
#include "maskctl/attention/cuda/matrix/matrix_product.h"

namespace maskctl::attention::cuda {
namespace {

MatrixView to_device(HostCall& host_call, MatrixView matrix) {
  const std::array shape{matrix.extent()};
  const TensorView there = host_call.to_device(TensorView(
      reinterpret_cast<const std::byte*>(matrix.data), DType::kFloat32, shape, matrix.place));
  matrix.data = reinterpret_cast<const float*>(there.data());
  matrix.place = there.place();
  return matrix;
}

}  // namespace

void matrix_product_from_host(const MatrixProblem& problem, const MutableTensorView& out,
                              const Context&) {
  HostCall host_call;
  MatrixProblem there = problem;
  there.a = to_device(host_call, problem.a), there.b = to_device(host_call, problem.b);
  matrix_product(host_call.workspace(), there, host_call.to_device(out, problem.accumulate));
  throw_if_stopped();
  host_call.finish();
}

}  // namespace maskctl::attention::cuda
