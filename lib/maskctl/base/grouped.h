// Counts as people read them, with digits in groups of three. JSON and arrays have plain digits.
#pragma once

#include <string>

#include "maskctl/base/index.h"

namespace maskctl {

/// "12,345,678"; numbers of up to four digits have no comma: "1234".
std::string grouped(Index n);

}  // namespace maskctl
