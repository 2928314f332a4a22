// Vectorised inner loops that transpose 64 x 64 tiles of bits and hash rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// A span is eight neighbouring tiles: 64 rows of 8 words.
constexpr std::size_t kTileRows = 64, kTileWords = 8, kTileSpan = kTileRows * kTileWords;

/// The position at which transpose_tiles puts the word of column `key`, within the span key / 512.
constexpr std::size_t tile_slot(std::size_t key) { return key % 64 * kTileWords + key / 64 % 8; }

/// Transposes eight tiles. Row r is the words rows[r * stride] .. rows[r * stride + 7]; column c of
/// tile t is bit c of word t of each row. Its 64 bits, bit r for row r, become columns[c * 8 + t],
/// which is at tile_slot(64 * t + c).
void transpose_tiles(const std::uint64_t* rows, std::size_t stride, std::uint64_t* columns);

/// sums[i] += (low half of columns[i]) * low + (high half of columns[i]) * high, modulo 2^64, for
/// the 512 words of a span.
void add_products(const std::uint64_t* columns, std::uint32_t low, std::uint32_t high,
                  std::uint64_t* sums);

/// A hash of words, given the same number of random words. Equal rows have equal hashes; different
/// rows have equal hashes with probability 2^-32.
std::uint64_t hash_words(std::span<const std::uint64_t> words,
                         std::span<const std::uint64_t> random);

/// Mixes the bits of x so that every input bit affects every output bit (the finaliser of
/// splitmix64).
constexpr std::uint64_t scrambled(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// A hash of a row that is given as runs.
std::uint64_t hash_runs(std::span<const Run> runs);

}  // namespace maskctl
