// Blocks of shared run lists: each list is looked at once for all rows that it serves.
#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "maskctl/mask/stored_planes.h"
#include "maskctl/mask/tile_sums.h"
#include "maskctl/mask/words.h"

namespace maskctl {

/// Which tiles of `key_tile` keys a list touches and fills, a bit for each tile. Kept for lists of
/// more runs than such a row has words; shorter ones are read as they are.
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
  /// Valid until `scratch` changes.
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
};

Index RowLists::Lists::keys_in(std::uint32_t number, Index begin, Index end) const {
  const std::span<const Run> runs_of_list = list(number);
  const auto below = [&](Index key) {
    const auto run = std::partition_point(runs_of_list.begin(), runs_of_list.end(),
                                          [&](const Run& r) { return r.end <= key; });
    const std::uint32_t before =
        keys_before[static_cast<std::size_t>(offsets[number] + (run - runs_of_list.begin()))];
    const bool is_in = run != runs_of_list.end() && key > run->begin;
    return is_in ? before + static_cast<std::uint32_t>(key - run->begin) : before;
  };
  return begin < end ? Index{below(end) - below(begin)} : 0;
}

std::shared_ptr<const ListTiles> RowLists::Lists::tiles(Index keys, Index key_tile) const {
  const std::lock_guard lock(mutex_);
  if (tiles_ == nullptr || tiles_->key_tile() != key_tile) {
    tiles_ = std::make_shared<ListTiles>(*this, keys, key_tile);
  }
  return tiles_;
}

