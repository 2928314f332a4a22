// Reading the notation of axes of operation.h: "B Tq Hq D|Tq Hq D".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl::attention {

struct Axis {
  std::string name;         // empty for a fixed extent
  Index factor = 1;         // the extent is this many times that of the name
  bool cumulative = false;  // one longer

  /// "Hq/Hkv" is one of two.
  bool is_either() const { return name.find('/') != name.npos; }
};

/// All alternatives, in order.
std::vector<std::vector<Axis>> axes_alternatives(std::string_view axes);
/// The first alternative.
std::vector<Axis> first_axes(std::string_view axes);
/// The alternative of that rank; the first of several; nothing when there is none.
std::optional<std::vector<Axis>> axes_of_rank(std::string_view axes, std::size_t rank);
/// Like axes_of_rank(), but throws Error(kShape) where that finds none; `what` names the array.
std::vector<Axis> checked_axes(std::string_view axes, std::size_t rank,
                               std::string_view what = "an array");

}  // namespace maskctl::attention
