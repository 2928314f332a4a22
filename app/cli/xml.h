// Text inside XML.
#pragma once

#include <string>
#include <string_view>

namespace maskctl::app {

/// Control characters, which XML 1.0 cannot hold, and bytes past ASCII that may not be UTF-8 become
/// '?'; line feeds stay where `lines` is set.
std::string xml_escaped(std::string_view text, bool lines = false);

}  // namespace maskctl::app
