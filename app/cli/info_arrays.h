// What `info` says about a SOURCE that holds arrays but does not say which mask they are.
#pragma once

#include <optional>
#include <string>

#include "app/cli/options.h"
#include "app/cli/report.h"
#include "maskctl/base/error.h"

namespace maskctl::app {

/// Nothing where the SOURCE reads as one mask, or where only reading it can tell.
std::optional<InfoReport> arrays_only(const std::string& source, const SourceOptions& how,
                                      const GlobalOptions& globals);

/// What can be told of an array that is no mask, for `reason`: dtype, shape, what its numbers are.
/// Nothing where it is not one array of a file, or was asked for as another kind. Throws Error when
/// its elements cannot be read though their type can.
std::optional<InfoReport> no_mask(const std::string& source, const Error& reason,
                                  const SourceOptions& how, const GlobalOptions& globals);

}  // namespace maskctl::app
