// Description length: how many bits describe a chain, or a cell that no chain explains; private to
// inspect. The shorter of two descriptions of a mask is preferred.
#pragma once

#include "maskctl/inspect/recognise/steps.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::recognition {

/// The bits of a description. A number costs as many bits as an index on the longer side of the
/// mask, a cell its two coordinates, a step its name and its arguments, an array its runs of equal
/// values.
class Description {
 public:
  explicit Description(const Extent& extent);

  Index number() const { return number_; }
  Index cell() const { return 2 * number_ + 1; }
  Index step() const { return 10; }
  Index of(const Step& step) const;
  Index of(const Chain& chain) const;

 private:
  Index number_;
};

}  // namespace maskctl::recognition
