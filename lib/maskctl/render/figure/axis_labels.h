// Strings of tokens as labels along an axis.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// The most columns of a label.
inline constexpr Index kMostLabelColumns = 16;

/// A label for each query or each key.
struct AxisLabels {
  std::vector<std::string> texts;  // UTF-8 that is safe to show
  Index widest = 0;                // columns
};

/// Tokens of any bytes as labels: readable_text(), with a dot for each blank, without marks that
/// combine with the character before them, and cut to kMostLabelColumns, with "…" at the end.
AxisLabels axis_labels(std::span<const std::string_view> tokens);

}  // namespace maskctl
