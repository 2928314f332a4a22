// A few queries of a call, on which fits are tried before the whole call is run; private to verify.
#pragma once

#include <optional>

#include "maskctl/verify/call_variants.h"

namespace maskctl::attention {

/// The results of a call and of a run of it elsewhere, for a range of its queries.
class SomeQueries {
 public:
  /// Takes at most `most` cells of the mask, summed over heads, around the rows in which the given
  /// output is farthest from the declared one. Absent for operations of other arrays than query,
  /// key and value, where no output is given, and where gradients are.
  static std::optional<SomeQueries> of(const CallVariants& call, const NamedResults& declared,
                                       const NamedResults& given, Index most = Index{1} << 24);

  const NamedArguments& arguments() const { return arguments_; }
  const Tensor& declared() const { return declared_; }
  const Tensor& given() const { return given_; }  // in f32
  /// The sum over rows of |given - other|^2, without elements that are not finite.
  double distance(const Tensor& other) const;
  /// The same, where each row may also be the declared one.
  double distance_in_part(const Tensor& other) const;

 private:
  NamedArguments arguments_;
  Tensor declared_, given_;
};

}  // namespace maskctl::attention
