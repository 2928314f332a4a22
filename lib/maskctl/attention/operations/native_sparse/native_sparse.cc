#include "maskctl/attention/operations/native_sparse/native_sparse.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/floats.h"
#include "maskctl/attention/arrays/outputs.h"
#include "maskctl/attention/arrays/slices.h"
#include "maskctl/attention/operations/native_sparse/checked.h"
#include "maskctl/attention/operations/native_sparse/compression.h"
#include "maskctl/attention/problems/backends.h"
#include "maskctl/attention/softmax/checked.h"
#include "maskctl/attention/softmax/run.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

SoftmaxResult blocks_forward(const BlockProblem& problem, const Context& context) {
  SoftmaxResult result = unwritten_result(problem.d, problem.query.dtype());
  run_kernel(context, "blocks_forward", &Kernels::blocks_forward, problem,
             {result.out, result.lse});
  return result;
}

SoftmaxGradients blocks_backward(const BlockProblem& problem, const SoftmaxResult& forward,
                                 const Tensor& d_out, const Context& context) {
  check_backward(problem.d, forward, d_out, nullptr);
  SoftmaxGradients gradients{unwritten_like(problem.query), unwritten_like(problem.key),
                             unwritten_like(problem.value), std::nullopt, std::nullopt};
  run_kernel(context, "blocks_backward", &Kernels::blocks_backward, problem,
             {forward.out, forward.lse, d_out, std::nullopt},
             {gradients.query, gradients.key, gradients.value, std::nullopt, std::nullopt});
  return gradients;
}

Tensor select_blocks(const BlockProblem& blocks, const BlockMeans& means, const Context& context) {
  Tensor selected = Tensor::unwritten(
      DType::kInt32, {blocks.d.batch, blocks.d.queries, blocks.d.kv_heads, blocks.count});
  run_kernel(context, "select_blocks", &Kernels::select_blocks,
             SelectionProblem{&blocks, blocks.query, means.key, &means.first}, selected);
  return selected;
}

void check_gate(const char* what, const Tensor* gate, const Dims& d) {
  if (!gate) return;
  check_rank(what, gate, 3);
  check_shape(what, *gate, std::vector<Index>{d.batch, d.queries, d.q_heads});
  check_float(what, *gate);
}

/// The number of blocks that the compressed branch selects.
Index selection_size(const NativeSparseInputs& in, const NativeSparseOptions& options) {
  if (!in.block_counts) return options.block_counts;
  if (in.block_counts->elements() == 0 || !is_integer(in.block_counts->dtype())) {
    refuse(
        fmt::format("block_counts is {} of shape {}, expected integers, of which the first "
                    "counts beside g_cmp",
                    name(in.block_counts->dtype()), shape_text(in.block_counts->shape())));
  }
  const Index count = as_int64(*in.block_counts, "block_counts")[0];
  if (count >= 1) return count;
  refuse(fmt::format("block_counts begins with {}, expected 1 or more", count));
}

/// A checked call of native_sparse_attention, with query, key and value in f32 for both branches.
class GatedCall {
 public:
  GatedCall(const NativeSparseInputs& in, const NativeSparseOptions& options)
      : in_(in), options_(options) {
    const Dims d = checked_block_problem(in, options).d;
    check_gate("g_cmp", in.g_cmp, d);
    check_gate("g_slc", in.g_slc, d);
    if (in.g_cmp) {
      options_.block_counts = selection_size(in, options);
      in_.block_indices = nullptr, in_.block_counts = nullptr;
    } else {
      checked_selected_problem(in, options);
    }
    query_ = astype(*in.query, DType::kFloat32);
    key_ = astype(*in.key, DType::kFloat32);
    value_ = astype(*in.value, DType::kFloat32);
    in_.query = &query_, in_.key = &key_, in_.value = &value_;
  }
  GatedCall(const GatedCall&) = delete;
  GatedCall& operator=(const GatedCall&) = delete;

  BlockProblem problem() const { return checked_block_problem(in_, options_); }
  /// The problem with the blocks that were chosen or, if there are none, with block_indices.
  BlockProblem selected_problem(const std::optional<Tensor>& chosen) const {
    NativeSparseInputs in = in_;
    if (chosen) in.block_indices = &*chosen;
    return checked_selected_problem(in, options_);
  }
  SoftmaxProblem compressed_problem(const BlockMeans& means) const {
    SoftmaxOptions options;
    options.scale = problem().scale;
    return checked_softmax({&query_, &means.key, &means.value, &means.mask}, options);
  }

 private:
  NativeSparseInputs in_;
  NativeSparseOptions options_;
  Tensor query_, key_, value_;
};

