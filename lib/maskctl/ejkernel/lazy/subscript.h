// The index tuples of mask[...]: their Python text, checks, and the positions that they select.
#pragma once

#include <span>
#include <string>

#include "maskctl/ejkernel/lazy/lazy_mask.h"

namespace maskctl::lazy {

/// The index tuple as Python prints it: "(0, slice(None, None, None))".
std::string python_text(std::span<const Subscript> index);

/// The result of Python's slice.indices(extent): `count` positions from `start` in steps of `step`.
struct Positions {
  Index start = 0, step = 1, count = 0;
};
/// Throws PythonError(ValueError) if the step is 0.
Positions resolve(const Slice& slice, Index extent);

/// The queries and keys that mask[slice, slice] selects from a mask that stores no elements. Ends
/// that are None are replaced by those of the axis. A negative stop of the slice of queries counts
/// from the end, as in Python; keys run from start to stop, as in numpy.arange. filled_slices()
/// throws PythonError: NotImplementedError for other kinds of indices; AssertionError, without a
/// message, for a step, a negative start, or a stop past the extent.
struct Window {
  Index q_start = 0, q_stop = 0, k_start = 0, k_stop = 0;
};
Window filled_slices(std::span<const Subscript> index, std::span<const Index> shape);

}  // namespace maskctl::lazy
