// The indices of mask[...]: how Python prints, checks and resolves them.
#pragma once

#include <span>
#include <string>

#include "maskctl/mask/lazy/lazy_mask.h"

namespace maskctl::lazy {

/// "(0, slice(None, None, None))": the index tuple as Python prints it.
std::string python_text(std::span<const Subscript> index);

/// What slice.indices(extent) gives: `count` positions from `start` in steps of `step`.
struct Positions {
  Index start = 0, step = 1, count = 0;
};
/// Throws PythonError(ValueError) for a step of 0.
Positions resolve(const Slice& slice, Index extent);

/// The two slices that index a mask without stored elements, None filled in. Rows wrap a negative
/// stop as a slice does, columns count from start to stop as arange does.
/// Throws PythonError: NotImplementedError for other indices; AssertionError, with no text, for a
/// step, a negative start or a stop past the extent.
struct Window {
  Index q_start = 0, q_stop = 0, k_start = 0, k_stop = 0;
};
Window filled_slices(std::span<const Subscript> index, std::span<const Index> shape);

}  // namespace maskctl::lazy
