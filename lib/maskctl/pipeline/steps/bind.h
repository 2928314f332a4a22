// Converts parsed pipelines to chains of steps with arrays and numbers; mask/steps/chain_text.h
// converts them back.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "maskctl/base/error.h"
#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/pipeline/parse/grammar.h"

namespace maskctl {

/// A second set of rules by which pipelines can be read, such as those of another
/// library.
struct OtherRules {
  std::string_view name;  // "MaskInfo"
  Remedy remedy;          // how a caller asks for these rules
};

/// How the SOURCEs of a pipeline are read. A function may be empty if no step needs it. bind()
/// passes on what they throw.
struct BindContext {
  std::function<Tensor(const std::string& source)> read_array = {};
  std::function<Mask(const std::string& source)> read_mask = {};
  std::int32_t pad_id = -1;          // for steps that read ids and have no pad-id=
  Index max_bytes = Index{8} << 30;  // limit for an array that generate() makes
  /// Returns the other rules under which the step of this name has an argument that it lacks under
  /// ours; nothing if there are none. The message that refuses the argument mentions them.
  std::function<std::optional<OtherRules>(std::string_view step, std::string_view argument)>
      other_rules = {};
};

/// Converts a pipeline to a chain: looks each step up and reads its arguments; nothing is applied
/// to a mask, so shapes are not checked yet. Integers must be within +-(2^31 - 1). Throws
/// PipelineError with the caret at the argument for an unknown step or key (it suggests the nearest
/// known one); a missing or repeated argument, or one that excludes another; and a value of the
/// wrong type or out of range.
Chain bind(const Pipeline& pipeline, const BindContext& context);

}  // namespace maskctl
