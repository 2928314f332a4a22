// What `info` reports about a SOURCE that is not one mask.
#pragma once

#include <optional>
#include <string>

#include "app/reports/report.h"
#include "app/session/options.h"
#include "app/session/session.h"
#include "maskctl/base/error.h"

namespace maskctl::app {

/// A report about the arrays of a SOURCE that is not one mask. Nothing if it is one mask, or if
/// that cannot be told from headers.
std::optional<InfoReport> arrays_only(const std::string& source, const SourceOptions& how,
                                      Session& session);

/// Describes an array that could not be read as a mask; `reason` is the error. Nothing if it is not
/// a single array of a file, or if --as asked for a kind other than bias. Throws Error if its
/// elements cannot be read although their type is supported.
std::optional<InfoReport> no_mask(const std::string& source, const Error& reason,
                                  const SourceOptions& how, Session& session);

}  // namespace maskctl::app
