// Conversion of configs to one line of text, and back.
#pragma once

#include <string>
#include <string_view>

#include "maskctl/ejkernel/runtime/configs.h"

namespace maskctl::attention {

/// "FlashAttentionConfig platform=auto backend=any fwd_params.q_blocksize=64": the class, then each
/// field that is set. An empty FwdParams is printed as "fwd_params={}".
std::string to_text(const AnyConfig& config);

/// The config of a line that to_text() wrote, in which fields may be missing: these get their
/// defaults. nullopt for a line that to_text() cannot have written: an unknown class or field, a
/// field given twice, a number that is negative or too large.
std::optional<AnyConfig> config_from_text(std::string_view text);

/// Throws Error(kInvalidArgument) if a size is not positive (num_splits: negative), as in
/// "FlashAttentionConfig: fwd_params.q_blocksize is 0, expected a positive number".
void check_config(const AnyConfig& config);

}  // namespace maskctl::attention
