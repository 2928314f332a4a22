// The JSON forms of why and translate.
#pragma once

#include <string>

#include "maskctl/inspect/why.h"

namespace maskctl::app {

/// {"schema": "maskctl.why/1", ...}, ended by a line feed.
std::string why_json(const std::string& source, const Why& why);

}  // namespace maskctl::app
