// Text and bytes made safe to stand in HTML and SVG.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "maskctl/render/picture.h"

namespace maskctl {

/// Any bytes as the content of an element or of a quoted attribute: & < > " ' become entities;
/// bytes that are no UTF-8, control characters and what XML forbids become U+FFFD, and so do the
/// characters that turn the direction of the text around them.
std::string escape_markup(std::string_view bytes);

/// RFC 4648, with padding.
std::string base64(std::span<const std::byte> bytes);

/// "#00204d".
std::string hex_color(Rgb color);

}  // namespace maskctl
