// How many drawn masks a law is asked about: MASKCTL_SENTENCES=100000 by hand, from draw
// MASKCTL_SENTENCES_FROM on.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "maskctl/base/index.h"
#include "support/rounds.h"

namespace maskctl::test {

inline Index draws_asked(Index usual) {
  const char* many = std::getenv("MASKCTL_SENTENCES");
  return many ? std::atoll(many) : rounds(usual);
}
inline std::uint64_t first_draw() {
  const char* from = std::getenv("MASKCTL_SENTENCES_FROM");
  return from ? std::strtoull(from, nullptr, 10) : 0;
}

}  // namespace maskctl::test
