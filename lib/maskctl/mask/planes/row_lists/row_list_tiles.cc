// Classifies tiles of shared run lists: each list is examined once for all rows that use it.
#include <algorithm>
#include <numeric>
#include <optional>

#include "maskctl/mask/planes/row_lists/list_tiles.h"
#include "maskctl/mask/planes/row_lists/row_list_groups.h"
#include "maskctl/mask/planes/tile_sums.h"

namespace maskctl {

std::shared_ptr<const ListTiles> RowLists::Lists::tiles(Index keys, Index key_tile) const {
  const std::lock_guard lock(mutex_);
  if (tiles_ == nullptr || tiles_->key_tile() != key_tile) {
    const Index before = tiles_ ? tiles_->bytes() : 0;
    tiles_ = std::make_shared<ListTiles>(*this, keys, key_tile);
    kept_bytes_ += tiles_->bytes() - before;
  }
  return tiles_;
}

namespace {

/// Rows that all clip the same list, with clips that overlap or are empty.
struct OneList {
  std::uint32_t list;
  Range any, all;  // any: keys inside some clip; all: keys inside every clip
};

/// The list that all rows clip. Nothing when rows with clips that are not empty use several lists
/// or do not overlap, or when there are no such rows.
std::optional<OneList> one_list(std::span<const RowRef> refs) {
  std::optional<OneList> out;
  bool some_closed = false;
  for (const RowRef& ref : refs) {
    const Range clip{ref.begin, ref.end};
    if (clip.empty()) {
      some_closed = true;
    } else if (!out) {
      out = {ref.list, clip, clip};
    } else {
      if (ref.list != out->list) return std::nullopt;
      out->any = {std::min(out->any.begin, clip.begin), std::max(out->any.end, clip.end)};
      out->all = intersect(out->all, clip);
    }
  }
  if (out && out->all.empty()) return std::nullopt;
  if (out && some_closed) out->all.end = out->all.begin;
  return out;
}

/// Appends the tiles of rows that share one list, run by run, at a cost that does not depend on the
/// number of tiles.
void tiles_of_list(const OneList& rows, std::span<const Run> runs, Index keys, Index key_tile,
                   std::vector<TileRun>& out) {
  const std::size_t row_start = out.size();
  Index done = 0;  // tiles before this one have been appended
  const auto put = [&](Index begin, Index end, Fill fill) {
    begin = std::max(begin, done);
    if (begin >= end) return;
    append_tile(out, row_start, begin, end - begin, fill);
    done = end;
  };
  auto run =
      std::ranges::partition_point(runs, [&](const Run& r) { return r.end <= rows.any.begin; });
  for (; run != runs.end() && run->begin < rows.any.end; ++run) {
    const Range touched = intersect({run->begin, run->end}, rows.any);
    const Range filled = intersect({run->begin, run->end}, rows.all);
    const Index last = ceil_div(touched.end, key_tile);
    if (!filled.empty()) {
      const Index full_begin = ceil_div(filled.begin, key_tile);
      const Index full_end = filled.end == keys ? last : filled.end / key_tile;
      put(touched.begin / key_tile, std::min(full_begin, last), Fill::kPartial);
      put(full_begin, full_end, Fill::kFull);
    }
    put(touched.begin / key_tile, last, Fill::kPartial);
  }
}

/// Collects the tiles of one tile row, list by list.
class TileRow {
 public:
  TileRow(const RowLists::Lists& lists, const ListTiles& tiles, Index keys)
      : lists_(lists), tiles_(tiles), keys_(keys), touched_(tiles.width()), filled_(tiles.width()) {
    set_bits(filled_, {0, tiles.tiles()});
  }

  /// Adds all groups (rows that clip the same list in the same way); they must be sorted by list.
  void add(std::span<const ClipGroup> groups) {
    for (std::size_t begin = 0, end = 0; begin < groups.size(); begin = end) {
      while (end < groups.size() && groups[end].ref.list == groups[begin].ref.list) ++end;
      add_list(groups.subspan(begin, end - begin));
    }
  }

  /// Adds all groups of one list; a group is the rows that clip the list in the same way. The keys
  /// inside all of their clips are examined only once.
  void add_list(std::span<const ClipGroup> groups) {
    RowRef shared = groups.front().ref;
    for (const ClipGroup& group : groups) {
      shared.begin = std::max(shared.begin, group.ref.begin);
      shared.end = std::min(shared.end, group.ref.end);
    }
    if (shared.begin >= shared.end) {
      for (const ClipGroup& group : groups) add(group.ref);
      return;
    }
    add(shared);
    for (const ClipGroup& group : groups) {
      touch(shared.list, {group.ref.begin, shared.begin});
      touch(shared.list, {shared.end, group.ref.end});
    }
  }

  void add(const RowRef& ref) {
    const Index tile = tiles_.key_tile();
    const Range whole{ceil_div(ref.begin, tile),
                      ref.end == keys_ ? tiles_.tiles() : ref.end / tile};
    clear(filled_, {0, whole.begin});
    clear(filled_, {whole.end, tiles_.tiles()});
    if (!whole.empty()) add_whole(tiles_.of(ref.list, scratch_), whole);
    add_part(ref, ref.begin, std::min<Index>(whole.begin * tile, ref.end));
    add_part(ref, std::max<Index>(whole.end * tile, ref.begin), ref.end);
  }

