// The table of steps as words: usage lines, help pages, and what else people call a step.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "maskctl/mask/steps/rule.h"

namespace maskctl {

/// "and", "or", "own".
std::string_view name(StepKind kind);
/// The placeholder in usage lines: "N", "SRC", "3+5", ...
std::string_view placeholder(FieldType type);

/// The step that people call by this word; nullptr if none is. Pipelines take names only.
const StepInfo* step_called(std::string_view word);
/// One line for each way to write the step, such as "window:keys=N[,align=...][,offset=N]".
std::string usage(const StepInfo& info);
/// The page that `maskctl ops NAME` prints: meaning, usage, arguments, formula, example. Ends with
/// a newline.
std::string describe(const StepInfo& info);

}  // namespace maskctl
