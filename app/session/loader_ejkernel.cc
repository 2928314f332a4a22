// Loads SOURCEs as ejkernel's MaskInfo.
#include "app/session/loader.h"
#include "maskctl/base/error.h"
#include "maskctl/pipeline/ejkernel_chain.h"
#include "maskctl/pipeline/steps/generate.h"

namespace maskctl::app {

MaskInfo Loader::mask_info(const std::string& source) {
  if (source_.pad_id != -1) {
    throw Error(Errc::kInvalidArgument, "--pad-id: the padding id of MaskInfo is always -1");
  }
  if (source_.as == ArrayKind::kPadding && !is_generator(source)) {
    const MaskArray valid(array(source));  // of any numbers
    return MaskInfo::from_attention_mask(valid, !source_.keep_value_is_zero);
  }
  LoadedMask loaded = read(source);
  if (loaded.mask_info) return loaded.mask_info();
  return MaskInfo::from_attention_mask(MaskArray(std::move(loaded.mask)));
}

MaskInfo Loader::transformed(MaskInfo info) {
  return apply_ejkernel(std::move(info), source_.transforms, context());
}

}  // namespace maskctl::app
