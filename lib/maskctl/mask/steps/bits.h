// How many bits the arguments of a step take: the shortest description of a mask is the best one.
#pragma once

#include <vector>

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// Counts the bits that the arguments of one step take. A rule for which arguments() is wrong, or
/// slow because it copies an array, defines `Index bits(const Rule&, const ArgumentBits&)`.
class ArgumentBits {
 public:
  /// The bits of an array's name.
  static constexpr Index kName = 4;

  /// `number` is how many bits an index takes.
  ArgumentBits(const Step& step, Index number) : step_(step), number_(number) {}

  Index number() const { return number_; }
  /// A number that may be negative. 0 takes no bits, as it has no effect.
  Index signed_number(Index value) const { return value == 0 ? 0 : number_ + 1; }
  /// One number, or one per batch. An empty array, or the single number 0, takes no bits.
  Index list(const NamedArray& values) const;
  Index ranges(const std::vector<Range>& ranges) const;
  /// The name of the array, and for each run of equal ids its length and id.
  Index runs(const NamedArray& ids) const;
  /// The sum over all arguments of the step. A choice takes one bit unless it is the default; a
  /// choice without a default takes none, because the shape of the mask decides it.
  Index arguments() const;

 private:
  const Step& step_;
  Index number_;
};

}  // namespace maskctl
