// Texts of tokens as labels along an axis.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// A label takes at most this many columns.
inline constexpr Index kMostLabelColumns = 16;

/// One label for each query, or for each key.
struct AxisLabels {
  std::vector<std::string> texts;  // UTF-8 that is safe to show
  Index widest = 0;                // columns of the widest label
};

/// Tokens of any bytes as labels: printable() with a dot for each blank, and without combining
/// marks. Labels are cut to kMostLabelColumns, and then end with "…".
AxisLabels axis_labels(std::span<const std::string_view> tokens);

}  // namespace maskctl
