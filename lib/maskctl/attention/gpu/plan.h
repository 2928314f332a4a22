// Operations on arrays that are on the GPU, for programs that hold their tensors there.
//
//   gpu::Workspace workspace(stream);
//   const SoftmaxProblem problem = gpu::softmax_problem(query, key, value, mask);
//   const gpu::SoftmaxForward forward(problem, stream);
//   forward(workspace, problem, {out, lse});
//
// A plan is made once, on the host: what the mask, the sequences or the lists of a problem say is
// copied to the GPU. Calls then wait for nothing, copy nothing and, once the workspace has grown,
// allocate nothing, so that a CUDA graph can hold them: make one call before the graph is captured.
// Equal calls give equal bits; every element of a result is written.
#pragma once

#include <memory>
#include <vector>

#include "maskctl/attention/problems/block_problem.h"
#include "maskctl/attention/problems/cache_update.h"
#include "maskctl/attention/problems/paged_arrays.h"
#include "maskctl/attention/problems/softmax_problem.h"

struct CUstream_st;  // cudaStream_t is CUstream_st*

namespace maskctl::attention {

namespace cuda {
class Workspace;
}

namespace gpu {

/// A cudaStream_t of the current GPU; null is the default stream.
using Stream = CUstream_st*;

/// The stream of some calls, and memory that they share one after the other: it grows in the first
/// calls and is freed, in stream order, with the workspace. Throws Error(kUnsupported) where no
/// kernel can run: "this build has no CUDA kernels; configure it with -DMASKCTL_CUDA=ON", "no
/// NVIDIA GPU was found".
class Workspace {
 public:
  explicit Workspace(Stream stream);

 private:
  template <class Problem, class... Arrays>
  friend class Plan;
  std::shared_ptr<cuda::Workspace> memory_;
};

/// What the kernel of an operation reads beside the arrays of a call, made ready on the GPU. A plan
/// serves any number of calls, in any stream that waits for the stream in which it was made. Copies
/// of a plan share its memory.
///
/// A problem has the views of the input arrays, with MemorySpace::kDevice as their place, and its
/// other members on the host. Arrays are contiguous; those of SoftmaxProblem may have gaps along
/// all axes but the last. Calls under one plan may have other arrays, of the same shapes and
/// dtypes.
template <class Problem, class... Arrays>
class Plan {
 public:
  /// Waits for the GPU at most once, and only if the mask is stored as bits. Throws Error(kShape,
  /// kInvalidArgument) if parts of the problem do not fit each other, Error(kUnsupported) if the
  /// kernel cannot compute the problem or no kernel can run (see Workspace), and Error(kLimit) if
  /// the GPU has too little memory.
  Plan(const Problem& problem, Stream stream);

  /// Puts the work of a call into the workspace's stream. `arrays` are the other arrays that the
  /// call reads, then those that it writes. Throws Error(kShape, kInvalidArgument) before anything
  /// is launched if `arrays`, or the arrays of the problem, do not have the shapes and dtypes that
  /// the plan was made for.
  void operator()(const Workspace& workspace, const Problem& problem,
                  const Arrays&... arrays) const;

 private:
  struct Array {
    DType dtype;
    std::vector<Index> shape;
  };
  std::shared_ptr<const void> plan_;
  std::vector<Array> inputs_;
};

/// Softmax attention: see softmax_problem.h for the shapes, softmax_options.h for the formula.
using SoftmaxForward = Plan<SoftmaxProblem, SoftmaxOutputs>;
using SoftmaxBackward = Plan<SoftmaxProblem, SoftmaxBackwardInputs, SoftmaxGradientOutputs>;
/// The weights that multiply the values, [B,Hq,Tq,Tk] f32.
using SoftmaxWeights = Plan<SoftmaxProblem, MutableTensorView>;
/// Attention over pages of a key-value cache; the result has the shape and dtype of the queries.
/// For Paged, the list of sequences and their page numbers are on the host; for PagedOfArrays, they
/// are in arrays on the GPU. Each call of PagedOfArrays checks these arrays, unless
/// PagedArrays::status is null, which says that the caller has checked them.
using Paged = Plan<PagedProblem, MutableTensorView>;
using PagedOfArrays = Plan<PagedArraysProblem, MutableTensorView>;
/// Writes the keys and values of new tokens into the pages of a cache, each token into the slot of
/// its position, before attention over the pages. The problem is that of this attention: of its
/// queries only the number of rows matters, and its window and scales do not matter. All other
/// slots keep their bits. Tokens without a sequence, and those of a sequence with a bad length or
/// page, are written nowhere. No two tokens may have the same slot.
using CacheUpdate = Plan<PagedProblem, NewTokens, CachePages>;
using CacheUpdateOfArrays = Plan<PagedArraysProblem, NewTokens, CachePages>;
/// Attention of tokens over blocks of keys, which a list names for each token. SelectBlocks chooses
/// the blocks for such lists, [B,T,Hkv,count] int32.
using BlocksForward = Plan<BlockProblem, SoftmaxOutputs>;
using BlocksBackward = Plan<BlockProblem, SoftmaxBackwardInputs, SoftmaxGradientOutputs>;
using SelectBlocks = Plan<SelectionProblem, MutableTensorView>;
/// The problem of query [B,Tq,Hq,D], key [B,Tk,Hkv,D] and value [B,Tk,Hkv,Dv] under a mask [B or 1,
/// 1 or Hq, Tq, Tk]. Bias and sinks are members that the caller sets. Throws Error(kShape) where
/// they do not fit each other.
SoftmaxProblem softmax_problem(const TensorView& query, const TensorView& key,
                               const TensorView& value, Mask mask,
                               const SoftmaxOptions& options = {});

}  // namespace gpu
}  // namespace maskctl::attention
