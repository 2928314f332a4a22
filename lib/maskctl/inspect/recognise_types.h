// Token types that were joined to another mask; private to inspect.
#pragma once

#include <vector>

#include "maskctl/inspect/recognise_classes.h"

namespace maskctl::recognising {

/// Classes whose squares avoid `closed` and hold cells of `open` that no band, document, stride,
/// padding or block grid under them is likely to hold. Guesses, best first.
std::vector<Classes> likely_types(const PlanePtr& open, const PlanePtr& closed);

}  // namespace maskctl::recognising
