// Products of matrices on the host: the memory that holds them is copied to the GPU.
#include <array>

#include "maskctl/attention/cuda/host_door.h"
#include "maskctl/attention/cuda/matrix/matrix_product.h"

namespace maskctl::attention::cuda {
namespace {

MatrixView lent(Visit& visit, MatrixView matrix) {
  const std::array shape{matrix.extent()};
  const TensorView there = visit.lend(TensorView(reinterpret_cast<const std::byte*>(matrix.data),
                                                 DType::kFloat32, shape, matrix.place));
  matrix.data = reinterpret_cast<const float*>(there.data());
  matrix.place = there.place();
  return matrix;
}

}  // namespace

void matrix_product_from_host(const MatrixProblem& problem, const MutableTensorView& out,
                              const Context&) {
  Visit visit;
  MatrixProblem there = problem;
  there.a = lent(visit, problem.a), there.b = lent(visit, problem.b);
  matrix_product(visit.workspace(), there, visit.lend(out, problem.accumulate));
  throw_if_stopped();
  visit.finish();
}

}  // namespace maskctl::attention::cuda