/// rows[i] += gate[i] * from[i], for rows of n elements; the gate is 1 if it is null.
void add_gated(const Tensor* gate, const Tensor& from, Tensor& rows) {
  const Floats gates(view_of(gate));
  const Index n = from.extent(3);
  const auto x = from.as<float>();
  const auto out = rows.as<float>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    out[i] += gates ? gates.data()[i / as_size(n)] * x[i] : x[i];
  }
}

Tensor gated(const Tensor* gate, const Tensor& from) {
  Tensor rows(DType::kFloat32, from.shape());
  add_gated(gate, from, rows);
  return rows;
}

/// The gradient of a gate: in each row, the dot product of d_out and out. Has the shape and dtype
/// of the gate.
std::optional<Tensor> gate_gradient(const Tensor* gate, const Tensor& out, const Tensor& d_out) {
  if (!gate) return std::nullopt;
  Tensor sums(DType::kFloat32, gate->shape());
  const std::size_t n = as_size(out.extent(3));
  for (std::size_t i = 0; i < as_size(out.elements()); ++i) {
    sums.as<float>()[i / n] += out.as<float>()[i] * d_out.as<float>()[i];
  }
  return astype(sums, gate->dtype());
}

/// Adds the gradients of the compressed branch.
void add_compressed_gradients(const GatedCall& gated_call, const SoftmaxResult& forward,
                              const Tensor& d_out, const Context& context, SoftmaxGradients& sums) {
  const BlockProblem problem = gated_call.problem();
  const BlockMeans means = block_means(problem);
  const SoftmaxGradients gradients =
      softmax_backward(gated_call.compressed_problem(means), forward, d_out, nullptr, context);
  add(gradients.query, sums.query);
  add_mean_gradient(problem, means, gradients.key, sums.key);
  add_mean_gradient(problem, means, gradients.value, sums.value);
}

}  // namespace

SoftmaxResult apply_native_sparse_attention(const NativeSparseInputs& in,
                                            const NativeSparseOptions& options) {
  if (in.g_cmp || in.g_slc) {
    refuse("gates; use native_sparse_attention");
  }
  return blocks_forward(checked_selected_problem(in, options), options.context);
}

SoftmaxGradients apply_native_sparse_attention_backward(const NativeSparseInputs& in,
                                                        const SoftmaxResult& forward,
                                                        const Tensor& d_out,
                                                        const NativeSparseOptions& options) {
  return blocks_backward(checked_selected_problem(in, options), forward, d_out, options.context);
}

NativeSparseResult native_sparse_attention(const NativeSparseInputs& in,
                                           const NativeSparseOptions& options) {
  const Context& context = options.context;
  const GatedCall gated_call(in, options);
  NativeSparseResult result;
  if (in.g_cmp) {
    const BlockProblem problem = gated_call.problem();
    const BlockMeans means = block_means(problem);
    result.compressed = softmax_forward(gated_call.compressed_problem(means), context);
    result.selected_block_indices = select_blocks(problem, means, context);
  }
  result.selected =
      blocks_forward(gated_call.selected_problem(result.selected_block_indices), context);
  result.out = gated(in.g_slc, result.selected.out);
  if (in.g_cmp) add_gated(in.g_cmp, result.compressed->out, result.out);
  if (in.query->dtype() != DType::kFloat32) result.out = astype(result.out, in.query->dtype());
  return result;
}

NativeSparseGradients native_sparse_attention_backward(const NativeSparseInputs& in,
                                                       const NativeSparseResult& forward,
                                                       const Tensor& d_out,
                                                       const NativeSparseOptions& options) {
  const Context& context = options.context;
  const GatedCall gated_call(in, options);
  check_shape("d_out", d_out, forward.out.shape());
  const Tensor wide = astype(d_out, DType::kFloat32);
  SoftmaxGradients sums =
      blocks_backward(gated_call.selected_problem(forward.selected_block_indices), forward.selected,
                      gated(in.g_slc, wide), context);
  NativeSparseGradients gradients;
  gradients.g_slc = gate_gradient(in.g_slc, forward.selected.out, wide);
  if (in.g_cmp) {
    gradients.g_cmp = gate_gradient(in.g_cmp, forward.compressed->out, wide);
    add_compressed_gradients(gated_call, *forward.compressed, gated(in.g_cmp, wide), context, sums);
  }
  gradients.query = astype(sums.query, in.query->dtype());
  gradients.key = astype(sums.key, in.key->dtype());
  gradients.value = astype(sums.value, in.value->dtype());
  return gradients;
}

}  // namespace maskctl::attention
