#include "maskctl/translate/translate.h"

#include <fmt/format.h>

namespace maskctl {

Translation translate(const Chain& chain, const Library& library, const StepName& name) {
  Translation out;
  out.library = &library;
  out.empty_row = library.empty_row;
  library.writer(chain, mask_form(chain, name), name, out);
  if (out.ok()) return out;
  out.code.clear();
  out.notes.clear();
  out.arrays.clear();
  if (!library.dense.empty()) {
    out.notes.push_back(fmt::format("as a dense array: {}", library.dense));
  }
  return out;
}

}  // namespace maskctl
