// How numbers are printed.
#pragma once

#include <string>

#include "maskctl/base/index.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::app {

/// The most batches and heads that a text lists, one a line; --json lists all.
inline constexpr Index kMostPlaneLines = 32;

/// "12.55 %"; "0 %" and "100 %" only if exact, so that a single cell is never rounded away.
std::string percent(Index part, Index whole);
/// "1.5 MiB".
std::string bytes_text(Index bytes);
/// Numbers, one line for each entry of all axes but the last (of a list, one number a line), as
/// np.savetxt writes integers; floats as the shortest text that float32 reads back.
std::string rows_text(const Tensor& tensor);

}  // namespace maskctl::app
