// When rules of masks change nothing in a call, for their rows.
#pragma once

#include <string_view>

#include "maskctl/attention/fields.h"
#include "maskctl/attention/softmax/mask_arguments.h"

namespace maskctl::attention {

/// Why bottom-right changes nothing; empty when it may. query and key may be null.
std::string_view why_idle_alignment(const MaskArguments& mask, const Tensor* query,
                                    const Tensor* key);
/// Why causal_block_size changes nothing beside chunk_size; empty when it may.
std::string_view why_idle_block_causal(const MaskArguments& mask);

/// These two functions for Field::idle, on a call with its MaskArguments at the end of a path from
/// its options.
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