  /// Appends the tiles to `out`. If `all_rows` is false, some row of the tile row sees nothing, so
  /// no tile is full.
  void finish(bool all_rows, std::vector<TileRun>& out) {
    const std::size_t row_start = out.size();
    std::vector<Run> touched, filled;
    words_to_runs(touched_, touched);
    if (all_rows) words_to_runs(filled_, filled);
    auto full = filled.begin();
    for (const Run& run : touched) {
      Index at = run.begin;
      for (; full != filled.end() && full->begin < run.end; ++full) {
        put(out, row_start, {at, full->begin}, Fill::kPartial);
        put(out, row_start, {full->begin, full->end}, Fill::kFull);
        at = full->end;
      }
      put(out, row_start, {at, run.end}, Fill::kPartial);
    }
  }

 private:
  /// The words that contain a range of bits, and masks that select the range in its first and last
  /// word.
  struct Words {
    explicit Words(Range bits)
        : first(static_cast<std::size_t>(bits.begin / 64)),
          last(static_cast<std::size_t>((bits.end - 1) / 64)),
          head(~std::uint64_t{0} << (bits.begin % 64)),
          tail(~std::uint64_t{0} >> (63 - (bits.end - 1) % 64)) {
      if (first == last) head = tail = head & tail;
    }
    std::size_t first, last;
    std::uint64_t head, tail;
  };
  static void clear(std::span<std::uint64_t> words, Range bits) {
    if (bits.empty()) return;
    const Words in(bits);
    words[in.first] &= ~in.head;
    if (in.first < in.last) {
      std::ranges::fill(words.subspan(in.first + 1, in.last - in.first - 1), 0);
    }
    words[in.last] &= ~in.tail;
  }
  static void put(std::vector<TileRun>& out, std::size_t row_start, Range tiles, Fill fill) {
    if (!tiles.empty()) append_tile(out, row_start, tiles.begin, tiles.size(), fill);
  }

  /// Adds the tiles `whole` of a list, given the bits that say which tiles the list touches and
  /// fills. The keys of these tiles must all be inside the clip.
  void add_whole(const ListTiles::Bits& bits, Range whole) {
    const Words in(whole);
    const auto add_word = [&](std::size_t i, std::uint64_t inside) {
      touched_[i] |= bits.touched[i] & inside;
      filled_[i] &= bits.filled[i] | ~inside;
    };
    add_word(in.first, in.head);
    for (std::size_t i = in.first + 1; i < in.last; ++i) add_word(i, ~std::uint64_t{0});
    add_word(in.last, in.tail);
  }
  /// Adds the keys [begin, end) of a tile of which only a part is in the range of `ref`.
  void add_part(const RowRef& ref, Index begin, Index end) { touch_tile(ref.list, {begin, end}); }
  void touch_tile(std::uint32_t list, Range keys) {
    if (keys.empty()) return;
    const Index tile = keys.begin / tiles_.key_tile();
    std::uint64_t& word = touched_[static_cast<std::size_t>(tile / 64)];
    const std::uint64_t bit = std::uint64_t{1} << (tile % 64);
    if (!(word & bit) && lists_.keys_in(list, keys.begin, keys.end) > 0) word |= bit;
  }
  /// Marks the tiles of these keys as touched; only some rows of the list see them.
  void touch(std::uint32_t list, Range keys) {
    for (Index begin = keys.begin; begin < keys.end;) {
      const Index end = std::min((begin / tiles_.key_tile() + 1) * tiles_.key_tile(), keys.end);
      touch_tile(list, {begin, end});
      begin = end;
    }
  }

  const RowLists::Lists& lists_;
  const ListTiles& tiles_;
  Index keys_;
  std::vector<std::uint64_t> touched_, filled_, scratch_;
};

/// The keys inside the clip of any group, and inside the clips of all groups.
struct Clips {
  Range any, all;
};
Clips clips_of(std::span<const ClipGroup> groups) {
  const RowRef& first = groups.front().ref;
  Clips out{{first.begin, first.end}, {first.begin, first.end}};
  for (const ClipGroup& group : groups) {
    out.any = {std::min<Index>(out.any.begin, group.ref.begin),
               std::max<Index>(out.any.end, group.ref.end)};
    out.all = intersect(out.all, {group.ref.begin, group.ref.end});
  }
  return out;
}

/// Finds the tiles of neighbouring tile rows that use the same lists of keys, clipped to ranges
/// that move little from row to row. The tiles that all these lists touch and fill together are
/// computed once for all of these tile rows.
class SharedTiles {
 public:
  SharedTiles(const RowLists::Lists& lists, const ListTiles& tiles, Index keys)
      : lists_(lists), tiles_(tiles), keys_(keys) {}

