// Makes masks and segment ids from one step and a size.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "maskctl/mask/mask.h"
#include "maskctl/pipeline/steps/bind.h"
#include "maskctl/pipeline/steps/step_infos.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// Segment ids are a Tensor, everything else is a Mask.
using Generated = std::variant<Mask, Tensor>;

/// Makes what "STEP" says; a leading "gen:" is skipped. STEP is one of
///   - a step of a pipeline with its own arguments and a size: n= (queries and keys), or q= and
///   k=; b=
///     and h= default to 1. A key that the step itself has (n of prefix and sinks, q of doc) keeps
///     that meaning, so the size must use the other keys. doc takes its size from its ids if none
///     is given. Steps that close cells start from a full mask, steps that open cells
///     (also tokens by union, and xor) from an empty one.
///   - full, empty: only a size.
///   - segments:n=,docs=,seed=,b=,pad=,interleave=token: int32 ids [b, n] numbered 1 .. docs.
///     Document borders are a random set of distinct positions, uniform to within n / 2^32 (Floyd's
///     sampling on the threefry stream of the seed; each batch has its own); interleave=token draws
///     the document of each token instead. The last `pad` tokens have id -1.
///   - segments:lens=3+5,pad=2,b=: documents of these lengths, then padding.
/// Throws PipelineError for text, Error(kLimit) for ids above context.max_bytes.
Generated generate(std::string_view text, const BindContext& context);

/// A generated mask before its step: all open or all closed. The chain holds the step, none for
/// full and empty.
struct GeneratedParts {
  Mask start;
  Chain chain;
};
/// The parts of what generate() makes; nothing for segment ids.
std::optional<GeneratedParts> generate_parts(std::string_view text, const BindContext& context);

/// What generate() makes in addition to the steps of step_infos(): full, empty, segments. Their
/// `make` is null.
std::span<const StepInfo> generators();

/// True for a SOURCE that generate() makes: it starts with "gen:".
bool is_generator(std::string_view source);
/// True for a SOURCE that is one array or file, standard input included: neither generated nor
/// two SOURCEs in one text (q=SOURCE,kv=SOURCE).
bool names_one_source(std::string_view source);

}  // namespace maskctl
