// Configs as one line of text, and back.
#pragma once

#include <string>
#include <string_view>

#include "maskctl/ejkernel/runtime/configs.h"

namespace maskctl::attention {

/// "FlashAttentionConfig platform=auto backend=any fwd_params.q_blocksize=64": the class, then each
/// field that is present. An empty FwdParams prints as "fwd_params={}".
std::string to_text(const AnyConfig& config);

/// The config that a line holds; fields that it lacks have their defaults. Nothing for a line that
/// to_text does not write: an unknown class or field, a field given twice, a number that does not
/// fit or is negative.
std::optional<AnyConfig> config_from_text(std::string_view text);

/// Throws Error(kInvalidArgument) for a size that is not positive (num_splits: not negative):
/// "FlashAttentionConfig: fwd_params.q_blocksize is 0, expected a positive number".
void check_config(const AnyConfig& config);

}  // namespace maskctl::attention
