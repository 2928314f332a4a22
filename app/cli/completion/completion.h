// Computes what may come next on a command line, for the shells' completion scripts.
#pragma once

#include <span>
#include <string>

#include "app/completion/candidates.h"

namespace maskctl::app {

/// Completes the last word; `words` are those after the program's name. May read the headers of
/// files that are named, but never the data of arrays. Never throws: unreadable files give no
/// candidates.
Completions complete(std::span<const std::string> words);

/// The output of `maskctl __complete WORD...`: a line "WORD<TAB>HELP" for each candidate, and a
/// line "<TAB>files" or "<TAB>directories" if the shell should add those.
std::string completion_text(std::span<const std::string> words);

}  // namespace maskctl::app
