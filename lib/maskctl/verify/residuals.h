// How results that were made elsewhere differ from those under a mask, row by row, in units of the
// rounding that their precision causes; private to verify.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/verify/rounding.h"

namespace maskctl::attention {

/// A row of a result. Rows run along the last axis; rows of an lse have one element. `time` and
/// `head` are those of a query or of a key, depending on the result.
struct RowPosition {
  std::size_t array = 0;
  Index batch = 0, head = 0, time = 0;
};

/// A row whose results x under a candidate differ from those of the declared call, d. With the
/// expected rounding s of d and of x, the larger one, sums over the row's elements: `along` of
/// (out - d)(x - d) / s^2, `squared` of (x - d)^2 / s^2, and `misfit` of (out - x)^2 / s^2, divided
/// by the number of elements.
struct RowResidual {
  Index row = 0;
  double along = 0, squared = 0, misfit = 0;
  /// Whether the row is outside the tolerance, or NaN or infinite where the mask gives something
  /// else.
  bool off = false;
};

/// What the given results of a row hold instead of numbers that any mask could explain.
enum class Blank : std::uint8_t { kNo, kZero, kNan };

/// The given results, compared with those under the declared mask.
class Residuals {
 public:
  /// `reference`: the results of the float64 reference, for the tolerances. `declared`: the results
  /// of the fast path in f32. `mask`: the mask that it applies, if it is known.
  Residuals(const VerifyRequest& request, const NamedResults& given, const NamedResults& reference,
            const NamedResults& declared, const Rounding& rounding,
            const std::optional<Mask>& mask);

  Index rows() const { return static_cast<Index>(misfit_.size()); }
  const RowPosition& position(Index row) const { return positions_[as_size(row)]; }
  /// The number of the row's group. Each array, batch entry and head is a group.
  Index group(Index row) const { return groups_[as_size(row)]; }
  Index groups() const { return group_count_; }
  /// RowResidual::misfit of a row under the declared mask; off() returns RowResidual::off.
  double misfit(Index row) const { return misfit_[as_size(row)]; }
  bool off(Index row) const { return off_[as_size(row)]; }
  /// The number of independent elements whose mean square would scatter as the row's misfit does.
  double freedom(Index row) const { return freedom_[as_size(row)]; }
  /// Whether nearly all of the expected noise comes from rounding to 16 bits.
  bool rounds_to_16_bits(Index row) const { return rounds_to_16_bits_[as_size(row)]; }
  /// Whether the expected noise was fitted to the results themselves.
  bool supposes_noise() const { return supposes_noise_; }
  /// By how much a wrongly open or closed cell of weight 1 raises the misfit; 0: not known.
  double cell_misfit(Index row) const { return cell_misfit_[as_size(row)]; }

  /// Whether all elements of a row are zero, or one is NaN, where the declared mask gives numbers.
  Blank blank(Index row) const { return blank_[as_size(row)]; }

  /// The number of elements of a row.
  Index length(Index row) const { return arrays_[position(row).array].length; }

  Index batches() const { return batches_; }
  std::string_view array(const RowPosition& position) const { return arrays_[position.array].name; }

  /// The rows whose results under a candidate differ from those of the declared call by more than
  /// f32 sums can explain; absent if the candidate says nothing of an array. `spread`: the results
  /// for values of random signs, if rows of the candidate may be noisier than the declared ones.
  std::optional<std::vector<RowResidual>> under(const NamedResults& other,
                                                const NamedResults* spread = nullptr) const;

 private:
  struct Array {
    std::string name;
    std::vector<double> given, declared;
    ArrayNoise noise;
    double relative = 0, absolute = 0;
    Index first = 0, count = 0, length = 0;  // first row, number of rows, elements per row
  };

  void add(const VerifyRequest& request, const std::string& name, const Tensor& given,
           const Tensor& reference, const Tensor& declared, const Rounding& rounding,
           const std::optional<Mask>& mask);
  void add_positions(const VerifyRequest& request, const Tensor& tensor, const Array& array);
  void add_freedom(const Array& array, Index row);
  void add_keys(const Array& array, const std::optional<Mask>& mask);
  void add_blank(const Array& array, Index row);
  double noise(const Array& array, Index row, double value) const;
  double noise_under(const Array& array, Index row, std::span<const double> other,
                     std::span<const double> spread) const;

  std::vector<Array> arrays_;
  std::vector<RowPosition> positions_;
  std::vector<Index> groups_;
  std::vector<double> misfit_, freedom_, cell_misfit_;
  std::vector<bool> off_, rounds_to_16_bits_;
  std::vector<bool> few_keys_, no_key_;  // rows that see one key or none; rows that see none
  std::vector<Blank> blank_;
  Index group_count_ = 0, batches_ = 1;
  bool supposes_noise_;
};

}  // namespace maskctl::attention
