// Completes pipelines: names of steps, their arguments, and the values of these.
#pragma once

#include "app/completion/candidates.h"

namespace maskctl::app {

/// Completes "STEP | STEP" or "@FILE".
void complete_pipeline(const Part& part, Completions& out);
/// Completes the STEP of "gen:STEP", including arguments for the size.
void complete_generator(const Part& part, Completions& out);
/// Completes an expectation of `check --expect`.
void complete_expectation(const Part& part, Completions& out);

}  // namespace maskctl::app
