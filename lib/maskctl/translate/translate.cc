#include "maskctl/translate/translate.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/mask/steps/rule.h"

namespace maskctl {

Translation translate(const Chain& given, const Library& library, const StepName& name) {
  // Skips steps that open cells at the beginning, when all cells are still open.
  const auto opens = [](const Step& step) { return step.row().meets(step) == Meets::kOpens; };
  const Chain chain(std::ranges::find_if_not(given, opens), given.end());
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
