// The arrays of a merge as numbers, and where a merged row differs from what a way of merging
// gives; private to verify.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/verify/key_side.h"
#include "maskctl/verify/merge_mistakes.h"
#include "maskctl/verify/merge_verdict.h"

namespace maskctl::attention {

/// A way of merging: a rule for all rows, and a rule for rows in which parts have no keys.
template <typename Rule>
struct Way {
  const Rule* rule;
  const EmptyRule* empty;
};

/// The first element of a row that is not as expected; of an lse, -1.
struct Miss {
  Index element = 0;
  double seen = 0, expected = 0;
};

/// The parts and the merged arrays as numbers, by rows: a row is a query of a batch entry and head,
/// in the order of an lse [B,H,T].
class Merge {
 public:
  explicit Merge(const MergeCall& call);

  Index parts() const { return static_cast<Index>(outs_.size()); }
  Index rows() const { return batch_ * heads_ * tokens_; }
  std::array<Index, 4> shape() const { return {batch_, heads_, tokens_, length_}; }
  bool transposed_lse() const { return transposed_lse_; }
  DType precision() const { return precision_; }

  bool untold(Index row) const {
    return std::ranges::any_of(lses_,
                               [row](const auto& lse) { return std::isnan(lse[as_size(row)]); });
  }
  bool is_empty(Index part, Index row) const {
    return std::isinf(lses_[as_size(part)][as_size(row)]);
  }
  Index empty_parts(Index row) const {
    Index count = 0;
    for (Index p = 0; p < parts(); ++p) count += is_empty(p, row) ? 1 : 0;
    return count;
  }
  /// Whether the rule could change any row.
  bool concerns(const EmptyRule& rule) const {
    return (!rule.if_none || has_all_empty_) && (!rule.multiplies || has_nan_beside_) &&
           (!rule.takes_infinity || has_infinity_);
  }
  /// Whether an lse that is read or written in these rows may differ from that of the row itself.
  bool changes(LseRows rows) const { return rows == LseRows::kOwn || (heads_ > 1 && tokens_ > 1); }

  /// Where the row differs from what the way gives; absent if it does not.
  std::optional<Miss> miss(const Way<WeightRule>& way, Index row, double base) const;
  std::optional<Miss> miss(const Way<LseRule>& way, Index row, double base) const;

  /// "(0, 2, 1, 3)": batch, head, query and element; without the last one for an lse.
  std::string place(Index row, Index element) const;
  /// "heads 0-3, queries 32-63".
  std::string where(const std::vector<Index>& rows) const;

 private:
  void take_shape(const MergeCall& call);
  std::vector<double> lse_of(const Tensor& tensor, const std::string& what);
  Index lse_row(LseRows rows, Index row) const;
  Index row_of_out(Index row) const {
    return vector_at(layout_, row / (heads_ * tokens_), row % tokens_, row / tokens_ % heads_,
                     tokens_, heads_);
  }
  void note_empty();
  /// The lse of all parts as natural logarithms, with -inf for +inf. Empty if one of them is NaN,
  /// or is +inf and `takes_infinity`.
  std::vector<double> lses_at(LseRows rows, bool takes_infinity, Index row, double base) const;
  /// The relative error of the weights in a merge that computes in the precision of the lse.
  double weight_error(Index row) const;

  Layout layout_;
  Index batch_ = 1, heads_ = 1, tokens_ = 1, length_ = 1;
  bool transposed_lse_ = false;
  // Whether there is a row in which no part has keys; a row in which a part without keys has an
  // output that is not finite; an lse of +inf.
  bool has_all_empty_ = false, has_nan_beside_ = false, has_infinity_ = false;
  std::vector<std::vector<double>> outs_, lses_;
  std::vector<double> out_, lse_;
  DType precision_ = DType::kFloat32;
  double step_ = 0;      // the relative error of one rounding of out
  double lse_step_ = 0;  // the relative error of one rounding of an lse
};

}  // namespace maskctl::attention
