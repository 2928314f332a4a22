// Products of matrices on the GPU.
#pragma once

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/problems/context.h"
#include "maskctl/attention/problems/matrix_problem.h"

namespace maskctl::attention::cuda {

/// out = a b, plus the old `out` if the problem says so. The matrices and `out` are on the GPU.
void matrix_product(Workspace& workspace, const MatrixProblem& problem,
                    const MutableTensorView& out);

/// matrix_product() as an entry of `Kernels`, for matrices on the host.
void matrix_product_from_host(const MatrixProblem& problem, const MutableTensorView& out,
                              const Context& context);

}  // namespace maskctl::attention::cuda