  /// Appends the tiles of a tile row. Returns false without doing so if its lists are not those of
  /// the last tile row, or if the ranges to which they are clipped differ too much.
  bool put(std::span<const ClipGroup> groups, bool all_rows, std::vector<TileRun>& out) const {
    constexpr Index kCutTiles = 64;  // cut tiles are examined one by one
    if (groups.empty()) return true;
    const Clips clips = clips_of(groups);
    if (clips.any.size() - clips.all.size() > kCutTiles * tiles_.key_tile()) return false;
    const ListTiles::Tiles shared =
        tiles_.together(lists_of(groups), [&] { return whole(groups); });
    if (!shared) return false;
    put(groups, clips, all_rows, *shared, out);
    return true;
  }

 private:
  static std::vector<std::uint32_t> lists_of(std::span<const ClipGroup> groups) {
    std::vector<std::uint32_t> out;
    for (const ClipGroup& group : groups) {
      if (out.empty() || out.back() != group.ref.list) out.push_back(group.ref.list);
    }
    return out;
  }
  std::vector<TileRun> whole(std::span<const ClipGroup> groups) const {
    TileRow row(lists_, tiles_, keys_);
    for (const std::uint32_t list : lists_of(groups)) {
      row.add({list, 0, static_cast<std::int32_t>(keys_)});
    }
    std::vector<TileRun> out;
    row.finish(true, out);
    return out;
  }

  /// Copies from `shared` the tiles that no clip cuts, as partial ones if some row sees nothing
  /// (`all_rows` is false). Tiles that a clip cuts are partial or empty.
  void put(std::span<const ClipGroup> groups, const Clips& clips, bool all_rows,
           std::span<const TileRun> shared, std::vector<TileRun>& out) const {
    const Index tile = tiles_.key_tile();
    const std::size_t row_start = out.size();
    const Range any{clips.any.begin / tile, ceil_div(clips.any.end, tile)};
    const Range all{ceil_div(clips.all.begin, tile),
                    clips.all.end == keys_ ? tiles_.tiles() : clips.all.end / tile};
    if (all.empty()) return look(groups, any, row_start, out);
    look(groups, {any.begin, all.begin}, row_start, out);
    auto run = std::ranges::partition_point(
        shared, [&](const TileRun& r) { return r.first + r.count <= all.begin; });
    for (; run != shared.end() && run->first < all.end; ++run) {
      const Range inside = intersect({run->first, Index{run->first} + run->count}, all);
      append_tile(out, row_start, inside.begin, inside.size(),
                  all_rows ? run->fill : Fill::kPartial);
    }
    look(groups, {all.end, any.end}, row_start, out);
  }
  void look(std::span<const ClipGroup> groups, Range tiles, std::size_t row_start,
            std::vector<TileRun>& out) const {
    for (Index i = tiles.begin; i < tiles.end; ++i) {
      const Range keys{i * tiles_.key_tile(), (i + 1) * tiles_.key_tile()};
      const bool touched = std::ranges::any_of(groups, [&](const ClipGroup& group) {
        const Range seen = intersect(keys, {group.ref.begin, group.ref.end});
        return lists_.keys_in(group.ref.list, seen.begin, seen.end) > 0;
      });
      if (touched) append_tile(out, row_start, i, 1, Fill::kPartial);
    }
  }

  const RowLists::Lists& lists_;
  const ListTiles& tiles_;
  Index keys_;
};

}  // namespace

void RowLists::tiles(Range q, Index key_tile, std::vector<TileRun>& out) const {
  key_tile = std::min(key_tile, std::max<Index>(keys(), 1));
  const auto refs = std::span(refs_).subspan(static_cast<std::size_t>(q.begin),
                                             static_cast<std::size_t>(q.size()));
  // Short lists, and lists that few rows share, are faster to read row by row.
  constexpr std::size_t kRowsPerList = 4, kRunsPerWord = 4;
  Index runs = 0;
  for (const RowRef& ref : refs) runs += lists_->offsets[ref.list + 1] - lists_->offsets[ref.list];
  const auto width = static_cast<std::size_t>(words_for(ceil_div(keys(), key_tile)));
  if (lists_->offsets.size() * kRowsPerList > refs_.size() ||
      static_cast<std::size_t>(runs) < refs.size() * width * kRunsPerWord) {
    const auto alone = one_list(refs);
    if (!alone) return Plane::tiles(q, key_tile, out);
    return tiles_of_list(*alone, lists_->list(alone->list), keys(), key_tile, out);
  }
  const auto list_tiles = lists_->tiles(keys(), key_tile);
  const std::vector<ClipGroup> groups = grouped(refs, lists_->offsets.size() - 1);
  const Index rows = std::accumulate(groups.begin(), groups.end(), Index{0},
                                     [](Index sum, const ClipGroup& g) { return sum + g.rows; });
  const bool all_rows = rows == q.size();
  if (SharedTiles(*lists_, *list_tiles, keys()).put(groups, all_rows, out)) return;
  TileRow row(*lists_, *list_tiles, keys());
  row.add(groups);
  row.finish(all_rows, out);
}

}  // namespace maskctl
