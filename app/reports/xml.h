// Escapes text for XML.
#pragma once

#include <string>
#include <string_view>

namespace maskctl::app {

/// Escapes like escape_markup(), but keeps line feeds if `lines` is true.
std::string xml_escaped(std::string_view text, bool lines = false);

}  // namespace maskctl::app
