// Loads SOURCEs as ejkernel's MaskInfo.
#include <fmt/format.h>

#include "app/session/loader.h"
#include "maskctl/base/error.h"
#include "maskctl/io/masks/mask_info_io.h"
#include "maskctl/pipeline/ejkernel_chain.h"
#include "maskctl/pipeline/steps/generate.h"

namespace maskctl::app {
namespace {

MaskInfo from_ids(LoadedMask& loaded, bool shared) {
  const Tensor& q = *loaded.q_segment_ids;
  if (shared || !loaded.kv_segment_ids) return MaskInfo::from_segments(q);
  return MaskInfo::from_segments(q, make_array(std::move(*loaded.kv_segment_ids)));
}

}  // namespace

MaskInfo Loader::mask_info(const std::string& source) {
  if (source_.pad_id != -1) {
    throw Error(Errc::kInvalidArgument, "--pad-id: the padding id of MaskInfo is always -1");
  }
  const bool generated = is_generator(source);
  const bool two = source.starts_with("q=") || source.starts_with("kv=");
  if (!generated && !two && (source_.as_mask_info || holds_mask_info(source, options().read))) {
    session_.take_stdin(source);
    return read_mask_info(source, options().read);
  }
  if (source_.as == ArrayKind::kPadding && !generated) {
    const MaskArray valid(array(source));
    return MaskInfo::from_attention_mask(valid, !source_.keep_value_is_zero);
  }
  if (source_.as == ArrayKind::kPairs && source_.shape && !two && !generated) {
    const Index queries = (*source_.shape)[2], keys = (*source_.shape)[3];
    return MaskInfo::from_cu_seqlens(array(source), queries, nullptr, keys);
  }
  LoadedMask loaded = read(source);
  if (loaded.q_segment_ids) return from_ids(loaded, !two);
  return MaskInfo::from_attention_mask(MaskArray(std::move(loaded.mask)));
}

MaskInfo Loader::transformed(MaskInfo info) {
  return apply_ejkernel(std::move(info), source_.transforms, context());
}

}  // namespace maskctl::app
