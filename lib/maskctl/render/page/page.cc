#include "maskctl/render/page/page.h"

#include <fmt/format.h>

#include "maskctl/base/printable.h"
#include "maskctl/render/page/template.h"
#include "maskctl/render/picture/markup.h"

namespace maskctl {

std::string json_string(std::string_view bytes) {
  std::string out = "\"";
  for (const char c : printable(bytes, kUncut)) {
    switch (c) {
      case '"':
      case '\\':
        out += '\\';
        out += c;
        break;
      case '<':
      case '>':
      case '&':
        out += fmt::format("\\u{:04x}", c);
        break;
      default:
        out += c;
    }
  }
  return out + '"';
}

std::string draw_page(const PageData& data, std::string_view runs) {
  std::string out;
  const std::string_view text = page_template();
  std::size_t at = 0;
  while (true) {
    const std::size_t mark = text.find("%%", at);
    out += text.substr(at, mark - at);
    if (mark == std::string_view::npos) return out;
    const std::size_t end = text.find("%%", mark + 2);
    const std::string_view name = text.substr(mark + 2, end - mark - 2);
    if (name == "title") out += escape_markup(data.title);
    if (name == "data") out += data.json;
    if (name == "runs") out += runs;
    at = end + 2;
  }
}

}  // namespace maskctl
