#include "maskctl/mask/arrays/array_facts.h"

#include <fmt/format.h>

namespace maskctl {

std::string to_text(const FactSeen& seen) {
  const bool one = seen.count == 1;
  const std::string lists = fmt::format("{} list{}", seen.count, one ? "" : "s");
  switch (seen.fact) {
    case ArrayFact::kListRepeats:
      return fmt::format("{} {} a key twice", lists, one ? "has" : "have");
    case ArrayFact::kListGaps:
      return fmt::format("{} {} keys after -1", lists, one ? "has" : "have");
    case ArrayFact::kListOrder:
      return fmt::format("the keys of {} do not ascend", lists);
    case ArrayFact::kSlicesOverlap:
      return fmt::format("slices overlap: together they have {} cell{} too many", seen.count,
                         one ? "" : "s");
    case ArrayFact::kCount:
      break;
  }
  return "";
}

}  // namespace maskctl
