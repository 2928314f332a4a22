#include "maskctl/inspect/check/future_reader.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "maskctl/inspect/recognise/cells.h"

namespace maskctl {
namespace {

/// A run of future keys that is not next to the query's own key.
struct FarRun {
  Index query;
  Run keys;
};

class FutureReader {
 public:
  FutureReader(const PlanePtr& plane, std::span<const Range> full, std::span<const Range> global)
      : plane_(*plane),
        global_(global),
        shift_(plane->keys() - plane->queries()),
        first_key_(recognition::first_key(*plane)),
        near_(static_cast<std::size_t>(plane->queries())),
        own_begin_(near_.size(), plane->keys()),
        kind_(near_.size()) {
    for (const Range& rows : full) {
      for (Index q = rows.begin; q < rows.end; ++q) mark(q, kFull);
    }
  }

  Future read() {
    const bool regular = recognition::each_row_while(plane_, [this](Range rows, const Keys& keys) {
      const std::span<const Run> runs = as_runs(keys, scratch_);
      for (Index q = rows.begin; q < rows.end; ++q) add(q, runs);
      return far_.size() <= 4 * near_.size() + 1024;
    });
    if (!regular) {
      out_.irregular = true;
      return out_;
    }
    find_groups();
    count_groups();
    count_kinds();
    const bool few_global = out_.to_global == 0 || out_.others + out_.to_global < out_.closed;
    out_.joined = out_.others > 0 && few_global && joins_groups();
    return out_;
  }

 private:
  enum Kind : std::uint8_t {
    kSelf = 1,
    kLater = 2,
    kFull = 4,
    kGroup = 8,
    kOther = 16,
    kEarlier = 32,
    kSees = 64  // any key
  };

  static std::size_t at(Index q) { return static_cast<std::size_t>(q); }
  Index own(Index q) const { return q + shift_; }
  bool is(Index q, Kind kind) const { return (kind_[at(q)] & kind) != 0; }
  bool is_causal(Index q) const {
    return is(q, kSelf) && is(q, kEarlier) && !is(q, kLater) && !is(q, kGroup);
  }
  void mark(Index q, Kind kind) { kind_[at(q)] = static_cast<std::uint8_t>(kind_[at(q)] | kind); }

  /// Reads the runs of keys that query q sees: notes whether it sees itself and earlier keys, the
  /// run right after its own key (near_), and runs farther in the future (far_).
  void add(Index q, std::span<const Run> runs) {
    const Index self = own(q);
    if (!runs.empty()) mark(q, kSees);
    auto run = std::ranges::partition_point(runs, [self](Run r) { return r.end <= self; });
    if (run == runs.end()) return;
    if (run->begin <= self) {
      mark(q, kSelf);
      own_begin_[at(q)] = run->begin;
    }
    if (runs.front().begin < self) mark(q, kEarlier);
    Index later = 0;
    const Index next = std::max(self + 1, first_key_);
    for (; run != runs.end(); ++run) {
      const Index begin = std::max<Index>(run->begin, self + 1);
      if (begin >= run->end) continue;
      mark(q, kLater);
      later += run->end - begin;
      if (begin == next) {
        near_[at(q)] = run->end;
      } else {
        far_.push_back({q, {static_cast<std::int32_t>(begin), run->end}});
      }
    }
    if (!is(q, kSelf) || is(q, kFull)) return;
    Index to_global = 0;
    for (const Range& keys : global_) {
      to_global += std::max<Index>(keys.end - std::max(keys.begin, self + 1), 0);
    }
    out_.to_global += to_global;
    out_.closed += plane_.keys() - 1 - self - later - to_global;
  }

  /// Where the keys end that row r sees from its own on without a gap. The last row of a group may
  /// see no later key, so that its near_ is 0.
  Index seen_end(Index r) const { return near_[at(r)] == 0 ? own(r) + 1 : near_[at(r)]; }

