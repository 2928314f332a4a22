// What separates results that were made elsewhere from those under a mask, row by row, in units of
// the rounding that their precision makes; private to verify.
#pragma once

#include <string>
#include <vector>

#include "maskctl/attention/verify/rounding.h"

namespace maskctl::attention {

/// A row of a result, and its indices. Rows run along the last axis; an lse has one element in
/// each. Time and head are of queries or keys, whichever the result is for.
struct RowPosition {
  std::size_t array = 0;
  Index batch = 0, head = 0, time = 0;
};

/// One row under a mask x whose results differ from those under the declared mask d:
/// sums over its elements e of (out - d)(x - d) / s^2, (x - d)^2 / s^2 and (out - x)^2 / s^2, the
/// last divided by the number of elements. s is the rounding that is expected.
struct RowResidual {
  Index row = 0;
  double along = 0, squared = 0, misfit = 0;
  bool off = false;  // out of the tolerance, or finite where the mask says NaN and the reverse
};

/// The results that are judged, against those under the declared mask.
class Residuals {
 public:
  /// `reference`: those of the float64 reference, for the tolerances. `declared`: the fast path's,
  /// in f32.
  Residuals(const VerifyRequest& request, const NamedResults& given, const NamedResults& reference,
            const NamedResults& declared, const Rounding& rounding);

  Index rows() const { return static_cast<Index>(misfit_.size()); }
  const RowPosition& position(Index row) const { return positions_[as_size(row)]; }
  /// (batch, head) of an array as one number.
  Index group(Index row) const { return groups_[as_size(row)]; }
  Index groups() const { return group_count_; }
  /// `misfit` and `off` of RowResidual, under the declared mask.
  double misfit(Index row) const { return misfit_[as_size(row)]; }
  bool off(Index row) const { return off_[as_size(row)]; }
  /// The number of independent elements that would scatter as the row's misfit does.
  double freedom(Index row) const { return freedom_[as_size(row)]; }
  /// Whether rounding to 16 bits makes nearly all of the noise that is expected.
  bool rounds_to_16_bits(Index row) const { return rounds_to_16_bits_[as_size(row)]; }
  /// The misfit that a cell of weight 1 makes when it is added or lost; 0: not known.
  double cell_misfit(Index row) const { return cell_misfit_[as_size(row)]; }

  Index batches() const { return batches_; }

  /// The rows whose results under another mask differ from those under the declared one, by more
  /// than the f32 sums of both may.
  std::vector<RowResidual> under(const NamedResults& other) const;

 private:
  struct Array {
    std::string name;
    std::vector<double> given, declared;
    ArrayNoise noise;
    double relative = 0, absolute = 0;
    Index first = 0, count = 0, length = 0;  // first row, rows, elements of a row
  };

  void add(const VerifyRequest& request, const std::string& name, const Tensor& given,
           const Tensor& reference, const Tensor& declared, const Rounding& rounding);
  void add_positions(const VerifyRequest& request, const Tensor& tensor, const Array& array);
  void add_freedom(const Array& array, Index row);
  double noise(const Array& array, Index row, double value) const;

  std::vector<Array> arrays_;
  std::vector<RowPosition> positions_;
  std::vector<Index> groups_;
  std::vector<double> misfit_, freedom_, cell_misfit_;
  std::vector<bool> off_, rounds_to_16_bits_;
  Index group_count_ = 0, batches_ = 1;
};

}  // namespace maskctl::attention
