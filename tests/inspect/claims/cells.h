// The cells of a mask as a plain array, and questions about its rows and planes.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "maskctl/mask/mask.h"
#include "support/twin.h"

namespace maskctl::test {

/// Copies the cells of a mask. An entry that all batches or heads share is copied for each.
class PlainCells {
 public:
  explicit PlainCells(const Mask& mask)
      : batch_(mask.batch()),
        heads_(mask.heads()),
        queries_(mask.queries()),
        keys_(mask.keys()),
        open_(twin::dense_of(mask).cells) {
    find_groups();
  }
  Index batch() const { return batch_; }
  Index heads() const { return heads_; }
  Index queries() const { return queries_; }
  Index keys() const { return keys_; }
  /// The index of the key of query 0, if the last query belongs to the last key.
  Index shift() const { return keys_ - queries_; }
  bool open(Index b, Index h, Index q, Index k) const {
    return open_[row_of(b, h, q) * static_cast<std::size_t>(keys_) + static_cast<std::size_t>(k)] !=
           0;
  }

  using InPlane = std::function<bool(Index q, Index k)>;
  /// The number of open cells of a plane for which counts(q, k) is true.
  Index open_cells(Index b, Index h, const InPlane& counts) const {
    Index out = 0;
    for (Index q = 0; q < queries_; ++q)
      for (Index k = 0; k < keys_; ++k) out += open(b, h, q, k) && counts(q, k);
    return out;
  }
  /// The number of cells of a plane for which counts(q, k) is true.
  Index all_cells(const InPlane& counts) const {
    Index out = 0;
    for (Index q = 0; q < queries_; ++q)
      for (Index k = 0; k < keys_; ++k) out += counts(q, k);
    return out;
  }
  /// True if the open cells of a plane are those for which counts(q, k) is true.
  bool are_open_just_where(Index b, Index h, const InPlane& counts) const {
    return open_cells(b, h, counts) == all_cells(counts) && all_cells(counts) == open_cells(b, h);
  }
  Index open_cells(Index b, Index h) const {
    return open_cells(b, h, [](Index, Index) { return true; });
  }
  Index open_in(Index b, Index h, Range rows, Range keys) const {
    Index out = 0;
    for (Index q = rows.begin; q < std::min(rows.end, queries_); ++q)
      for (Index k = keys.begin; k < std::min(keys.end, keys_); ++k) out += open(b, h, q, k);
    return out;
  }
  Index seen(Index b, Index h, Index q) const { return open_in(b, h, {q, q + 1}, {0, keys_}); }
  bool is_seen(Index b, Index h, Index k) const {
    return open_in(b, h, {0, queries_}, {k, k + 1}) > 0;
  }
  bool is_full(Index b, Index h, Index q) const {
    for (Index k = 0; k < keys_; ++k)
      if (!open(b, h, q, k)) return false;
    return true;
  }
  Index selves(Index b, Index h) const {
    return open_cells(b, h, [this](Index q, Index k) { return k == q + shift(); });
  }
  /// The rows at the first tokens, or the last, that see every key, if other rows do not see these
  /// tokens; else none.
  Range opened_padding(Index b, Index h, bool first) const {
    if (shift() != 0) return {};
    Range out = first ? Range{0, 0} : Range{queries_, queries_};
    while (first && out.end < queries_ && is_full(b, h, out.end)) ++out.end;
    while (!first && out.begin > 0 && is_full(b, h, out.begin - 1)) --out.begin;
    for (Index row = 0; row < queries_; ++row)
      if (open_in(b, h, {row, row + 1}, out) > 0 && !is_full(b, h, row)) return {};
    return out;
  }
  bool is_opened_padding(Index b, Index h, Index q) const {
    return std::ranges::any_of(std::array{true, false}, [&](bool first) {
      const Range rows = opened_padding(b, h, first);
      return q >= rows.begin && q < rows.end;
    });
  }
  /// True if all tokens from one to the other see each other, so that they are in a group.
  bool are_group(Index b, Index h, Index one, Index other) const {
    const Index low = std::min(one, other);
    return low >= shift() && std::max(one, other) < group_ends_[row_of(b, h, low - shift())];
  }

  /// The number of planes for which the predicate is true.
  Index planes(const std::function<bool(Index b, Index h)>& holds) const {
    Index out = 0;
    for (Index b = 0; b < batch_; ++b)
      for (Index h = 0; h < heads_; ++h) out += holds(b, h);
    return out;
  }
  /// The number of rows, in all planes, for which the predicate is true.
  Index rows(const std::function<bool(Index b, Index h, Index q)>& holds) const {
    Index out = 0;
    for (Index b = 0; b < batch_; ++b)
      for (Index h = 0; h < heads_; ++h)
        for (Index q = 0; q < queries_; ++q) out += holds(b, h, q);
    return out;
  }

 private:
  std::size_t row_of(Index b, Index h, Index q) const {
    const Index plane = (batch_ == 1 ? 0 : b) * heads_ + (heads_ == 1 ? 0 : h);
    return static_cast<std::size_t>(plane * queries_ + q);
  }
  /// For each query's token, the end of the longest group that begins with it.
  void find_groups() {
    group_ends_.resize(static_cast<std::size_t>(batch_ * heads_ * queries_));
    if (shift() < 0) return;
    for (Index b = 0; b < batch_; ++b)
      for (Index h = 0; h < heads_; ++h)
        for (Index q = queries_ - 1; q >= 0; --q) {
          const Index last = q + 1 < queries_ ? group_ends_[row_of(b, h, q + 1)] : keys_;
          Index end = q + shift();
          while (end < std::max(last, q + shift() + 1) && open(b, h, q, end) &&
                 open(b, h, end - shift(), q + shift()))
            ++end;
          group_ends_[row_of(b, h, q)] = end;
        }
  }

  Index batch_, heads_, queries_, keys_;
  std::vector<std::uint8_t> open_;
  std::vector<Index> group_ends_;
};

}  // namespace maskctl::test
