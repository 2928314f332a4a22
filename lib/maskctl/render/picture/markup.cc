#include "maskctl/render/picture/markup.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/render/text/canvas.h"

namespace maskctl {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

/// The character at the start of `bytes` and its length; length 0 if that is not UTF-8.
struct Decoded {
  char32_t code = kReplacement;
  std::size_t length = 0;
};

Decoded decode(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes.front());
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || bytes.size() < length) return {};
  char32_t code = lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(bytes[i]);
    if ((next & 0xC0) != 0x80) return {};
    code = code << 6 | (next & 0x3Fu);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // no overlong forms
  if (code < kLeast[length] || code > 0x10FFFF) return {};
  return {code, length};
}

bool allowed(char32_t code) {
  const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  const bool not_a_character = (code & 0xFFFE) == 0xFFFE;
  const bool direction = code == 0x200E || code == 0x200F || code == 0x61C ||
                         (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  return !control && !surrogate && !not_a_character && !direction;
}

void append_escaped(char32_t code, std::string& out) {
  switch (code) {
    case U'&':
      out += "&amp;";
      return;
    case U'<':
      out += "&lt;";
      return;
    case U'>':
      out += "&gt;";
      return;
    case U'"':
      out += "&quot;";
      return;
    case U'\'':
      out += "&#39;";
      return;
    default:
      append_utf8(allowed(code) ? code : kReplacement, out);
  }
}

}  // namespace

std::string escape_markup(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const Decoded next = decode(bytes);
    append_escaped(next.code, out);
    bytes.remove_prefix(std::max<std::size_t>(next.length, 1));
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
