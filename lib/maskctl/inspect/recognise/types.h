// Token types that were opened on top of another mask; private to inspect.
#pragma once

#include <vector>

#include "maskctl/inspect/recognise/classes.h"

namespace maskctl::recognition {

/// Guesses, the best first, which classes were opened on top of other steps. No class contains a
/// cell of `closed`, and each guess contains cells of `open` that a band, documents, a stride,
/// padding or a block grid are not likely to give.
std::vector<Classes> likely_types(const PlanePtr& open, const PlanePtr& closed);

}  // namespace maskctl::recognition
