// The options of `info` for a MaskInfo.
#pragma once

#include <optional>
#include <string>

#include "app/session/options.h"
#include "maskctl/base/index.h"

namespace maskctl::app {

/// How the arrays of a MaskInfo are split over a mesh of devices.
struct MeshOptions {
  std::string mesh;  // "dp=2+tp=4"; empty: none
  std::string axes;  // "batch=dp,heads=tp"
  bool sequence_parallel = false;
};

/// Which array to print, arguments for ejkernel's function that computes it, and where to write it.
struct PrintOptions {
  std::optional<std::size_t> array;  // index in kPrintedArrays; absent: no --print
  bool per_head = false;
  std::optional<Index> max_segments;
  std::optional<std::size_t> reduce_heads;
  OutputOptions output;
};

}  // namespace maskctl::app
