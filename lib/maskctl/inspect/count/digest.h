// A digest of the open cells of a mask, whatever form it is stored in.
#pragma once

#include <limits>
#include <string>

#include "maskctl/mask/mask.h"

namespace maskctl {

/// SHA-256 in lower-case hexadecimal. Masks with equal cells have equal digests, however they are
/// stored. The bytes that are hashed for the mask are
///   "maskctl mask 1\n", then batch, heads, queries, keys as 8 bytes each,
///   then for each batch, for each head the digest (32 bytes) of its plane;
/// and for a plane, its rows in order. A row is the runs of its open keys, ascending and not
/// touching, as begin and end of 4 bytes each, then 4 bytes 0xff. All integers are little endian.
/// Each distinct plane is read once. Throws Error(kLimit) where all planes together have more than
/// `most_bytes` to hash.
std::string content_digest(const Mask& mask, Index most_bytes = std::numeric_limits<Index>::max());

}  // namespace maskctl
