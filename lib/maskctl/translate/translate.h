// A mask in the arguments of other libraries: code to paste, or why it cannot be expressed there.
#pragma once

#include <string>
#include <vector>

#include "maskctl/translate/conventions.h"
#include "maskctl/translate/mask_form.h"

namespace maskctl {

struct Translation {
  const Library* library = nullptr;
  std::vector<std::string> code;   // lines; empty when refused
  std::vector<std::string> notes;  // when the code means another mask, or needs more
  std::string refusal;             // why there are no such arguments; empty when there are
  std::string_view empty_row;      // what this code gives for a row without keys
  /// An array too long for a line: the code reads it from the file NAME.npy.
  struct Array {
    std::string name;
    Tensor array;
  };
  std::vector<Array> arrays;
  bool ok() const { return refusal.empty(); }
};

/// Writes, for `library`, the mask that the chain makes of an all-open one. Numbers are converted
/// between the conventions of conventions.h; what a library cannot express is a refusal, never an
/// approximation.
Translation translate(const Chain& chain, const Library& library, const StepName& name);

}  // namespace maskctl
