// What finite numbers of an additive bias are: ALiBi's slopes, a table of relative positions, or
// nothing that repeats.
#pragma once

#include <string>
#include <vector>

#include "maskctl/mask/bias.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// The finite numbers of one head, closed cells left out; d = key - query.
struct BiasPlane {
  enum class Form : std::uint8_t {
    kZero,       // every open cell holds 0
    kDistance,   // slope * |d|
    kRelative,   // slope * d, which under causal is the same as by key but for a constant
    kByKey,      // slope * key
    kTable,      // a number for each d
    kIrregular,  // anything else
  };
  Form form = Form::kZero;
  double slope = 0;               // of kDistance, kRelative, kByKey
  Index numbers = 0;              // different ones, of kTable
  double least = 0, largest = 0;  // of all finite numbers
  bool operator==(const BiasPlane&) const = default;
};

struct BiasForm {
  std::vector<BiasPlane> planes;  // of each batch and head, in this order
  BiasSeen closed;                // -inf and numbers at or below kAlwaysCloses
  Index closed_cells = 0;
};

/// Of [Q,K], [B,Q,K] or [B,H,Q,K] of floats. Slopes and numbers are compared to the precision of
/// the dtype. Throws Error(kShape) for other ranks, Error(kInvalidArgument) for other types.
BiasForm bias_form(const Tensor& bias);

/// "ALiBi: -m * |key - query|, slopes m 0.25 0.0625": a line for each form that occurs.
std::vector<std::string> bias_text(const BiasForm& form);

}  // namespace maskctl
