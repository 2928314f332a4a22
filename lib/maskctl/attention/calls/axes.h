// Parses the axis notation of operation.h, as in "B Tq Hq D|Tq Hq D".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl::attention {

struct Axis {
  std::string name;  // empty for an axis of fixed extent
  /// The extent of the axis is `factor` times the extent called `name`, as in "2Hkv"; without a
  /// name, the extent is `factor`.
  Index factor = 1;
  bool cumulative = false;  // "N+1": one element longer, as cumulative lengths are

  /// Whether the axis may have the extent of either of two names, as in "Hq/Hkv".
  bool is_either() const { return name.find('/') != name.npos; }
};

/// The axes of every alternative in `axes`, in the order written.
std::vector<std::vector<Axis>> axes_alternatives(std::string_view axes);
/// The axes of the first alternative in `axes`.
std::vector<Axis> first_axes(std::string_view axes);
/// The axes of the first alternative with `rank` axes; nullopt when no alternative has that many.
std::optional<std::vector<Axis>> axes_of_rank(std::string_view axes, std::size_t rank);
/// Like axes_of_rank(), but throws Error(kShape) instead of returning nullopt; `what` names the
/// array in the message.
std::vector<Axis> checked_axes(std::string_view axes, std::size_t rank,
                               std::string_view what = "an array");

}  // namespace maskctl::attention
