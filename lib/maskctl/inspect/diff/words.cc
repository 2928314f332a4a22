#include "maskctl/inspect/diff/words.h"

#include <fmt/format.h>

namespace maskctl {

std::string instead(Index b, Index a) { return fmt::format("{} instead of {}", b, a); }

}  // namespace maskctl
