// A fingerprint of what a mask opens, whatever it was read from.
#pragma once

#include <string>

#include "maskctl/mask/mask.h"

namespace maskctl {

/// SHA-256 in lower-case hexadecimal, equal for equal masks however they are held or stored. The
/// digest of
///   "maskctl mask 1\n", then batch, heads, queries, keys as 8 bytes each,
///   then for each batch, for each head the digest (32 bytes) of its plane;
/// that of a plane is the digest of its rows in order, each the runs of open keys as begin and end,
/// 4 bytes each, ascending and not touching, then 4 bytes 0xff. All integers are little endian.
/// Each distinct plane is read once.
std::string content_digest(const Mask& mask);

}  // namespace maskctl
