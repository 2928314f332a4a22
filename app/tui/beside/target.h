// What the user can search for.
#pragma once

#include <cstdint>

namespace maskctl::app::tui {

enum class Target : std::uint8_t { kLeak, kEmptyRow, kPartial, kBorder, kDifference };

}  // namespace maskctl::app::tui
