// What `info` says about a SOURCE whose arrays do not determine a mask.
#pragma once

#include <optional>
#include <string>

#include "app/reports/report.h"
#include "app/session/options.h"
#include "app/session/session.h"
#include "maskctl/base/error.h"

namespace maskctl::app {

/// Nothing if the SOURCE can be read as one mask, or if only reading it can tell.
std::optional<InfoReport> arrays_only(const std::string& source, const SourceOptions& how,
                                      Session& session);

/// What can be said about an array that is not a mask, for `reason`: dtype, shape, its numbers.
/// Nothing if it is not a single array of a file, or was requested as another kind. Throws Error
/// when its elements cannot be read although their type can.
std::optional<InfoReport> no_mask(const std::string& source, const Error& reason,
                                  const SourceOptions& how, Session& session);

}  // namespace maskctl::app
