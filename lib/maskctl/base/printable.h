// Text from files, made safe to print in messages.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace maskctl {

/// Replaces control characters by '?': C0, DEL and the UTF-8 form of C1, which could move the
/// cursor or change the colours of a terminal. Text of more than `max_length` bytes is cut and ends
/// in "...".
inline std::string printable(std::string_view text, std::size_t max_length = 80) {
  const bool cut = text.size() > max_length;
  std::string out(text.substr(0, max_length));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto c = static_cast<unsigned char>(out[i]);
    const bool c1 = i > 0 && out[i - 1] == '\xC2' && c >= 0x80 && c < 0xA0;
    if (c1) out[i - 1] = '?';
    if (c1 || c < 0x20 || c == 0x7F) out[i] = '?';
  }
  if (cut) out += "...";
  return out;
}

/// At most 20 names from a file, made printable and joined: "mask, seg, lens".
inline std::string printable_list(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 20;
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    out += (i == 0 ? "" : ", ") + printable(names[i]);
  }
  return names.size() > kShown ? out + ", ..." : out;
}

}  // namespace maskctl
