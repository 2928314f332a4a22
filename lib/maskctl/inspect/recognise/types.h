// Token types that were opened on top of another mask; private to inspect.
#pragma once

#include <vector>

#include "maskctl/inspect/recognise/classes.h"

namespace maskctl::recognition {

/// Classes whose squares avoid `closed` and contain cells of `open` that no band, documents,
/// stride, padding or block grid below them is likely to contain. Guesses, the best first.
std::vector<Classes> likely_types(const PlanePtr& open, const PlanePtr& closed);

}  // namespace maskctl::recognition
