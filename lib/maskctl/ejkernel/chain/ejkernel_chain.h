// Reads pipelines as calls of MaskInfo's methods, which follow ejkernel's rules with all their
// oddities.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "maskctl/ejkernel/mask_info/mask_info.h"
#include "maskctl/pipeline/parse/grammar.h"
#include "maskctl/pipeline/steps/bind.h"
#include "maskctl/pipeline/steps/step_infos.h"

namespace maskctl {

/// A call of one method of MaskInfo, with the arguments of a step.
using EjkernelCall = std::function<MaskInfo(MaskInfo& info)>;

/// The steps that mean something else here than in rule.h, each with the call of ejkernel that it
/// stands for. An argument that is not listed has no counterpart; for example there is no align=,
/// because ejkernel's diagonal is always top-left.
///   causal:offset=N or FILE           apply_causal(offset)
///   window:both=W or keys=W or left=,right=; offset=N or FILE; mode=decode|prefill|default;
///          index=N or FILE            apply_sliding_window; both= is ejkernel's int, keys=W the
///                                     pair (W - 1, 0)
///   chunk:size=,offset=               apply_chunked: causal inside a chunk
///   tokens:SRC or q=,kv=; combine=, zero=, update=yes|no    apply_token_type_ids
///   kv-lengths:SRC or lens=; q_len=, window=, end=          apply_kv_lengths
/// These infos describe arguments only: none of them creates a Step.
std::span<const StepInfo> ejkernel_step_infos();
/// For BindContext::other_rules: names MaskInfo's rules if the table above has this argument for
/// the step and our own step of the same name does not; nothing otherwise.
std::optional<OtherRules> ejkernel_argument(std::string_view step, std::string_view argument);

/// Makes a MaskInfo of the mask or ids that generate() makes of the text, such as "causal:n=64".
/// Uses ejkernel's constructor for it: from_segments for ids, from_random for random (one head and
/// JAX's stream), dynamic_init for full (one head and as many keys as queries), else
/// from_attention_mask. Throws what generate() throws.
MaskInfo generate_ejkernel(std::string_view text, const BindContext& context);

/// Reads the arguments of all steps, but applies no step. Throws what bind() throws, and a
/// PipelineError that marks a step for which MaskInfo has no method.
std::vector<EjkernelCall> bind_ejkernel(const Pipeline& pipeline, const BindContext& context);
/// Applies the steps of all texts (see load_chain) as calls, one after the other. Errors of a
/// method are thrown as PythonError.
MaskInfo apply_ejkernel(MaskInfo info, std::span<const std::string> texts,
                        const BindContext& context);

}  // namespace maskctl