namespace {

/// Rows of one list and one clip.
struct RowGroup {
  RowRef ref;
  Index rows = 0;
};

/// Groups of equal neighbours in ascending order of lists; empty clips are left out.
std::vector<RowGroup> by_list(std::span<const RowRef> refs, std::size_t lists) {
  std::vector<RowGroup> out;
  for (const RowRef& ref : refs) {
    if (ref.begin >= ref.end) continue;
    if (!out.empty() && out.back().ref == ref) {
      ++out.back().rows;
    } else {
      out.push_back({ref, 1});
    }
  }
  const auto list = [](const RowGroup& group) { return group.ref.list; };
  if (std::ranges::is_sorted(out, {}, list)) return out;
  if (lists > out.size()) {
    std::ranges::stable_sort(out, {}, list);
    return out;
  }
  std::vector<std::size_t> next(lists + 1);
  for (const RowGroup& group : out) ++next[group.ref.list + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<RowGroup> sorted(out.size());
  for (const RowGroup& group : out) sorted[next[group.ref.list]++] = group;
  return sorted;
}

void merge_equal(std::vector<RowGroup>& groups) {
  std::size_t last = 0;
  for (std::size_t i = 1; i < groups.size(); ++i) {
    if (groups[i].ref == groups[last].ref) {
      groups[last].rows += groups[i].rows;
    } else {
      groups[++last] = groups[i];
    }
  }
  if (!groups.empty()) groups.resize(last + 1);
}

/// In ascending order of lists, then of clips; empty clips are left out.
std::vector<RowGroup> grouped(std::span<const RowRef> refs, std::size_t lists) {
  const auto place = [](const RowGroup& g) {
    return std::tuple(g.ref.list, g.ref.begin, g.ref.end);
  };
  std::vector<RowGroup> out = by_list(refs, lists);
  merge_equal(out);
  if (std::ranges::is_sorted(out, {}, place)) return out;
  std::ranges::sort(out, {}, place);
  merge_equal(out);
  return out;
}

/// The open keys of one list in the intervals between edges, times the rows that see them.
class ListCounts {
  /// From `interval` on, so many rows more see whole intervals.
  struct Step {
    std::size_t interval;
    Index rows;
  };

 public:
  ListCounts(const RowLists::Lists& lists, std::span<const Index> edges, std::span<Index> out)
      : lists_(lists), edges_(edges), out_(out) {}

  void add(const RowGroup& group) {
    const Index begin = std::max<Index>(group.ref.begin, edges_.front());
    const Index end = std::min<Index>(group.ref.end, edges_.back());
    if (begin >= end) return;
    const auto first = std::ranges::lower_bound(edges_, begin) - edges_.begin();
    const auto last = std::ranges::upper_bound(edges_, end) - edges_.begin() - 1;
    if (first > last) return add_part(group, last, begin, end);
    step(begins_, static_cast<std::size_t>(first), group.rows);
    step(ends_, static_cast<std::size_t>(last), -group.rows);
    if (edges_[static_cast<std::size_t>(first)] > begin) {
      add_part(group, first - 1, begin, edges_[static_cast<std::size_t>(first)]);
    }
    if (edges_[static_cast<std::size_t>(last)] < end) {
      add_part(group, last, edges_[static_cast<std::size_t>(last)], end);
    }
  }

  /// After the last group of the list.
  void finish(std::uint32_t list) {
    std::vector<Step>& steps = begins_;
    steps.insert(steps.end(), ends_.begin(), ends_.end());
    std::ranges::sort(steps, {}, &Step::interval);
    Index rows = 0;
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
      rows += steps[i].rows;
      if (rows > 0) add_whole(list, rows, steps[i].interval, steps[i + 1].interval);
    }
    begins_.clear();
    ends_.clear();
    near_ = 0;
  }

 private:
  /// Clips of one list mostly ascend, so that neighbours begin and end in the same intervals.
  static void step(std::vector<Step>& steps, std::size_t interval, Index rows) {
    if (!steps.empty() && steps.back().interval == interval) {
      steps.back().rows += rows;
    } else {
      steps.push_back({interval, rows});
    }
  }

  void add_whole(std::uint32_t list, Index rows, std::size_t first, std::size_t last) {
    const std::span<const Run> runs = lists_.list(list);
    // The first run that ends behind the begin of interval i.
    std::size_t run = skip(runs, 0, edges_[first]);
    for (std::size_t i = first; i < last && run < runs.size(); ++i) {
      if (runs[run].begin >= edges_[i + 1]) {
        const auto ahead = edges_.subspan(i + 1, last - i);
        const auto behind = std::ranges::upper_bound(ahead, Index{runs[run].begin});
        i += static_cast<std::size_t>(behind - ahead.begin());
        if (i >= last) return;
      }
      const std::size_t end = skip(runs, run, edges_[i + 1]);
      out_[i] +=
          rows * Index{below(list, runs, end, edges_[i + 1]) - below(list, runs, run, edges_[i])};
      run = end;
    }
  }
  void add_part(const RowGroup& group, std::ptrdiff_t interval, Index begin, Index end) {
    const std::span<const Run> runs = lists_.list(group.ref.list);
    const std::uint32_t before = below_near(group.ref.list, runs, begin);
    out_[static_cast<std::size_t>(interval)] +=
        group.rows * Index{below_near(group.ref.list, runs, end) - before};
  }
  /// Searches from where the last search ended: parts of one list lie close together.
  std::uint32_t below_near(std::uint32_t list, std::span<const Run> runs, Index key) {
    if (near_ > runs.size() || (near_ > 0 && runs[near_ - 1].end > key)) near_ = 0;
    near_ = skip(runs, near_, key);
    return below(list, runs, near_, key);
  }
  /// The first run from `from` on that ends behind `key`.
  static std::size_t skip(std::span<const Run> runs, std::size_t from, Index key) {
    std::size_t step = 1, high = from;
    while (high < runs.size() && runs[high].end <= key) {
      from = high + 1;
      high += step;
      step *= 2;
    }
    const auto part = runs.subspan(from, std::min(high, runs.size()) - from);
    return from +
           static_cast<std::size_t>(
               std::ranges::partition_point(part, [&](const Run& run) { return run.end <= key; }) -
               part.begin());
  }
  /// Modulo 2^32.
  std::uint32_t below(std::uint32_t list, std::span<const Run> runs, std::size_t run,
                      Index key) const {
    const std::uint32_t before =
        lists_.keys_before[static_cast<std::size_t>(lists_.offsets[list]) + run];
    const bool is_in = run < runs.size() && key > runs[run].begin;
    return is_in ? before + static_cast<std::uint32_t>(key - runs[run].begin) : before;
  }

  const RowLists::Lists& lists_;
  std::span<const Index> edges_;
  std::span<Index> out_;
  std::vector<Step> begins_, ends_;
  std::size_t near_ = 0;  // the run at which the last part of an interval ended
};

/// Rows of one list whose clips overlap.
struct OneList {
  std::uint32_t list;
  Range any, all;  // keys inside a clip of any row and of all rows
};

/// Nothing when rows are of several lists or have no key in common.
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

/// The tiles of such rows run by run, whatever the number of tiles.
void tiles_of_list(const OneList& rows, std::span<const Run> runs, Index keys, Index key_tile,
                   std::vector<TileRun>& out) {
  const std::size_t row_start = out.size();
  Index done = 0;  // tiles before this one are told
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

/// The tiles of one tile row, gathered list by list.
class TileRow {
 public:
  TileRow(const RowLists::Lists& lists, const ListTiles& tiles, Index keys)
      : lists_(lists), tiles_(tiles), keys_(keys), touched_(tiles.width()), filled_(tiles.width()) {
    set_bits(filled_, {0, tiles.tiles()});
  }

  /// All groups of one list: the keys that all of them see are looked at once.
  void add(std::span<const RowGroup> groups) {
    RowRef shared = groups.front().ref;
    for (const RowGroup& group : groups) {
      shared.begin = std::max(shared.begin, group.ref.begin);
      shared.end = std::min(shared.end, group.ref.end);
    }
    if (shared.begin >= shared.end) {
      for (const RowGroup& group : groups) add(group.ref);
      return;
    }
    add(shared);
    for (const RowGroup& group : groups) {
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

  /// `all_rows`: every row of the tile row was added.
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
  /// The words that bits lie in, and which bits of the outer two are among them.
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

  /// Bits outside `whole` are left to the caller.
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
  /// Keys of one tile that the clip cuts.
  void add_part(const RowRef& ref, Index begin, Index end) { touch_tile(ref.list, {begin, end}); }
  void touch_tile(std::uint32_t list, Range keys) {
    if (keys.empty()) return;
    const Index tile = keys.begin / tiles_.key_tile();
    std::uint64_t& word = touched_[static_cast<std::size_t>(tile / 64)];
    const std::uint64_t bit = std::uint64_t{1} << (tile % 64);
    if (!(word & bit) && lists_.keys_in(list, keys.begin, keys.end) > 0) word |= bit;
  }
  /// Keys that some but not all rows of a list see.
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

}  // namespace

void RowLists::counts(Range q, std::span<const Index> edges, std::span<Index> out) const {
  if (out.empty()) return;
  const auto refs = std::span(refs_).subspan(static_cast<std::size_t>(q.begin),
                                             static_cast<std::size_t>(q.size()));
  const auto groups = grouped(refs, lists_->offsets.size() - 1);
  ListCounts list_counts(*lists_, edges, out);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    list_counts.add(groups[i]);
    const std::uint32_t list = groups[i].ref.list;
    if (i + 1 == groups.size() || groups[i + 1].ref.list != list) list_counts.finish(list);
  }
}

void RowLists::tiles(Range q, Index key_tile, std::vector<TileRun>& out) const {
  key_tile = std::min(key_tile, std::max<Index>(keys(), 1));
  const auto refs = std::span(refs_).subspan(static_cast<std::size_t>(q.begin),
                                             static_cast<std::size_t>(q.size()));
  // Rows of short lists, or of lists of their own, are faster read as they are.
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
  TileRow row(*lists_, *list_tiles, keys());
  Index rows = 0;
  const std::vector<RowGroup> groups = grouped(refs, lists_->offsets.size() - 1);
  for (std::size_t begin = 0, end = 0; begin < groups.size(); begin = end) {
    for (; end < groups.size() && groups[end].ref.list == groups[begin].ref.list; ++end) {
      rows += groups[end].rows;
    }
    row.add(std::span(groups).subspan(begin, end - begin));
  }
  row.finish(rows == q.size(), out);
}

}  // namespace maskctl
