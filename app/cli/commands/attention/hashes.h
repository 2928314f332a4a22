// Short stand-ins for what ranks must have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "maskctl/mask/mask.h"

namespace maskctl::app {

std::uint64_t hash_of(std::span<const std::byte> bytes);
/// A hash of the open cells of all planes.
std::uint64_t hash_of(const Mask& mask);
/// A hash of the size and of 256 blocks of 4 KiB, the first and the last among them, evenly spread;
/// of all bytes up to 1 MiB. 0 for what is no regular file. Throws Error(kIo).
std::uint64_t hash_of_file(const std::string& path);

}  // namespace maskctl::app