  /// Whether rows from q on, up to that of the key before `end`, are a group: of all pairs three in
  /// four see each other, and less than half of the rows lack keys. The last rows with later keys
  /// lack none, else one in eight pairs at most, or they are the side of a block of other cells.
  /// Less than half of the rows see the key after the group too, or all of these see the same keys.
  bool is_group(Index q, Index end) const {
    const Index stop = end - shift_, rows = stop - q;
    Index lacking = 0, beyond = 0, far_end = 0, closed = 0;
    bool ends_whole = true, far_alike = true;
    for (Index r = q; r < stop; ++r) {
      const Index its = seen_end(r);
      if (own_begin_[at(r)] > own(q) || its < end) {
        if (2 * ++lacking >= rows) return false;
        const Range before{own(q), std::clamp(own_begin_[at(r)], own(q), end)};
        closed += before.size() - plane_.count({r, r + 1}, before);
        if (its < end) closed += end - its - plane_.count({r, r + 1}, {its, end});
        ends_whole = false;
      } else if (its > end) {
        far_alike = far_alike && (beyond == 0 || its == far_end);
        far_end = its;
        ++beyond;
      } else if (near_[at(r)] == end) {
        ends_whole = true;
      }
    }
    const Index pairs = rows * (rows - 1) / 2;
    const bool few_beyond = 2 * (lacking + beyond) < rows || (far_alike && rows - beyond > 1);
    return (beyond == 0 || few_beyond) && 4 * closed <= (ends_whole ? pairs : pairs / 2);
  }

  /// Where a group ends that begins with row q; q if there is none. Its first rows may lack keys,
  /// or see keys after it.
  Index group_end(Index q) const {
    constexpr Index kRows = 8;
    if (near_[at(q)] == 0) return q;
    std::set<Index, std::greater<>> ends;
    const Index last = std::min(q + kRows, plane_.queries());
    for (Index r = q; r < last; ++r) ends.insert(near_[at(r)]);
    for (const Index end : ends) {
      if (end > own(q) + 1 && is_group(q, end)) return end - shift_;
    }
    return q;
  }

  void find_groups() {
    std::vector<Range> pairs;
    for (Index q = 0; q < plane_.queries();) {
      const Index stop = group_end(q);
      if (stop == q) {
        if (near_[at(q)] > 0 && !is(q, kFull)) add_other(q, near_run(q));
        ++q;
      } else {
        const bool is_pair = stop - q == 2 && is(q, kEarlier);
        if (is_pair) {
          pairs.push_back({q, stop});
        } else {
          add_group({q, stop});
        }
        q = stop;
      }
    }
    // Of two tokens behind others that see each other, the first sees the token that it predicts.
    // They are a group beside larger ones, or where most tokens are in pairs.
    const bool are_groups =
        4 * std::ssize(pairs) >= plane_.queries() ||
        std::ranges::any_of(groups_, [](const Range& group) { return group.size() > 2; });
    for (const Range& rows : pairs) {
      if (are_groups) {
        add_group(rows);
      } else {
        add_other(rows.begin, near_run(rows.begin));
      }
    }
    std::ranges::sort(groups_, {}, &Range::begin);
    for (FarRun& far : far_) {
      if (is(far.query, kFull)) continue;
      far.keys.begin = std::max(far.keys.begin, group_keys_end(far.query));
      if (far.keys.begin < far.keys.end) add_other(far.query, far.keys);
    }
    std::erase_if(far_, [](const FarRun& far) { return far.keys.begin >= far.keys.end; });
  }

  /// Notes a later key of a group that row r does not see, though its token sees r, and r sees a
  /// key behind it or both rows beside r see it: at the end of a window they do not.
  void add_hole(const Range& group, Index r, Index key) {
    const auto see = [&](Range rows, Index begin, Index end) {
      return plane_.count(rows, {begin, end}) > 0;
    };
    const Range row{r, r + 1}, its{key - shift_, key - shift_ + 1};
    if (!is(r, kSelf) || see(row, key, key + 1) || !see(its, own(r), own(r) + 1)) return;
    const bool beside =
        r > group.begin && see({r - 1, r}, key, key + 1) && see({r + 1, r + 2}, key, key + 1);
    if (!beside && !see(row, key + 1, own(group.end))) return;
    if (out_.holes++ == 0) out_.first_hole = Cell{0, 0, r, key};
  }

