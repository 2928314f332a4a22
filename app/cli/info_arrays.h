// What `info` says about a SOURCE that holds arrays but does not say which mask they are.
#pragma once

#include <optional>
#include <string>

#include "app/cli/options.h"
#include "app/cli/report.h"

namespace maskctl::app {

/// Nothing where the SOURCE reads as one mask, or where only reading it can tell.
std::optional<InfoReport> arrays_only(const std::string& source, const SourceOptions& how,
                                      const GlobalOptions& globals);

}  // namespace maskctl::app
