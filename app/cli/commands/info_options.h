// What `info` is asked about a MaskInfo.
#pragma once

#include <optional>
#include <string>

#include "app/session/options.h"
#include "maskctl/base/index.h"

namespace maskctl::app {

/// How a mesh of devices splits the arrays of a MaskInfo.
struct MeshOptions {
  std::string mesh;  // "dp=2+tp=4"; empty: none
  std::string axes;  // "batch=dp,heads=tp"
  bool sequence_parallel = false;
};

/// Which array is printed, the arguments of the method that gives it, and where it goes.
struct PrintOptions {
  std::optional<std::size_t> array;  // of the list that --print takes; absent: no --print
  bool per_head = false;
  std::optional<Index> max_segments;
  std::optional<std::size_t> reduce_heads;
  OutputOptions output;
};

}  // namespace maskctl::app
