// Lists the arrays of a file that may be masks, with the kinds they fit.
#pragma once

#include <string>
#include <vector>

#include "maskctl/io/kinds/kind.h"
#include "maskctl/io/streams/options.h"

namespace maskctl {

/// An array of a file, with the SOURCE text that names it.
struct ArrayChoice {
  std::string source;  // "m.npz:ids"; only the file if it has no other array
  std::string dtype;   // as in ContainerOutline
  std::vector<Index> shape;
  std::vector<ArrayKind> kinds;  // kinds that dtype, shape and, if needed, values fit; may be empty
};

/// The arrays of a regular file, in their order in the file; empty for anything else. Throws like
/// open_container().
std::vector<ArrayChoice> array_choices(const std::string& file, const ReadOptions& options);

/// Describes an array for messages: "m.npz:ids (int32 (2, 64): segments or padding)".
std::string to_text(const ArrayChoice& choice);

}  // namespace maskctl