  /// Notes a group, its holes, and the keys after it that its rows see without a gap.
  void add_group(Range rows) {
    groups_.push_back(rows);
    const Index end = own(rows.end);
    for (Index r = rows.begin; r < rows.end; ++r) {
      mark(r, kGroup);
      for (Index key = seen_end(r); key < end; ++key) add_hole(rows, r, key);
      if (near_[at(r)] <= end || is(r, kFull)) continue;
      add_other(r, {static_cast<std::int32_t>(end), static_cast<std::int32_t>(near_[at(r)])});
      near_[at(r)] = end;
    }
  }
  /// The end of the keys of the row's group; 0 if it is in none.
  std::int32_t group_keys_end(Index q) const {
    if (!is(q, kGroup)) return 0;
    return static_cast<std::int32_t>(
        own(std::ranges::upper_bound(groups_, q, {}, &Range::end)->end));
  }

  /// Whether a supposed group (tokens that all see each other) is only the corner of a block of
  /// other cells, which are open cells of the future in no group (Future::others). Where such a
  /// block reaches the diagonal, its last rows look like a group. They follow a row with other
  /// cells, and the columns of all their tokens but the first have other cells.
  bool is_corner(const Range& group) const {
    if (group.begin == 0 || !is(group.begin - 1, kOther)) return false;
    for (Index q = group.begin + 1; q < group.end; ++q) {
      if (!is_seen(own(q))) return false;
    }
    return !is_seen(own(group.begin));
  }

  void count_groups() {
    for (const Range& group : groups_) {
      if (!unseen_.empty() && is_corner(group)) {
        for (Index q = group.begin; q < group.end; ++q) {
          kind_[at(q)] = static_cast<std::uint8_t>(kind_[at(q)] & ~kGroup);
          if (near_[at(q)] > 0) add_other(q, near_run(q));
        }
      } else {
        ++out_.groups;
        out_.largest = std::max(out_.largest, group.size());
      }
    }
  }

  Run near_run(Index q) const {
    const Index begin = std::max(own(q) + 1, first_key_);
    return {static_cast<std::int32_t>(begin), static_cast<std::int32_t>(near_[at(q)])};
  }

  void add_other(Index q, Run keys) {
    see(keys);
    mark(q, kOther);
    const Cell cell{0, 0, q, keys.begin};
    if (!out_.first || q < out_.first->query) out_.first = cell;
    const auto widen = [empty = out_.others == 0](Range& range, Index begin, Index end) {
      range =
          empty ? Range{begin, end} : Range{std::min(range.begin, begin), std::max(range.end, end)};
    };
    widen(out_.q, q, q + 1);
    widen(out_.k, keys.begin, keys.end);
    out_.others += keys.end - keys.begin;
  }

  /// Marks the keys of a cell of Future::others, each once, however many queries have such cells.
  void see(Run keys) {
    if (unseen_.empty()) {
      unseen_.resize(at(plane_.keys()) + 1);
      std::iota(unseen_.begin(), unseen_.end(), 0);
    }
    for (auto key = next_unseen(keys.begin); key < keys.end; key = next_unseen(key + 1)) {
      unseen_[at(key)] = key + 1;
    }
  }
  std::int32_t next_unseen(std::int32_t key) {
    while (unseen_[at(key)] != key) {
      unseen_[at(key)] = unseen_[at(unseen_[at(key)])];  // shortens the path for the next search
      key = unseen_[at(key)];
    }
    return key;
  }
  bool is_seen(Index key) const { return unseen_[at(key)] != key; }

  void count_kinds() {
    for (Index q = 0; q < plane_.queries(); ++q) {
      out_.selves += is(q, kSelf);
      out_.in_groups += is(q, kGroup);
      out_.q_count += is(q, kOther);
      out_.causal += is_causal(q);
      out_.unaligned += shift_ > 0 && is(q, kSees) && !is_causal(q) && !is(q, kGroup);
    }
    for (Index key = 0; key + 1 < std::ssize(unseen_); ++key) out_.k_count += is_seen(key);
  }

