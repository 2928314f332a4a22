// Escapes text inside XML.
#pragma once

#include <string>
#include <string_view>

namespace maskctl::app {

/// As escape_markup(); line feeds are kept if `lines` is set.
std::string xml_escaped(std::string_view text, bool lines = false);

}  // namespace maskctl::app
