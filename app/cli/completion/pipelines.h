// Completion of pipelines: names of steps, their arguments and what those may be.
#pragma once

#include "app/cli/completion/completion.h"

namespace maskctl::app {

/// "STEP | STEP", or "@FILE".
void complete_pipeline(const Part& part, Completions& out);
/// The STEP of "gen:STEP", with its size.
void complete_generator(const Part& part, Completions& out);
/// An expectation of `check --expect`.
void complete_expectation(const Part& part, Completions& out);

}  // namespace maskctl::app
