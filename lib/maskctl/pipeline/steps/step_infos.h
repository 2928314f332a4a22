// The table of steps as text: usage lines, help pages, and other words for steps.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "maskctl/mask/steps/rule.h"

namespace maskctl {

/// The name of a kind of step: "and", "or", "own".
std::string_view name(StepKind kind);
/// The placeholder for a value of this type in usage lines: "N", "SRC", "3+5", ...
std::string_view placeholder(FieldType type);

/// What generate() makes (generate.h) besides the steps of step_infos(): full, empty and segments.
/// Their `make` is null.
std::span<const StepInfo> generators();
/// The step for which people also use this word; null if there is none. In pipelines, only names of
/// steps are allowed.
const StepInfo* step_called(std::string_view word);
/// The usage of a step, a line for each way to write it, such as
/// "window:keys=N[,align=...][,offset=N]".
std::string usage(const StepInfo& info);
/// The page that `maskctl ops NAME` prints: meaning, usage, arguments, formula and example. It ends
/// with a newline.
std::string describe(const StepInfo& info);

}  // namespace maskctl
