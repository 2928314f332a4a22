// How many bits the arguments of a step take: of several chains of steps that give the same mask,
// the one with the fewest bits describes it best.
#pragma once

#include <vector>

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// Counts the bits that the arguments of one step take. A rule for which arguments() is wrong, or
/// slow because it copies an array, defines `Index bits(const Rule&, const ArgumentBits&)`.
class ArgumentBits {
 public:
  /// The bits that the name of an array takes.
  static constexpr Index kName = 4;

  /// `number` is how many bits an index takes.
  ArgumentBits(const Step& step, Index number) : step_(step), number_(number) {}

  Index number() const { return number_; }
  /// The bits of a number that may be negative. 0 takes no bits, as it has no effect.
  Index signed_number(Index value) const { return value == 0 ? 0 : number_ + 1; }
  /// The bits of one number, or of one number per batch. An empty array, or the single number 0,
  /// takes no bits.
  Index list(const NamedArray& values) const;
  Index ranges(const std::vector<Range>& ranges) const;
  /// The bits that an array of ids takes: those of its name, and of the length and id of each run
  /// of equal ids.
  Index runs(const NamedArray& ids) const;
  /// The bits that all arguments of the step take. A choice takes one bit unless it is the default;
  /// a choice without a default takes none, because the shape of the mask decides it.
  Index arguments() const;

 private:
  const Step& step_;
  Index number_;
};

}  // namespace maskctl
