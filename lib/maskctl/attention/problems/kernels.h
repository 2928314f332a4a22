// The kernels that a backend can have: one for each kind of problem.
//
// A problem is plain data that the operation has already checked, so kernels do not check it again.
// Arrays are views of host memory in C order, unless the backend says otherwise. Outputs have their
// final shape and dtype but uninitialized elements; a kernel writes every element, rounded once.
#pragma once

#include <string>

#include "maskctl/attention/problems/block_problem.h"
#include "maskctl/attention/problems/context.h"
#include "maskctl/attention/problems/matrix_problem.h"
#include "maskctl/attention/problems/mla_problem.h"
#include "maskctl/attention/problems/paged_problem.h"
#include "maskctl/attention/problems/ring_problem.h"
#include "maskctl/attention/problems/softmax_problem.h"

namespace maskctl::attention {

template <class Problem, class... Arrays>
struct Kernel {
  /// Null: the backend has no such kernel.
  void (*run)(const Problem&, const Arrays&..., const Context&) = nullptr;
  /// Returns why the kernel cannot take this problem, as in "float16 is not supported"; empty when
  /// it can. Null: it takes every problem.
  std::string (*unsupported)(const Problem&) = nullptr;
};

struct Kernels {
  Kernel<SoftmaxProblem, SoftmaxOutputs> softmax_forward = {};
  Kernel<SoftmaxProblem, SoftmaxBackwardInputs, SoftmaxGradientOutputs> softmax_backward = {};
  /// The output is [B,Hq,Tq,Tk] f32: see softmax_weights.
  Kernel<SoftmaxProblem, MutableTensorView> softmax_weights = {};
  /// One rank's share of ring attention, including the exchange. If null, ring/rank.cc builds it
  /// from the kernels above, and ranks exchange host arrays.
  Kernel<RingProblem, SoftmaxOutputs> ring_forward = {};
  Kernel<RingProblem, SoftmaxBackwardInputs, SoftmaxGradientOutputs> ring_backward = {};
  /// If these two are null, mla/mla.cc computes latent attention with other kernels, in f32.
  Kernel<MlaProblem, SoftmaxOutputs> mla_forward = {};
  Kernel<MlaProblem, SoftmaxBackwardInputs, MlaGradientOutputs> mla_backward = {};
  /// The output has the shape and dtype of the queries.
  Kernel<PagedProblem, MutableTensorView> paged = {};
  Kernel<BlockProblem, SoftmaxOutputs> blocks_forward = {};
  Kernel<BlockProblem, SoftmaxBackwardInputs, SoftmaxGradientOutputs> blocks_backward = {};
  /// The output is [B,T,Hkv,count] int32: see native_sparse_attention.
  Kernel<SelectionProblem, MutableTensorView> select_blocks = {};
  /// The output is [rows,columns] f32; the problem says whether the product is added to it.
  Kernel<MatrixProblem, MutableTensorView> matrix_product = {};
};

}  // namespace maskctl::attention
