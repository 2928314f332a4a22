// Hashes with which ranks compare their masks and files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "maskctl/mask/mask.h"

namespace maskctl::app {

std::uint64_t hash_of(std::span<const std::byte> bytes);
/// A hash of the open cells of all batches and heads.
std::uint64_t hash_of(const Mask& mask);
/// A hash of a file's size and content. Files of up to 1 MiB are hashed completely; of larger ones,
/// 256 evenly spaced blocks of 4 KiB, including the first and the last. 0 for a file that is empty
/// or not regular. Throws Error(kIo).
std::uint64_t hash_of_file(const std::string& path);

}  // namespace maskctl::app
