// Runs a command on several SOURCEs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/options.h"
#include "app/session/session.h"
#include "maskctl/io/formats/container.h"

namespace maskctl::app {

/// True if the arrays of a container form one mask: a single array, the ids of queries and keys,
/// runs, lists of blocks, or what the steps of a mask read.
bool is_one_mask(const Container& container);

/// How many masks were visited, and for how many SOURCEs and arrays an Error was reported.
struct Visits {
  Index seen = 0;
  Index failed = 0;
};

/// Calls `visit` for each SOURCE, or for what it names (named_sources.h); for a container that
/// holds several masks, with "FILE:KEY" for each of its arrays. Arrays of a container or folder
/// that are not masks are skipped with a note; if none is a mask, that is an Error. With one
/// SOURCE, an Error is thrown; with several, and of the files of a folder or pattern, it is passed
/// to `report` and the next is visited.
Visits visit_sources(const std::vector<std::string>& sources, const SourceOptions& how,
                     Session& session, const std::function<void(const std::string&)>& visit,
                     const std::function<void(const std::string&, std::string_view)>& report);

}  // namespace maskctl::app
