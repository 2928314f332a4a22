#include "maskctl/inspect/recognise/description.h"

#include <algorithm>
#include <bit>

#include "maskctl/mask/steps/bits.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::recognition {

Description::Description(const Extent& extent)
    : number_(static_cast<Index>(
          std::bit_width(static_cast<std::uint64_t>(std::max(extent.queries, extent.keys))))) {}

Index Description::of(const Step& one) const {
  const ArgumentBits bits(one, number_);
  const auto own = one.row().bits;
  const Chain* inner = chain_of(one);
  return step() + (own ? own(one, bits) : bits.arguments()) + (inner ? of(*inner) : 0);
}

Index Description::of(const Chain& chain) const {
  Index bits = 0;
  for (const Step& one : chain) bits += of(one);
  return bits;
}

}  // namespace maskctl::recognition
