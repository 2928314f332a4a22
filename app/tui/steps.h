// The steps of a pipeline as a person edits them: each of them can be switched off.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl::app::tui {

/// One step as written. In text, '#' precedes a step that is off, as it precedes a comment in a
/// file of steps: "causal | #window:keys=4".
struct EditStep {
  std::string text;  // without the '#'
  bool on = true;
};

/// The steps between the '|' that stand outside of braces and quotes; none for a blank text.
std::vector<EditStep> split_steps(std::string_view pipeline);
std::string join_steps(std::span<const EditStep> steps, std::string_view between = " | ");
/// The bytes of each step in the text that join_steps() makes.
std::vector<Range> step_ranges(std::span<const EditStep> steps);
/// The pipeline with blanks in place of the steps that are off: positions in it stay the same.
std::string without_off_steps(std::string_view pipeline);

}  // namespace maskctl::app::tui
