// One call under other masks and conventions, on the fast path in f32; private to verify.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/attention/verify/verify.h"

namespace maskctl::attention {

/// Arrays of 16-bit floats as f32, which changes no value: results are then rounded to f32 only.
NamedArguments in_f32(NamedArguments arguments);

/// Whether some row sees no key.
bool has_empty_rows(const Mask& mask);
/// "zero", "mean" or "nan": what rows without a key give.
std::string_view empty_row_policy(const NamedArguments& arguments);

/// A variant of a call that leaves its mask as it is.
struct CallVariant {
  std::string text;
  NamedArguments arguments;
};

class CallVariants {
 public:
  /// `given`: the results to judge; gradients are computed where it has some. `mask`: the mask that
  /// the call applies; absent: not known, and then it cannot be changed.
  CallVariants(const VerifyRequest& request, const NamedResults& given,
               const std::optional<Mask>& mask);

  bool can_change_mask() const { return mask_.has_value(); }
  NamedResults declared() const { return run(arguments_); }
  NamedResults under(const Mask& mask) const;
  /// The declared call with each value times 1 or -1; absent for a latent.
  std::optional<NamedResults> with_random_signs() const;
  bool takes_lse_cotangent() const;
  /// The gradients of given cotangents.
  NamedResults gradients_of(const Tensor& d_out, const Tensor& d_lse) const;
  /// The same call with other policies for rows without a key, if it has such rows, and with query
  /// heads dealt to key heads in turn instead of in groups.
  std::vector<CallVariant> others() const;
  NamedResults run(const NamedArguments& arguments) const;

 private:
  const Operation* operation_;
  NamedArguments arguments_;
  std::optional<Mask> mask_;
  bool gradients_ = false;
};

}  // namespace maskctl::attention
