// What a backend can compute: one kernel for each kind of problem.
//
// A problem is plain data that its operation has checked: kernels trust it. Arrays are views; their
// memory is on the host, in C order, unless the kernel's backend says otherwise. Outputs have their
// final shapes and dtypes, hold nothing before, and are written whole, rounded once.
#pragma once

#include <string>

#include "maskctl/attention/problems/block_problem.h"
#include "maskctl/attention/problems/context.h"
#include "maskctl/attention/problems/grouped_problem.h"
#include "maskctl/attention/problems/linear_problem.h"
#include "maskctl/attention/problems/matrix_problem.h"
#include "maskctl/attention/problems/paged_problem.h"
#include "maskctl/attention/problems/pooling_problem.h"
#include "maskctl/attention/problems/ring_problem.h"
#include "maskctl/attention/problems/softmax_problem.h"

namespace maskctl::attention {

template <class Problem, class... Arrays>
struct Kernel {
  /// null: the backend has no such kernel.
  void (*run)(const Problem&, const Arrays&..., const Context&) = nullptr;
  /// Why it cannot take this problem, as in "float16 is not supported"; empty when it can.
  /// null: it takes every problem.
  std::string (*unsupported)(const Problem&) = nullptr;
};

struct Kernels {
  Kernel<SoftmaxProblem, SoftmaxOutputs> softmax_forward = {};
  Kernel<SoftmaxProblem, SoftmaxBackwardInputs, SoftmaxGradientOutputs> softmax_backward = {};
  /// [B,Hq,Tq,Tk] f32: see softmax_weights.
  Kernel<SoftmaxProblem, MutableTensorView> softmax_weights = {};
  /// A rank's part of a ring, exchange included. Without them the passes of ring/rank.cc make it of
  /// the kernels above, and ranks exchange arrays of the host.
  Kernel<RingProblem, SoftmaxOutputs> ring_forward = {};
  Kernel<RingProblem, SoftmaxBackwardInputs, SoftmaxGradientOutputs> ring_backward = {};
  /// The output has the shape and dtype of the queries.
  Kernel<PagedProblem, MutableTensorView> paged = {};
  Kernel<BlockProblem, SoftmaxOutputs> blocks_forward = {};
  Kernel<BlockProblem, SoftmaxBackwardInputs, SoftmaxGradientOutputs> blocks_backward = {};
  /// [B,T,Hkv,count] int32: see native_sparse_attention.
  Kernel<SelectionProblem, MutableTensorView> select_blocks = {};
  Kernel<LinearProblem, LinearOutputs> linear_forward = {};
  Kernel<LinearProblem, LinearBackwardInputs, LinearGradientOutputs> linear_backward = {};
  /// The output is [m,n].
  Kernel<GroupedProblem, MutableTensorView> grouped_forward = {};
  /// Takes d_out [m,n], gives the gradients of lhs and rhs.
  Kernel<GroupedProblem, TensorView, GroupedGradientOutputs> grouped_backward = {};
  Kernel<PoolingProblem, MutableTensorView> mean_pooling = {};
  /// The output is [rows,columns] f32; the product is added to it where the problem says so.
  Kernel<MatrixProblem, MutableTensorView> matrix_product = {};
};

}  // namespace maskctl::attention
