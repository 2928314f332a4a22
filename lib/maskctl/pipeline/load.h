// Loads pipelines as given on the command line: texts, or files after an '@'.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "maskctl/pipeline/steps/bind.h"

namespace maskctl {

/// The argument itself, or for "@FILE" the content of the file, without a byte-order mark. Throws
/// Error(kIo) when the file cannot be read, Error(kLimit) above kMaxPipelineBytes.
std::string pipeline_text(const std::string& arg);

/// True for an argument without a step: the pipeline that `recognise` finds for an all-open mask.
bool is_blank(std::string_view arg);

/// The steps of all arguments that are not blank, in order, as if joined by '|'. Each argument is
/// parsed separately, so that a caret refers to what the user typed.
Chain load_chain(std::span<const std::string> args, const BindContext& context);

}  // namespace maskctl
