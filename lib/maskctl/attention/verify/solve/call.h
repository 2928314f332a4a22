// One call of softmax attention whose mask is looked for: its arrays in float64, head by head, and
// how much rounding they bring; private to solve.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/attention/problems/softmax_problem.h"
#include "maskctl/attention/verify/solve/gradients.h"
#include "maskctl/attention/verify/verify.h"

namespace maskctl::attention::solving {

/// A head, whose output gives equations in the open keys; or the gradients of its queries, which
/// give others in the same keys.
struct Head {
  Index b = 0, h = 0;
  bool gradient = false;
  friend bool operator==(const Head&, const Head&) = default;
};

class SolveCall {
 public:
  /// Throws Error(kInvalidArgument) "the mask cannot be told: ..." for a call that is not softmax
  /// attention over single keys, and without "out"; what the operation throws for shapes.
  SolveCall(const VerifyRequest& request, const NamedResults& given, Index tile);

  const Dims& dims() const { return d_; }
  /// The size of the tiles of keys that a kernel reads, or leaves out, as a whole.
  Index tile() const { return tile_; }
  EmptyRow empty_row() const { return options_.empty_row; }
  bool has_gradients() const { return gradients_.has_value(); }
  /// Of a value and of an output: Dv, or for gradients D.
  Index dim(Head head) const { return head.gradient ? d_.dim : d_.value_dim; }
  Index widest() const { return std::max(d_.dim, d_.value_dim); }
  /// The values of a head [Tk,dim], for gradients its keys, and the square of each.
  const double* values(Head head) const;
  const double* squares(Head head) const;
  /// What a row without a key gives [dim]: 0, or the mean of all values.
  std::span<const double> empty_out(Head head, Index i) const;
  /// What the kernel gave for query i [dim].
  std::span<const double> out(Head head, Index i) const;
  /// What the values of a head are multiplied by beside the weights; for gradients only.
  GradientFactors factors(Head head, Range rows) const;
  /// The lse of query i; absent where none was given.
  std::optional<double> lse(Head head, Index i) const;
  /// True where `out` is NaN.
  bool is_nan(Head head, Index i) const;

  /// The logits of some queries with all keys, [rows, Tk].
  void logits(Head head, Range rows, double* s) const;
  /// The logits of the sinks, which are always open and have no value.
  std::span<const double> sinks(Head head) const;

  /// The mean variance of an element of `out` by its own rounding and by f32 sums.
  double own_variance(Head head, Index i) const;
  /// The variance of an lse by rounding.
  double lse_variance(double lse) const;
  /// The variance of a weight of query i relative to itself, by the precision of the inputs and by
  /// the size of logits, whose terms are summed in f32.
  double weight_variance(Head head, Index i) const;
  /// The variance of all that gradients are made of becomes so much larger.
  void widen_gradients(double by) { gradient_noise_ *= by; }
  /// The products of all pairs of values, where there is room to keep them; else null.
  const double* value_products(Head head) const;

 private:
  std::size_t value_head(Head head) const {
    return as_size(head.b * d_.kv_heads + d_.kv_head(head.h));
  }
  std::size_t row_of(Head head, Index i) const {
    return as_size((head.b * d_.q_heads + head.h) * d_.queries + i);
  }
  std::vector<double> slopes(Head head, Range rows) const;
  void products_of_queries(Head head, Range rows, double* s) const;
  void add_bias(Head head, Range rows, double* s) const;

  Dims d_;
  Index tile_;
  SoftmaxOptions options_;
  double scale_ = 1;
  std::vector<double> q_, k_, v_, out_, lse_, bias_, sinks_, squares_, empty_out_;
  std::optional<QueryGradients> gradients_;
  std::vector<double> logit_sizes_;  // [B,H,Tq]: a bound of the sums of products of each query
  BroadcastStrides bias_at_;
  std::optional<TensorView> sink_array_;
  Tensor kept_sinks_;
  FloatSteps out_steps_;
  double lse_step_ = 0, weights_ = 0, gradient_noise_ = 1;
  struct Products;
  std::shared_ptr<Products> products_;
};

}  // namespace maskctl::attention::solving