  /// Whether the other cells (open cells of the future in no group) join groups. They do if
  /// - each query with such cells has some that do not follow its own key directly,
  /// - tokens that see the same last key belong to the same runs, and see all keys of these after
  ///   their own,
  /// - each run is a group of the mask or a single token, and not all are single tokens,
  /// - and the first token of some run sees a causal token between that run and the run before it.
  bool joins_groups() const {
    std::map<Index, std::vector<Run>> members;  // the runs of each group, by its last key
    std::vector<Run> runs;
    Index rows = 0, far_rows = 0;
    for (auto far = far_.begin(); far != far_.end(); ++rows) {
      const Index q = far->query;
      runs.clear();
      if (near_[at(q)] > 0) runs.push_back(near_run(q));
      for (; far != far_.end() && far->query == q; ++far) runs.push_back(far->keys);
      if (runs.back().end - runs.back().begin < 2) return false;  // a token alone is no group
      const auto [group, fresh] = members.try_emplace(runs.back().end, runs);
      if (fresh) group->second.insert(group->second.begin(), own_run(q));
      if (!fresh && !same_after(group->second, own(q), runs)) return false;
    }
    for (Index q = 0; q < plane_.queries(); ++q) far_rows += is(q, kOther);
    const auto any = [&members](const auto& holds) {
      return std::ranges::any_of(members, [&](const auto& one) { return holds(one.second); });
    };
    return far_rows == rows && !any([this](const auto& keys) { return has_stray(keys); }) &&
           any([](const auto& keys) { return has_image(keys); }) &&
           any([this](const auto& keys) { return has_gap(keys); });
  }

  /// Whether some run in `parts` other than the first has several tokens and is not a group (tokens
  /// that all see each other).
  bool has_stray(const std::vector<Run>& parts) const {
    return std::ranges::any_of(parts.begin() + 1, parts.end(), [this](const Run& part) {
      return part.end - part.begin > 1 && !is(part.begin - shift_, kGroup);
    });
  }
  static bool has_image(const std::vector<Run>& parts) {
    return std::ranges::any_of(parts, [](const Run& part) { return part.end - part.begin > 1; });
  }

  Run own_run(Index q) const {
    return {static_cast<std::int32_t>(own(q)), static_cast<std::int32_t>(own(q) + 1)};
  }

  /// Whether `keys` contain the token, and `runs` are those of `keys` after the token.
  static bool same_after(const std::vector<Run>& keys, Index token, const std::vector<Run>& runs) {
    std::vector<Run> after;
    bool is_member = false;
    for (const Run& run : keys) {
      is_member = is_member || (run.begin <= token && token < run.end);
      const auto begin = static_cast<std::int32_t>(std::max<Index>(run.begin, token + 1));
      if (begin >= run.end) continue;
      if (!after.empty() && after.back().end == begin) {
        after.back().end = run.end;
      } else {
        after.push_back({begin, run.end});
      }
    }
    return is_member && after == runs;
  }

  /// Whether the first token of some run of `keys` sees a causal token between this run and the run
  /// before it.
  bool has_gap(const std::vector<Run>& keys) const {
    for (std::size_t i = 1; i < keys.size(); ++i) {
      const Range gap{keys[i - 1].end - shift_, keys[i].begin - shift_};
      const Index member = keys[i].begin - shift_;
      for (Index q = std::max<Index>(gap.begin, 0); q < gap.end; ++q) {
        if (is_causal(q) && member < plane_.queries() &&
            plane_.count({member, member + 1}, {own(q), own(q) + 1}) == 1) {
          return true;
        }
      }
    }
    return false;
  }

  const Plane& plane_;
  std::span<const Range> global_;
  Index shift_, first_key_;
  std::vector<Index> near_;  // for each query: the end of the run right after its own key; 0: none
  // For each query: where the run with its own key begins; past all keys if it does not see itself.
  std::vector<Index> own_begin_;
  std::vector<std::uint8_t> kind_;
  std::vector<FarRun> far_;
  std::vector<Range> groups_;  // groups, as ranges of queries
  // For each key: itself, or, if a cell of Future::others is in its column, a later key before
  // which all keys have one. Empty without such cells.
  std::vector<std::int32_t> unseen_;
  std::vector<Run> scratch_;
  Future out_;
};

}  // namespace

Future read_future(const PlanePtr& plane, std::span<const Range> full,
                   std::span<const Range> global) {
  return FutureReader(plane, full, global).read();
}

}  // namespace maskctl
