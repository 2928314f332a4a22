// Loads SOURCEs as ejkernel's MaskInfo.
#include <algorithm>

#include "app/session/loader.h"
#include "maskctl/base/error.h"
#include "maskctl/pipeline/ejkernel_chain.h"
#include "maskctl/pipeline/steps/generate.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::app {
namespace {

Index largest(const Tensor& ends) {
  const auto values = as_int64(ends, "an array of start-end pairs");
  return values.empty() ? 0 : std::max<Index>(0, std::ranges::max(values));
}

}  // namespace

/// Pairs that would be no mask of ours have an object of ejkernel's.
MaskInfo Loader::info_of_pairs(const std::string& source) {
  const auto two = two_sources(source);
  const Tensor q = array(two ? two->q : source);
  const Array kv = two ? make_array(array(two->kv)) : nullptr;
  const Index queries = source_.shape ? (*source_.shape)[2] : largest(q);
  const Index keys = source_.shape ? (*source_.shape)[3] : largest(kv ? *kv : q);
  return MaskInfo::from_cu_seqlens(q, queries, kv, keys);
}

MaskInfo Loader::mask_info(const std::string& source) {
  if (source_.pad_id != -1) {
    throw Error(Errc::kInvalidArgument, "--pad-id: the padding id of MaskInfo is always -1");
  }
  if (source_.as == ArrayKind::kPadding && !is_generator(source)) {
    const MaskArray valid(array(source));  // of any numbers
    return MaskInfo::from_attention_mask(valid, !source_.keep_value_is_zero);
  }
  if (source_.as == ArrayKind::kPairs && !is_generator(source)) return info_of_pairs(source);
  LoadedMask loaded = read(source);
  if (loaded.mask_info) return loaded.mask_info();
  return MaskInfo::from_attention_mask(MaskArray(std::move(loaded.mask)));
}

MaskInfo Loader::transformed(MaskInfo info) {
  return apply_ejkernel(std::move(info), source_.transforms, context());
}

}  // namespace maskctl::app
