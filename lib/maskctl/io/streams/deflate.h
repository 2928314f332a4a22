// Bytes, compressed in memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace maskctl {

/// The bytes as a zlib stream (RFC 1950), as small as zlib makes it; "deflate" in browsers.
std::vector<std::byte> deflated(std::span<const std::byte> bytes);

}  // namespace maskctl
