// Writes a mask as arguments or code for another library, or says why that is not possible.
#pragma once

#include <string>
#include <vector>

#include "maskctl/translate/conventions.h"
#include "maskctl/translate/mask_form.h"

namespace maskctl {

struct Translation {
  const Library* library = nullptr;
  std::vector<std::string> code;   // lines of code; empty if refused
  std::vector<std::string> notes;  // what else the code needs, or how its mask differs
  std::string refusal;             // why the library cannot express the mask; empty if it can
  std::string_view empty_row;      // what the output of a query without keys is in this code
  /// An array that is too long to write into the code, which reads it from the file NAME.npy.
  struct Array {
    std::string name;
    Tensor array;
  };
  std::vector<Array> arrays;
  bool ok() const { return refusal.empty(); }
};

/// Writes, for `library`, the mask that the chain gives when applied to a full mask. Numbers are
/// converted to the library's conventions (conventions.h). What a library cannot express is
/// refused, never approximated.
Translation translate(const Chain& chain, const Library& library, const StepName& name);

}  // namespace maskctl
