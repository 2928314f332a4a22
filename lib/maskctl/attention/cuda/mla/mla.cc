#include "maskctl/attention/cuda/mla/mla.h"

#include "maskctl/attention/cuda/mla/rotary.h"

namespace maskctl::attention::cuda {
namespace {

using Shape = std::vector<Index>;

/// Makes a grouped product with a single group: one matrix multiplies all `rows` rows.
GroupedProblem one_group(Index rows, Index inner, Index columns) {
  GroupedProblem product;
  product.groups = {rows, inner, columns, {{0, rows}}, {}};
  return product;
}

GroupedPlan tokens_of(const MlaProblem& problem, Stream stream) {
  const Index tokens = problem.latent.extent(0) * problem.latent.extent(1);
  return {one_group(tokens, 0, 0), stream};
}

/// One call on arrays of the GPU; intermediate results are in the workspace.
class Call {
 public:
  Call(Workspace& workspace, const MlaProblem& problem, const GroupedPlan& tokens)
      : workspace_(workspace), problem_(problem), tokens_(tokens) {}

  /// The softmax problem with keys and values of all heads, computed from the latent, and with the
  /// rotary parts appended to queries and keys.
  SoftmaxProblem wide() const {
    SoftmaxProblem softmax = problem_.softmax;
    softmax.key = rebuilt(problem_.w_kc), softmax.value = rebuilt(problem_.w_vc);
    if (!problem_.b_q) return softmax;
    softmax.query = appended(softmax.query, *problem_.b_q);
    softmax.key = appended(softmax.key, *problem_.b_k);
    return softmax;
  }

  void gradients(const SoftmaxProblem& wide, const SoftmaxBackwardPlan& plan,
                 const SoftmaxBackwardInputs& inputs, const MlaGradientOutputs& gradients) const {
    const MutableTensorView d_key = like(wide.key), d_value = like(wide.value);
    const MutableTensorView d_query = problem_.b_q ? like(wide.query) : gradients.query;
    softmax_backward(workspace_, wide, plan, inputs, {d_query, d_key, d_value, {}, {}});
    MutableTensorView d_rebuilt = d_key;
    if (problem_.b_q) {
      split_shared(d_query, gradients.query, *gradients.b_q, workspace_.stream());
      const TensorView& w = problem_.w_kc;
      d_rebuilt = take({d_key.extent(0), d_key.extent(1), w.extent(1), w.extent(2)});
      split_shared(d_key, d_rebuilt, *gradients.b_k, workspace_.stream());
    }
    const MutableTensorView seen = like(problem_.latent);
    take_seen(problem_.latent, d_rebuilt, d_value, seen, workspace_.stream());
    const MutableTensorView by_key = like(problem_.latent), by_value = like(problem_.latent);
    pull_back(seen, problem_.w_kc, d_rebuilt, by_key, gradients.w_kc);
    pull_back(seen, problem_.w_vc, d_value, by_value, gradients.w_vc);
    add(by_key, by_value, gradients.latent, workspace_.stream());
  }

 private:
  MutableTensorView take(const Shape& shape) const {
    const DType dtype = problem_.latent.dtype();
    Index bytes = size_bytes(dtype);
    for (const Index n : shape) bytes *= n;
    return {workspace_.take<std::byte>(bytes), dtype, shape, problem_.latent.place()};
  }
  MutableTensorView like(const TensorView& array) const {
    return take({array.shape().begin(), array.shape().end()});
  }
  /// Returns a view of the same elements in another shape.
  static TensorView shaped(const TensorView& array, const Shape& shape) {
    return {array.data(), array.dtype(), shape, array.place()};
  }
  static MutableTensorView shaped(const MutableTensorView& array, const Shape& shape) {
    return {array.data(), array.dtype(), shape, array.place()};
  }

  /// Returns the problem of multiplying the latent of all tokens by the matrix w.
  GroupedProblem product(const TensorView& latent, const TensorView& w) const {
    const Index columns = w.extent(1) * w.extent(2), rank = w.extent(0);
    GroupedProblem product = one_group(tokens_.row_count(), rank, columns);
    product.lhs = shaped(latent, {tokens_.row_count(), rank});
    product.rhs = shaped(w, {1, rank, columns});
    return product;
  }
  TensorView rebuilt(const TensorView& w) const {
    const TensorView& latent = problem_.latent;
    const MutableTensorView out =
        take({latent.extent(0), latent.extent(1), w.extent(1), w.extent(2)});
    const GroupedProblem p = product(latent, w);
    grouped_forward(workspace_, p, tokens_, shaped(out, {p.groups.rows, p.groups.columns}));
    return out;
  }
  /// Computes the gradients of the latent and of w from `gradient`, the gradient of their product.
  void pull_back(const TensorView& latent, const TensorView& w, const TensorView& gradient,
                 const MutableTensorView& d_latent, const MutableTensorView& d_w) const {
    const GroupedProblem p = product(latent, w);
    const auto& [rows, rank, columns, positions, order] = p.groups;
    grouped_backward(workspace_, p, tokens_, shaped(gradient, {rows, columns}),
                     {shaped(d_latent, {rows, rank}), shaped(d_w, {1, rank, columns})});
  }
  TensorView appended(const TensorView& heads, const TensorView& shared) const {
    const MutableTensorView out = take(
        {heads.extent(0), heads.extent(1), heads.extent(2), heads.extent(3) + shared.extent(2)});
    append_shared(heads, shared, out, workspace_.stream());
    return out;
  }

  Workspace& workspace_;
  const MlaProblem& problem_;
  const GroupedPlan& tokens_;
};

}  // namespace

MlaPlan::MlaPlan(const MlaProblem& problem, Stream stream)
    : softmax(problem.softmax, stream), tokens(tokens_of(problem, stream)) {}
MlaBackwardPlan::MlaBackwardPlan(const MlaProblem& problem, Stream stream)
    : softmax(problem.softmax, stream), tokens(tokens_of(problem, stream)) {}

void mla_forward(Workspace& workspace, const MlaProblem& problem, const MlaPlan& plan,
                 const SoftmaxOutputs& outputs) {
  const Workspace::Scope scope(workspace);
  const Call call(workspace, problem, plan.tokens);
  softmax_forward(workspace, call.wide(), plan.softmax, outputs);
}

void mla_backward(Workspace& workspace, const MlaProblem& problem, const MlaBackwardPlan& plan,
                  const SoftmaxBackwardInputs& inputs, const MlaGradientOutputs& gradients) {
  const Workspace::Scope scope(workspace);
  const Call call(workspace, problem, plan.tokens);
  call.gradients(call.wide(), plan.softmax, inputs, gradients);
}

}  // namespace maskctl::attention::cuda
