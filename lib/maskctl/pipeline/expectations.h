// Parses expectations about masks: "causal", "no-leak:seg.npy", "density:0.1..0.5".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "maskctl/inspect/check/expect.h"
#include "maskctl/pipeline/steps/bind.h"

namespace maskctl {

/// What the text of an expectation may refer to.
struct ExpectationContext {
  BindContext bind;
  /// The documents that `no-leak` means when it has no SOURCE.
  std::optional<DocumentSource> documents;
};

/// Parses one of
///   no-empty-rows, symmetric
///   no-leak[:SRC], no-leak:q=SRC,kv=SRC, no-leak:positions=SRC, no-leak:cu_seqlens=SRC; ids may be
///     followed by ,pad-id=N
///   block-aligned:N or QxK
///   row-safe:block=N or QxK
///   density:MIN..MAX          either may be absent; numbers from 0 to 1, or percent: 10%..50%
///   subset-of:SOURCE
///   equals:PIPELINE or equals:@FILE
///   any step that closes cells, with its arguments: causal:align=bottom-right, window:keys=N, ...
/// Throws Error(kInvalidArgument) that suggests the nearest known name for an unknown one,
/// PipelineError for wrong arguments, and whatever reading a SOURCE throws.
Expectation parse_expectation(const std::string& text, const ExpectationContext& context);

struct ExpectationInfo {
  std::string_view usage, meaning;
};
/// All expectations with their usage and meaning, for help and documentation.
std::span<const ExpectationInfo> expectation_infos();

}  // namespace maskctl
