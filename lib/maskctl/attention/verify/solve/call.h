// One call of softmax attention whose mask is looked for: its arrays in float64, head by head, and
// how much rounding they bring; private to solve.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/attention/problems/softmax_problem.h"
#include "maskctl/attention/verify/verify.h"

namespace maskctl::attention::solving {

struct Head {
  Index b = 0, h = 0;
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
  /// The values of a head [Tk,Dv], and the square of each.
  const double* values(Head head) const { return &v_[value_head(head) * per_value_head()]; }
  const double* squares(Head head) const { return &squares_[value_head(head) * as_size(d_.keys)]; }
  /// What a row without a key gives [Dv]: 0, or the mean of all values.
  std::span<const double> empty_out(Head head) const;
  /// What the kernel gave for query i [Dv].
  std::span<const double> out(Head head, Index i) const;
  /// The lse of query i; absent where none was given.
  std::optional<double> lse(Head head, Index i) const;
  /// True where `out` is NaN.
  bool is_nan(Head head, Index i) const;

  /// The logits of some queries with all keys, [rows, Tk].
  void logits(Head head, Range rows, double* s) const;
  /// The logits of the sinks, which are always open and have no value.
  std::span<const double> sinks(Head head) const;

  /// The mean variance of an element of `out` by its own rounding and by f32 sums.
  double own_variance(std::span<const double> out) const;
  /// The variance of an lse by rounding.
  double lse_variance(double lse) const;
  /// The variance of a weight of query i relative to itself, by the precision of the inputs and by
  /// the size of logits, whose terms are summed in f32.
  double weight_variance(Head head, Index i) const;
  /// v_j . v_k of all keys of a head, where there is room to keep them; else null.
  const double* value_products(Head head) const;

 private:
  std::size_t value_head(Head head) const {
    return as_size(head.b * d_.kv_heads + d_.kv_head(head.h));
  }
  std::size_t per_value_head() const { return as_size(d_.keys * d_.value_dim); }
  void add_bias(Head head, Range rows, double* s) const;

  Dims d_;
  Index tile_;
  SoftmaxOptions options_;
  double scale_ = 1;
  std::vector<double> q_, k_, v_, out_, lse_, bias_, sinks_, squares_, empty_out_;
  std::vector<double> logit_sizes_;  // [B,H,Tq]: a bound of the sums of products of each query
  BroadcastStrides bias_at_;
  std::optional<TensorView> sink_array_;
  Tensor kept_sinks_;
  double out_step_ = 0, out_least_ = 0, lse_step_ = 0, weights_ = 0;
  struct Products;
  std::shared_ptr<Products> products_;
};

}  // namespace maskctl::attention::solving
