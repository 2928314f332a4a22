// A few queries of a call, on which fits are tried before the whole call is run; private to verify.
#pragma once

#include <optional>

#include "maskctl/verify/call_variants.h"

namespace maskctl::attention {

/// The declared, the given and other results of a call, for a range of its queries.
class SomeQueries {
 public:
  /// Takes at most `most` cells of the mask, summed over heads, around the rows in which the given
  /// output is farthest from the declared one. Absent if the operation reads other arrays than
  /// query, key and value, if no output is given, and if gradients are given.
  static std::optional<SomeQueries> of(const CallVariants& call, const NamedResults& declared,
                                       const NamedResults& given, Index most = Index{1} << 24);

  const NamedArguments& arguments() const { return arguments_; }
  const Tensor& declared() const { return declared_; }
  const Tensor& given() const { return given_; }  // in f32
  /// The sum over rows of |given - other|^2, without elements that are not finite.
  double distance(const Tensor& other) const;
  /// Like distance(), but for rows in which the declared output is nearer, counts the declared
  /// output.
  double distance_in_part(const Tensor& other) const;

 private:
  NamedArguments arguments_;
  Tensor declared_, given_;
};

}  // namespace maskctl::attention
