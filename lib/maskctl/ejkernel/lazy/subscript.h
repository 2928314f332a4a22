// The indices of mask[...]: printing as in Python, checking, resolving.
#pragma once

#include <span>
#include <string>

#include "maskctl/ejkernel/lazy/lazy_mask.h"

namespace maskctl::lazy {

/// "(0, slice(None, None, None))": the index tuple as Python prints it.
std::string python_text(std::span<const Subscript> index);

/// The result of slice.indices(extent): `count` positions from `start` in steps of `step`.
struct Positions {
  Index start = 0, step = 1, count = 0;
};
/// Throws PythonError(ValueError) for a step of 0.
Positions resolve(const Slice& slice, Index extent);

/// The two slices that index a mask without stored elements, with None resolved. For rows a
/// negative stop wraps around as in a slice; columns count from start to stop as in arange. Throws
/// PythonError: NotImplementedError for other indices; AssertionError, without text, for a step, a
/// negative start or a stop past the extent.
struct Window {
  Index q_start = 0, q_stop = 0, k_start = 0, k_stop = 0;
};
Window filled_slices(std::span<const Subscript> index, std::span<const Index> shape);

}  // namespace maskctl::lazy
