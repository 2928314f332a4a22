#include "maskctl/verify/judge.h"

#include <array>

namespace maskctl::attention {

std::string_view name(Verdict verdict) {
  constexpr std::array<std::string_view, 6> kNames{"obeys",   "another",    "none",
                                                   "unclear", "other-call", "partly"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::string_view name(Comparison::State state) {
  constexpr std::array<std::string_view, 3> kNames{"rejected", "fits", "undecided"};
  return kNames[static_cast<std::size_t>(state)];
}

}  // namespace maskctl::attention
