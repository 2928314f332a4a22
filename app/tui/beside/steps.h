// The steps of a pipeline for editing. Each step can be switched off.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl::app::tui {

/// One step as text. In a pipeline, '#' comes before a step that is off, like before a comment in a
/// file of steps: "causal | #window:keys=4".
struct EditStep {
  std::string text;  // the step without the '#'
  bool on = true;
};

/// Splits at each '|' outside of braces and quotes; empty if the text is blank.
std::vector<EditStep> split_steps(std::string_view pipeline);
std::string join_steps(std::span<const EditStep> steps, std::string_view between = " | ");
/// The byte range of each step in the result of join_steps().
std::vector<Range> step_ranges(std::span<const EditStep> steps);
/// The pipeline with steps that are off replaced by blanks, so that positions in it stay the same.
std::string without_off_steps(std::string_view pipeline);

}  // namespace maskctl::app::tui
