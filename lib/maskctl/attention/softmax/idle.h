// Tells when mask arguments have no effect in a call; used by Field::idle.
#pragma once

#include <string_view>

#include "maskctl/attention/calls/fields.h"
#include "maskctl/attention/softmax/mask_arguments.h"

namespace maskctl::attention {

/// Why align = kBottomRight has no effect; empty if it may have one. query and key may be null.
std::string_view why_idle_alignment(const MaskArguments& mask, const Tensor* query,
                                    const Tensor* key);
/// Why causal_block_size has no effect together with chunk_size; empty if it may have one.
std::string_view why_idle_block_causal(const MaskArguments& mask);

/// The same functions in the form of Field::idle; the options of Call contain MaskArguments at the
/// path `mask`.
template <class Call, auto... mask>
std::string_view idle_alignment(const void* call) {
  const auto& [in, options] = *static_cast<const Call*>(call);
  const MaskArguments& arguments = member_of<mask...>(options);
  if constexpr (requires { in.key; }) {
    return why_idle_alignment(arguments, in.query, in.key);
  } else {
    return why_idle_alignment(arguments, in.query, in.key_value);
  }
}
template <class Call, auto... mask>
std::string_view idle_block_causal(const void* call) {
  return why_idle_block_causal(member_of<mask...>(static_cast<const Call*>(call)->options));
}

}  // namespace maskctl::attention
