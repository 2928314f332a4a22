#include "maskctl/mask/steps/change.h"

#include <fmt/format.h>

namespace maskctl {

void Reason::add(const std::string& more) {
  if (changes++ > 0) words += " and ";
  words += more;
}

void Reason::compare(std::string_view name, Index a, Index b) {
  if (a != b) add(fmt::format("{} {}", name, instead(b, a)));
}

std::string instead(Index b, Index a) { return fmt::format("{} instead of {}", b, a); }

}  // namespace maskctl
