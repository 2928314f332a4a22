// Makes masks and segment ids from the text of one step with a size.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/mask_steps.h"
#include "maskctl/pipeline/steps/bind.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// What generate() returns: a Tensor for segment ids, else a Mask.
using Generated = std::variant<Mask, Tensor>;

/// Makes what the text says; a leading "gen:" is skipped. The text is one of
///   - a step of a pipeline with its arguments and a size: n= (queries and keys), or q= and k=;
///     b= and h= default to 1. If the step itself has one of these arguments (n of prefix and
///     sinks, q of doc), the size must use the other ones. If doc has no size, its ids give it.
///     The step is applied to a full mask if it closes cells, to an empty one if it opens cells
///     (also tokens by union, and xor).
///   - full, empty: only a size.
///   - segments:n=,docs=,seed=,b=,pad=,interleave=token: int32 ids [b, n] numbered 1 .. docs.
///     Document borders are a random set of distinct positions, uniform to within n / 2^32 (Floyd's
///     sampling on the threefry stream of the seed; each batch has its own). interleave=token
///     instead gives each token a random document. The last `pad` tokens have id -1.
///   - segments:lens=3+5,pad=2,b=: documents of these lengths, then padding.
/// Throws PipelineError for errors in the text, Error(kLimit) for ids above context.max_bytes.
Generated generate(std::string_view text, const BindContext& context);

/// Returns the step from which generate() would make its mask (none for "full" and "empty"), and
/// the mask that it starts from, all open or all closed; nothing for segment ids.
std::optional<MaskSteps> generate_parts(std::string_view text, const BindContext& context);

/// True for a SOURCE that starts with "gen:".
bool is_generator(std::string_view source);
/// True for a SOURCE that is a single array or file, or standard input; false for generators and
/// for two SOURCEs in one text (q=SOURCE,kv=SOURCE).
bool names_one_source(std::string_view source);

}  // namespace maskctl
