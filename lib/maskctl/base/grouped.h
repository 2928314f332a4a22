// How counts are written for people; JSON and arrays have plain digits.
#pragma once

#include <string>

#include "maskctl/base/index.h"

namespace maskctl {

/// "12,345,678"; numbers of up to four digits as they are.
std::string grouped(Index n);

}  // namespace maskctl
