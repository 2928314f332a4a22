// One call under other masks and conventions, run by the fast path in f32; private to verify.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/verify/request.h"

namespace maskctl::attention {

/// Converts arrays of 16-bit floats to f32. This changes no value, but results are then rounded
/// only to f32.
NamedArguments in_f32(NamedArguments arguments);

/// Whether some row sees no key.
bool has_empty_rows(const Mask& mask);
/// The policy for rows without a key: "zero", "mean" or "nan".
std::string_view empty_row_policy(const NamedArguments& arguments);

/// Whether the operation adds the bias before the soft cap; the others add it after.
bool adds_bias_before_cap(const Operation& operation);

class CallVariants {
 public:
  /// `given`: the results to check; if some are gradients, the call computes gradients too. `mask`:
  /// the mask that the call applies; if absent, it is not known and cannot be changed.
  CallVariants(const VerifyRequest& request, const NamedResults& given,
               const std::optional<Mask>& mask);

  bool can_change_mask() const { return mask_.has_value(); }
  const Operation& operation() const { return *operation_; }
  const NamedArguments& arguments() const { return arguments_; }
  const std::optional<Mask>& mask() const { return mask_; }
  /// Whether gradients are among the results.
  bool gradients() const { return gradients_; }
  NamedResults declared() const { return run(arguments_); }
  /// Whether there is a separate array of f32 values.
  bool has_values() const;
  /// The arguments with each value vector multiplied by 1 or -1 at random, and without gradients.
  /// Needs has_values().
  static NamedArguments randomly_signed(NamedArguments arguments);
  /// The results of the declared call for such values.
  std::optional<NamedResults> with_random_signs() const;
  bool takes_lse_cotangent() const;
  /// The gradients of the call for these cotangents.
  NamedResults gradients_of(const Tensor& d_out, const Tensor& d_lse) const;
  NamedResults run(const NamedArguments& arguments) const;

 private:
  const Operation* operation_;
  NamedArguments arguments_;
  std::optional<Mask> mask_;
  bool gradients_ = false;
};

}  // namespace maskctl::attention
