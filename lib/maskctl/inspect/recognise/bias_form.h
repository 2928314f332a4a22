// Finds the form of the finite numbers of an additive bias: ALiBi slopes, a table of relative
// positions, a few numbers in few regions, or something irregular.
#pragma once

#include <string>
#include <vector>

#include "maskctl/mask/arrays/bias.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// A number other than 0 in a bias of few numbers, and the cells that hold it.
struct BiasPart {
  double value = 0;
  Index cells = 0;
  std::string where;  // "queries 0-27, keys 28-35"
  bool operator==(const BiasPart&) const = default;
};

/// The form of the bias of one head, closed cells apart; d = key - query - shift.
struct BiasPlane {
  enum class Form : std::uint8_t {
    kZero,       // every open cell holds 0
    kDistance,   // slope * |d|
    kRelative,   // slope * d; under a causal mask the same as kByKey up to a constant per row
    kByKey,      // slope * key
    kTwo,        // 0 and one negative number so low that it may mean closed
    kOne,        // one number other than 0 in every open cell
    kPair,       // two numbers, one for each d
    kParts,      // 0 and few other numbers, each in few rows, columns or rectangles
    kTable,      // one number for each d, more than two different ones
    kIrregular,  // anything else
  };
  Form form = Form::kZero;
  double slope = 0;               // for kDistance, kRelative, kByKey
  Index shift = 0;                // for kDistance, kRelative: the key at which query 0 stands
  Index numbers = 0;              // how many different numbers, for kTable
  double least = 0, largest = 0;  // the range of all finite numbers
  std::vector<BiasPart> parts;    // for kParts, the lowest number first
  bool operator==(const BiasPlane&) const = default;
};

struct BiasForm {
  std::vector<BiasPlane> planes;  // one per batch and head, in this order
  BiasSeen closed;                // -inf, and numbers at or below kAlwaysCloses
  Index closed_cells = 0, inf_cells = 0, nan_cells = 0;  // of +inf, and of NaN
  Index queries = 0, heads = 0;
};

/// Returns the form of the numbers in a bias, a float array [Q,K], [B,Q,K] or [B,H,Q,K]. Slopes and
/// numbers are compared to the precision of the dtype. Throws Error(kShape) for other ranks,
/// Error(kInvalidArgument) for other types.
BiasForm bias_form(const Tensor& bias);

/// One line for each form that occurs, such as "ALiBi: -m * |key - query|, slopes m 0.25 0.0625",
/// with "queries 0-3 at keys 20-23" if query 0 does not stand at key 0, and "0.25 (heads 1, 3)"
/// where heads of one batch entry share a slope; and one each for cells of +inf
/// and of NaN.
std::vector<std::string> bias_text(const BiasForm& form);

}  // namespace maskctl
