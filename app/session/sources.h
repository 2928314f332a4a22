// Several SOURCEs at once.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/options.h"
#include "app/session/session.h"

namespace maskctl::app {

/// True if arrays of these names are one mask: a single array, the ids of both sides, runs, or
/// lists of blocks.
bool is_one_mask(const std::vector<std::string>& names);

/// What became of several SOURCEs.
struct Visits {
  Index seen = 0;
  Index failed = 0;
};

/// Calls `visit` for each SOURCE, and for each array of a container that holds several masks, by
/// its name "FILE:KEY". A single SOURCE throws what `visit` throws. Of several, the Error of one
/// goes to `report` and the others are visited all the same; arrays of a container that are no
/// masks are left out with a note, and an Error if none is a mask.
Visits visit_sources(const std::vector<std::string>& sources, const SourceOptions& how,
                     Session& session, const std::function<void(const std::string&)>& visit,
                     const std::function<void(const std::string&, std::string_view)>& report);

}  // namespace maskctl::app
