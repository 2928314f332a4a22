// Expectations as texts: "causal", "no-leak:seg.npy", "density:0.1..0.5".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "maskctl/inspect/check/expect.h"
#include "maskctl/pipeline/steps/bind.h"

namespace maskctl {

/// What the texts may refer to.
struct ExpectationContext {
  BindContext bind;
  /// The documents for `no-leak` without a SOURCE.
  std::optional<DocumentSource> documents;
};

///   no-empty-rows, symmetric
///   no-leak[:SRC], no-leak:q=SRC,kv=SRC, no-leak:positions=SRC, no-leak:cu_seqlens=SRC; ids may be
///     followed by ,pad-id=N
///   block-aligned:N or QxK
///   row-safe:block=N or QxK
///   density:MIN..MAX          either may be absent; numbers from 0 to 1, or percent: 10%..50%
///   subset-of:SOURCE
///   equals:PIPELINE or equals:@FILE
///   any step that closes cells, with its arguments: causal:align=bottom-right, window:keys=N, ...
/// Throws Error(kInvalidArgument) suggesting the nearest known name, PipelineError for arguments,
/// and whatever reading a SOURCE throws.
Expectation parse_expectation(const std::string& text, const ExpectationContext& context);

struct ExpectationInfo {
  std::string_view usage, meaning;
};
/// For help and documentation.
std::span<const ExpectationInfo> expectation_infos();

}  // namespace maskctl
