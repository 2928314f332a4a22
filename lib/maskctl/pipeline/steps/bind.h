// Binds pipelines to arrays and numbers: text to a chain of steps, and back.
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

/// Other rules than ours under which a pipeline can be read.
struct OtherRules {
  std::string_view name;  // whose rules they are: "MaskInfo"
  Remedy remedy;          // how to ask for them
};

/// How a SOURCE in an argument becomes data. Either function may be empty if no step needs it. What
/// they throw passes through bind().
struct BindContext {
  std::function<Tensor(const std::string& source)> read_array;
  std::function<Mask(const std::string& source)> read_mask;
  std::int32_t pad_id = -1;          // pad id of the ids that a step reads without pad-id=
  Index max_bytes = Index{8} << 30;  // limit for arrays made by generate()
  /// Who has an argument that our step of this name lacks, for the message that refuses it.
  std::function<std::optional<OtherRules>(std::string_view step, std::string_view argument)>
      other_rules = {};
};

/// Looks every step up in the table of rules and reads its arguments; nothing is applied.
/// Integers are within +-(2^31 - 1). Shapes are checked only when the chain is applied to a mask.
/// Throws PipelineError with the caret at the argument for an unknown step or key (suggesting the
/// nearest known one), a missing, repeated or excluded argument, and a value of another type or out
/// of range.
Chain bind(const Pipeline& pipeline, const BindContext& context);

/// The text of a bound chain; bind(parse(to_text(c))) gives an equal chain if the context reads the
/// same arrays. Arguments at their defaults are left out. An empty chain gives an empty text, which
/// parse() refuses.
std::string to_text(const Chain& chain);
Pipeline unbind(const Chain& chain);

}  // namespace maskctl
