// The number of drawn masks on which laws are tested; by hand MASKCTL_SENTENCES=100000 sets it, and
// MASKCTL_SENTENCES_FROM the first draw.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "maskctl/base/index.h"
#include "support/rounds.h"

namespace maskctl::test {

inline bool asked_by_hand() { return std::getenv("MASKCTL_SENTENCES") != nullptr; }
inline Index draws_asked(Index usual) {
  return asked_by_hand() ? std::atoll(std::getenv("MASKCTL_SENTENCES")) : rounds(usual);
}
/// One in this many draws is tested with planted lies, too.
inline Index draws_per_lie() { return asked_by_hand() ? 20 : 4; }
inline std::uint64_t first_draw() {
  const char* from = std::getenv("MASKCTL_SENTENCES_FROM");
  return from ? std::strtoull(from, nullptr, 10) : 0;
}

}  // namespace maskctl::test
