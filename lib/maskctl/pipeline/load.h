// Pipelines as the command line gives them: texts, or files named by '@'.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "maskctl/pipeline/bind.h"

namespace maskctl {

/// The argument itself, or for "@FILE" the content of the file. A byte-order mark is skipped.
/// Throws Error(kIo) when the file cannot be read, Error(kLimit) above kMaxPipelineBytes.
std::string pipeline_text(const std::string& arg);

/// An argument without a step: the pipeline that `recognise` finds for an all-open mask.
bool is_blank(std::string_view arg);

/// The steps of all arguments that are not blank, in order, as if joined by '|'. Each is parsed
/// alone, so that a caret stands under what was typed.
Chain load_chain(std::span<const std::string> args, const BindContext& context);

}  // namespace maskctl
