// What rows of caches are made with.
#pragma once

#include <span>

#include "maskctl/phases/caches/cache_rows.h"

namespace maskctl::caches {

inline constexpr SlotMask kDeclared{SlotMask::Rule::kDeclared, SlotMask::Of::kPositions, 0};
inline constexpr SlotMask kCausal{SlotMask::Rule::kCausal, SlotMask::Of::kPositions, 0};
inline constexpr SlotMask kOpen{SlotMask::Rule::kOpen, SlotMask::Of::kPositions, 0};
constexpr SlotMask window_of(const CacheSizes& sizes) {
  return {SlotMask::Rule::kWindow, SlotMask::Of::kPositions, sizes.window.value_or(0)};
}
/// How many keys before a query its layer sees at most: those of its window, or of its chunk.
constexpr Index before(const CacheSizes& sizes) {
  return sizes.window.value_or(sizes.chunk.value_or(1)) - 1;
}
/// The mask of a sliding layer, or of a chunked one, which takes the declared rule.
constexpr SlotMask local_mask(const CacheSizes& sizes) {
  return sizes.window ? window_of(sizes) : kDeclared;
}
/// The mask of any layer: a library masks what a layer sees by its window or its chunk, whatever
/// its cache keeps.
constexpr SlotMask layer_mask(const CacheSizes& sizes) {
  return sizes.window || sizes.chunk ? local_mask(sizes) : kCausal;
}
/// A cache that keeps all tokens.
inline Cache all_tokens(SlotMask mask) {
  Cache out;
  out.several = out.one = mask;
  return out;
}
/// A cache that keeps the last tokens, and a step reads these and its own.
inline Cache last_tokens(Index last, Cache::Order order, SlotMask mask) {
  Cache out = all_tokens(mask);
  out.last = last;
  out.order = order;
  return out;
}

std::span<const CacheRow> plain();
std::span<const CacheRow> transformers();
std::span<const CacheRow> mlx();
std::span<const CacheRow> servers();

}  // namespace maskctl::caches
