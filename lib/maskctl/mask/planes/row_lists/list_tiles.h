// For each list of keys that rows share, the tiles of which it has some keys (touches) or all keys
// (fills); private to the mask layer.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "maskctl/mask/planes/stored_planes.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {

/// For each list, two bits per tile of `key_tile` keys: whether the list has any key of the tile
/// (touched), and whether it has all of them (filled). Stored only for lists with more runs than
/// words in a row of such bits; those of shorter lists are computed on demand.
class ListTiles {
 public:
  ListTiles(const RowLists::Lists& lists, Index keys, Index key_tile)
      : lists_(lists),
        keys_(keys),
        key_tile_(key_tile),
        width_(static_cast<std::size_t>(words_for(ceil_div(keys, key_tile)))) {
    const std::size_t count = lists.offsets.size() - 1;
    places_.assign(count, kShort);
    for (std::size_t i = 0; i < count; ++i) {
      if (lists.list(static_cast<std::uint32_t>(i)).size() <= width_) continue;
      places_[i] = bits_.size();
      bits_.resize(bits_.size() + 2 * width_);
      put(static_cast<std::uint32_t>(i), std::span(bits_).last(2 * width_));
    }
  }

  Index key_tile() const { return key_tile_; }
  std::size_t width() const { return width_; }
  Index tiles() const { return ceil_div(keys_, key_tile_); }

  struct Bits {
    std::span<const std::uint64_t> touched, filled;
  };
  /// The bits of a list that say which tiles it touches and which it fills; valid until `scratch`
  /// changes.
  Bits of(std::uint32_t list, std::vector<std::uint64_t>& scratch) const {
    std::span<const std::uint64_t> both;
    if (places_[list] == kShort) {
      scratch.assign(2 * width_, 0);
      put(list, scratch);
      both = scratch;
    } else {
      both = std::span(bits_).subspan(places_[list], 2 * width_);
    }
    return {both.first(width_), both.last(width_)};
  }

  Index bytes() const {
    return static_cast<Index>(places_.size() * sizeof(std::size_t) +
                              bits_.size() * sizeof(std::uint64_t));
  }

  /// The result of make(), which computes the tiles of rows that see all keys of these lists. It is
  /// cached, because the next tile row mostly uses the same lists, but only from the second call
  /// in a row with the same lists on: the first returns null.
  using Tiles = std::shared_ptr<const std::vector<TileRun>>;
  template <typename Make>
  Tiles together(std::vector<std::uint32_t> lists, const Make& make) const {
    const std::lock_guard lock(mutex_);
    if (lists != last_lists_) {
      last_lists_ = std::move(lists);
      last_tiles_.reset();
      return nullptr;
    }
    if (!last_tiles_) last_tiles_ = std::make_shared<const std::vector<TileRun>>(make());
    return last_tiles_;
  }

 private:
  static constexpr std::size_t kShort = ~std::size_t{0};

  void put(std::uint32_t list, std::span<std::uint64_t> both) const {
    for (const Run& run : lists_.list(list)) {
      set_bits(both.first(width_), {run.begin / key_tile_, (run.end - 1) / key_tile_ + 1});
      const Index last = run.end == keys_ ? tiles() : run.end / key_tile_;
      const Range filled{ceil_div(run.begin, key_tile_), last};
      if (!filled.empty()) set_bits(both.last(width_), filled);
    }
  }

  const RowLists::Lists& lists_;
  Index keys_, key_tile_;
  std::size_t width_;
  std::vector<std::size_t> places_;
  std::vector<std::uint64_t> bits_;
  mutable std::mutex mutex_;
  mutable std::vector<std::uint32_t> last_lists_;  // the lists of the last call
  mutable Tiles last_tiles_;                       // null until the second call with these lists
};

}  // namespace maskctl
