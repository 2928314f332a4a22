// Which arrays of a file may be a mask, and as which kinds.
#pragma once

#include <string>
#include <vector>

#include "maskctl/io/kinds/kind.h"
#include "maskctl/io/streams/options.h"

namespace maskctl {

/// An array of a file, and how to name it as a SOURCE.
struct ArrayChoice {
  std::string source;  // "m.npz:ids"; the file itself where it is the only array
  std::string dtype;   // as in ContainerOutline
  std::vector<Index> shape;
  std::vector<ArrayKind> kinds;  // by type, shape and, where they decide, values; may be none
};

/// The arrays of a regular file, in its order; none for anything else. Throws as open_container().
std::vector<ArrayChoice> array_choices(const std::string& file, const ReadOptions& options);

/// "m.npz:ids (int32 (2, 64): segments or padding)".
std::string to_text(const ArrayChoice& choice);

}  // namespace maskctl
