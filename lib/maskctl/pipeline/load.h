// Loads pipelines as the command line has them: as text, or as "@FILE".
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "maskctl/pipeline/steps/bind.h"

namespace maskctl {

/// The text of a pipeline: for "@FILE" the content of the file, without a byte-order mark; else the
/// argument itself. Throws Error(kIo) when the file cannot be read, Error(kLimit) if it has more
/// than kMaxPipelineBytes.
std::string pipeline_text(const std::string& arg);

/// True for an argument without any step, which is how `recognise` writes the mask in which all is
/// open.
bool is_blank(std::string_view arg);

/// The steps of all arguments that are not blank, in this order, as if '|' joined the arguments.
/// Each is parsed separately, so that the caret of an error points into the text that the user
/// typed.
Chain load_chain(std::span<const std::string> args, const BindContext& context);

}  // namespace maskctl
