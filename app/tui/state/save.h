// Saves the mask, the drawing or the pipeline to a file; asks about unsaved work before the user
// leaves.
#pragma once

#include <string>

#include "app/tui/state/state.h"

namespace maskctl::app::tui {

/// Starts to write a file in the background. "FILE.png" (or .svg, .html, .txt, .ansi) gets the
/// drawing, "@FILE" the pipeline with one step per line, any other name the mask of all batches and
/// heads. Other arrays of a container are kept, always. If the file, or the array in it, exists and
/// `replace` is false, the user is asked. Throws Error if `dest` is empty, or while another file is
/// being written.
void save(State& state, const Workbench& bench, const std::string& dest, bool replace);

/// Asks the front end to quit or to go back to the list of arrays; first asks the user, if a file
/// is being written or the pipeline has changes.
void leave(State& state, Request how);

}  // namespace maskctl::app::tui
