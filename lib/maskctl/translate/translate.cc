#include "maskctl/translate/translate.h"

#include <fmt/format.h>

#include "maskctl/translate/write/code.h"

namespace maskctl {
namespace {

/// Writes code for libraries whose masks are not a single call.
void write(const Chain& chain, const MaskForm& mask, const StepName& name, Translation& out) {
  switch (out.library) {
    case Library::kFlex:
      return write_flex(chain, name, out);
    case Library::kHf:
      return write_hf(chain, mask, name, out);
    case Library::kMha:
      return write_dense(chain, name, out);
    case Library::kFlashmask:
      return write_flashmask(chain, mask, out);
    case Library::kVllm:
      return write_vllm(chain, name, out);
    default:
      break;
  }
  if (!mask.rest.empty()) return refuse(out, mask.rest);
  switch (out.library) {
    case Library::kSplash:
      return write_splash(mask, out);
    case Library::kEjkernel:
      return write_mask_info(mask, out);
    case Library::kCkTile:
      return write_ck_tile(mask, out);
    default:
      return write_call(mask, out);
  }
}

}  // namespace

Translation translate(const Chain& chain, Library library, const StepName& name) {
  Translation out;
  out.library = library;
  out.empty_row = info_of(library).empty_row;
  write(chain, mask_form(chain, name), name, out);
  const bool dense = library == Library::kSdpa || library == Library::kJax;
  if (!out.ok() && dense) {  // a dense mask is an argument too
    Translation whole;
    whole.library = library;
    whole.empty_row = out.empty_row;
    write_dense(chain, name, whole);
    if (whole.ok()) return whole;
  }
  if (!out.ok()) {
    out.code.clear();
    out.notes.clear();
    out.arrays.clear();
    const LibraryInfo& info = info_of(library);
    if (!info.dense.empty()) {
      out.notes.push_back(fmt::format("as a dense array: {}", info.dense));
    }
  }
  return out;
}

}  // namespace maskctl
