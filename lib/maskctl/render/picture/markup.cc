#include "maskctl/render/picture/markup.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/printable.h"
#include "maskctl/render/figure/words.h"

namespace maskctl {

std::string escape_markup(std::string_view bytes) {
  std::string out;
  for (const char c : printable(bytes, kUncut)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < count ? std::to_integer<std::uint32_t>(bytes[i + j]) : 0);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      out += j <= count ? kDigits[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return out;
}

std::string hex_color(Rgb color) {
  return fmt::format("#{:02x}{:02x}{:02x}", color.r, color.g, color.b);
}

}  // namespace maskctl
