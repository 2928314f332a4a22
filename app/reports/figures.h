// Formats numbers for text reports.
#pragma once

#include <string>

#include "maskctl/base/index.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::app {

/// The largest number of (batch, head) pairs that a text report lists, one a line; --json lists
/// all.
inline constexpr Index kMostPlaneLines = 32;

/// "12.55 %". "0 %" and "100 %" appear only if exact; nearly all is ">99.99 %".
std::string percent(Index part, Index whole);
/// "1.5 MiB".
std::string bytes_text(Index bytes);
/// The elements as text: one line per row of the last axis, numbers separated by blanks; a 1-D
/// tensor has one number a line. Integers look as np.savetxt writes them with "%d"; floats are the
/// shortest text that reads back as the same float32.
std::string rows_text(const Tensor& tensor);

}  // namespace maskctl::app
