#include "app/reports/xml.h"

#include <algorithm>

#include "maskctl/render/picture/markup.h"

namespace maskctl::app {

std::string xml_escaped(std::string_view text, bool lines) {
  if (!lines) return escape_markup(text);
  std::string out;
  while (true) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += escape_markup(text.substr(0, end));
    if (end == text.size()) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace maskctl::app
