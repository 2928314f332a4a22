// Masks and arrays as values that Python's pickle can write.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "maskctl/io/masks/mask_io.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::app {

nanobind::tuple state_of(const Tensor& tensor);
/// Restores a tensor. Throws Error(kInvalidArgument) for a tuple that state_of() cannot have made.
Tensor tensor_of(const nanobind::tuple& state);

/// The cells of a mask as arrays of runs. Needs no lock of the interpreter, and takes long for
/// large masks.
std::vector<NamedTensor> runs_of(const Mask& mask);
/// The state for pickle: the cells as `runs`, and the notes from reading the array. Throws
/// Error(kUnsupported) for objects of other libraries that were read from a file.
nanobind::tuple state_of(const LoadedMask& loaded, const std::vector<NamedTensor>& runs);
LoadedMask loaded_of(const nanobind::tuple& state);

}  // namespace maskctl::app
