// Vectorised inner loops over 64 x 64 tiles of bits and over hashes of rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// Eight neighbouring tiles: 64 rows of 8 words.
constexpr std::size_t kTileRows = 64, kTileWords = 8, kTileSpan = kTileRows * kTileWords;

/// Where transpose_tiles puts the word of column `key`, within the tiles number key / 512.
constexpr std::size_t tile_slot(std::size_t key) { return key % 64 * kTileWords + key / 64 % 8; }

/// Transposes eight tiles. Row r is rows[r * stride .. + 8). Bit r of columns[c * 8 + t] becomes
/// bit c of word t of row r, which is column 64 * t + c, at tile_slot(64 * t + c).
void transpose_tiles(const std::uint64_t* rows, std::size_t stride, std::uint64_t* columns);

/// sums[i] += (low half of columns[i]) * low + (high half) * high, modulo 2^64, for 512 words.
void add_products(const std::uint64_t* columns, std::uint32_t low, std::uint32_t high,
                  std::uint64_t* sums);

/// A hash of words with as many random words. Equal rows have equal hashes; different rows have
/// equal hashes with probability 2^-32.
std::uint64_t hash_words(std::span<const std::uint64_t> words,
                         std::span<const std::uint64_t> random);

/// The finaliser of splitmix64: every input bit affects every output bit.
constexpr std::uint64_t scrambled(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// A hash of a row as runs.
std::uint64_t hash_runs(std::span<const Run> runs);

}  // namespace maskctl
