#include "maskctl/render/picture/bitmap_font.h"

#include <array>

namespace maskctl {
namespace {

/// Characters 32 to 126: one base-32 digit (0-9, a-v) per row, with the highest bit on the left.
constexpr std::array<std::string_view, 95> kGlyphs = {
    "00000000", "44444040", "aa000000", "aavavaa0", "4fke5u40", "op248j30", "cik8lid0", "44000000",
    "24888420", "84222480", "04lel400", "044v4400", "00000c48", "000v0000", "00000cc0", "01248g00",
    "ehjlphe0", "4c4444e0", "eh1248v0", "v2421he0", "26aiv220", "vgu11he0", "68guhhe0", "v1248880",
    "ehhehhe0", "ehhf12c0", "0cc0cc00", "0cc00c48", "248g8420", "00v0v000", "84212480", "eh124040",
    "eh1dlle0", "ehhhvhh0", "uhhuhhu0", "ehggghe0", "sihhhis0", "vgguggv0", "vgguggg0", "ehgnhhf0",
    "hhhvhhh0", "e44444e0", "72222ic0", "hikokih0", "ggggggv0", "hrllhhh0", "hhpljhh0", "ehhhhhe0",
    "uhhuggg0", "ehhhlid0", "uhhukih0", "fgge11u0", "v4444440", "hhhhhhe0", "hhhhha40", "hhhllla0",
    "hha4ahh0", "hhha4440", "v1248gv0", "e88888e0", "0g842100", "e22222e0", "4ah00000", "0000000v",
    "84200000", "00e1fhf0", "ggmphhu0", "00egghe0", "11djhhf0", "00ehvge0", "698s8880", "00fhhf1e",
    "ggmphhh0", "40c444e0", "206222ic", "ggikoki0", "c44444e0", "00qllhh0", "00mphhh0", "00ehhhe0",
    "00uhhugg", "00djhf11", "00mpggg0", "00ege1u0", "88s88960", "00hhhjd0", "00hhha40", "00hhlla0",
    "00ha4ah0", "00hhhf1e", "00v248v0", "24484420", "44444440", "84424480", "008l2000"};

constexpr bool has_glyph(char c) { return c >= ' ' && c <= '~'; }

}  // namespace

bool font_dot(char character, Index row, Index column) {
  const char shown = has_glyph(character) ? character : '?';
  const char digit = kGlyphs[static_cast<std::size_t>(shown - ' ')][static_cast<std::size_t>(row)];
  const int bits = digit <= '9' ? digit - '0' : digit - 'a' + 10;
  return (bits >> (kFontWidth - 1 - column) & 1) != 0;
}

std::string font_text(std::string_view utf8) {
  std::string out;
  for (const char c : utf8) {
    const bool continues = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    if (!continues) out += has_glyph(c) ? c : '?';
  }
  return out;
}

}  // namespace maskctl
