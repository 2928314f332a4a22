#include "maskctl/base/printable.h"

#include <fmt/format.h>

#include <algorithm>

namespace maskctl {
namespace {

bool is_surrogate(char32_t code) { return code >= 0xD800 && code < 0xE000; }

std::string escape_of(std::string_view text, const CodePoint& first) {
  if (first.bytes == 0) return fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
  const auto code = static_cast<std::uint32_t>(first.code);
  if (code < 0x80) return fmt::format("\\x{:02x}", code);
  return code < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
}

/// Appends the first character of a text, or its escape, and returns its bytes.
std::size_t append_first(std::string_view text, std::string& out) {
  const CodePoint first = first_code_point(text);
  const std::size_t bytes = std::max<std::size_t>(first.bytes, 1);
  if (first.bytes > 0 && is_printable(first.code)) {
    out += text.substr(0, bytes);
  } else {
    out += escape_of(text, first);
  }
  return bytes;
}

/// The bytes of the sequence that sets colours at the start of a text; 0 if there is none.
std::size_t colour_bytes(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != text.npos && text[end] == 'm' ? end + 1 : 0;
}

}  // namespace

bool is_printable(char32_t code) {
  const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
  const bool separator = code == 0x2028 || code == 0x2029;
  const bool direction = code == 0x61C || code == 0x200E || code == 0x200F ||
                         (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  const bool not_a_character = (code & 0xFFFE) == 0xFFFE;
  return !control && !separator && !direction && !not_a_character;
}

CodePoint first_code_point(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  char32_t code = lead & (0xFFu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0) != 0x80) return {};
    code = code << 6 | (next & 0x3Fu);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // no overlong forms
  if (code < kLeast[bytes] || code > 0x10FFFF || is_surrogate(code)) return {};
  return {code, bytes};
}

std::string printable(std::string_view text, std::size_t most) {
  std::string out;
  for (; !text.empty() && most > 0; --most) text.remove_prefix(append_first(text, out));
  return text.empty() ? out : out + "...";
}

std::string printable_lines(std::string_view text, bool colours) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t kept = text[0] == '\n' || text[0] == '\t' ? 1
                             : colours                          ? colour_bytes(text)
                                                                : 0;
    if (kept > 0) out += text.substr(0, kept);
    text.remove_prefix(kept > 0 ? kept : append_first(text, out));
  }
  return out;
}

std::string printable_list(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 20;
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    out += (i == 0 ? "" : ", ") + printable(names[i]);
  }
  return names.size() > kShown ? out + ", ..." : out;
}

}  // namespace maskctl
