// Makes text and bytes safe for HTML and SVG.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "maskctl/render/figure/inks.h"

namespace maskctl {

/// Turns any bytes into the content of an element or of a quoted attribute: printable() with
/// entities for & < > " '.
std::string escape_markup(std::string_view bytes);

/// Base64 of RFC 4648, with padding.
std::string base64(std::span<const std::byte> bytes);

/// The colour as in "#00204d".
std::string hex_color(Rgb color);

}  // namespace maskctl
