// One call of softmax attention whose mask is to be found: its arrays in float64, head by head, and
// the rounding to expect from them; private to solve.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/attention/problems/softmax_problem.h"
#include "maskctl/verify/solve/gradients.h"
#include "maskctl/verify/verify.h"

namespace maskctl::attention::solving {

/// One result of a query head that gives equations in the open keys: its output or, if `gradient`,
/// the gradients of its queries.
struct Head {
  Index b = 0, h = 0;
  bool gradient = false;
  friend bool operator==(const Head&, const Head&) = default;
};

class SolveCall {
 public:
  /// Throws Error(kInvalidArgument) "the mask cannot be told: ..." for a call that is not softmax
  /// attention over single keys, or if "out" is missing; and what the operation throws for wrong
  /// shapes.
  SolveCall(const VerifyRequest& request, const NamedResults& given, Index tile);

  const Dims& dims() const { return d_; }
  /// The size of the tiles of keys that a kernel reads or skips as a whole.
  Index tile() const { return tile_; }
  EmptyRow empty_row() const { return options_.empty_row; }
  bool has_gradients() const { return gradients_.has_value(); }
  /// The length of the vectors of values() and out(): Dv, or D for gradients.
  Index dim(Head head) const { return head.gradient ? d_.dim : d_.value_dim; }
  Index widest() const { return std::max(d_.dim, d_.value_dim); }
  /// The vectors [Tk,dim] whose weighted sum is a head's result: its values or, for gradients, its
  /// keys. squares() has their squared lengths.
  const double* values(Head head) const;
  const double* squares(Head head) const;
  /// The result [dim] of a row without a key: 0, or the mean of all values.
  std::span<const double> empty_out(Head head, Index i) const;
  /// The kernel's result for query i, [dim]: its output, or the gradient of the query.
  std::span<const double> out(Head head, Index i) const;
  /// For gradients only: returns the factors by which, besides the weights, the vectors of values()
  /// are multiplied in the sum.
  GradientFactors factors(Head head, Range rows) const;
  /// The lse of query i; absent if none was given.
  std::optional<double> lse(Head head, Index i) const;
  /// Whether the output of query i has NaN or infinities.
  bool is_nan(Head head, Index i) const;
  /// True for a key that holds NaN, or whose value holds NaN or infinities. No query whose output
  /// is finite has read it, so its logits are -infinity here.
  bool is_unread(Head head, Index key) const;
  bool has_unread() const { return has_unread_; }

  /// The logits of a range of queries with all keys, [rows, Tk].
  void logits(Head head, Range rows, double* s) const;
  /// The logits of the sinks, which are always open and have no value.
  std::span<const double> sinks(Head head) const;

  /// The variance of an element of out(), averaged over the row, that comes from the rounding of
  /// the element itself and from f32 sums.
  double own_variance(Head head, Index i) const;
  /// The variance of an lse that comes from rounding.
  double lse_variance(double lse) const;
  /// The variance of a weight of query i, divided by the square of the weight. It comes from the
  /// precision of the inputs, and from the f32 sums that make the logits.
  double weight_variance(Head head, Index i) const;
  /// Multiplies the variance that is expected of gradients, of their weights and of their factors.
  void widen_gradients(double by) { gradient_noise_ *= by; }
  /// The dot products of all pairs of values, [Tk, Tk], if there is room to keep them; else null.
  const double* value_products(Head head) const;

 private:
  std::size_t value_head(Head head) const {
    return as_size(head.b * d_.kv_heads + d_.kv_head(head.h));
  }
  std::size_t row_of(Head head, Index i) const {
    return as_size((head.b * d_.q_heads + head.h) * d_.queries + i);
  }
  void leave_out_nan_keys();
  std::vector<double> slopes(Head head, Range rows) const;
  void products_of_queries(Head head, Range rows, double* s) const;
  void add_bias(Head head, Range rows, double* s) const;

  Dims d_;
  Index tile_;
  SoftmaxOptions options_;
  double scale_ = 1;
  std::vector<double> q_, k_, v_, out_, lse_, bias_, sinks_, squares_, empty_out_;
  std::vector<std::uint8_t> unread_;  // [B,Hkv,Tk]: what is_unread() returns
  bool has_unread_ = false;
  std::optional<QueryGradients> gradients_;
  std::vector<double> logit_sizes_;  // [B,H,Tq]: a bound of each query's logits
  BroadcastStrides bias_at_;
  std::optional<TensorView> sink_array_;
  Tensor kept_sinks_;
  FloatSteps out_steps_;
  double lse_step_ = 0, weights_ = 0, gradient_noise_ = 1;
  struct Products;
  std::shared_ptr<Products> products_;
};

}  // namespace maskctl::attention::solving
