#include "app/cli/xml.h"

namespace maskctl::app {

std::string xml_escaped(std::string_view text, bool lines) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\n' && lines) {
      out += c;
    } else {
      out += byte < 0x20 || byte > 0x7e ? '?' : c;
    }
  }
  return out;
}

}  // namespace maskctl::app
