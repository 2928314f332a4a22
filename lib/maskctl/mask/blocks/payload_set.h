// The distinct payloads of partial tiles (their cells); private to the mask layer.
#pragma once

#include <algorithm>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "maskctl/base/work_scope.h"
#include "maskctl/mask/blocks/tile_rows.h"
#include "maskctl/mask/planes/bit_tiles.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {

/// Distinct arrays of `size` elements each, numbered in order of first appearance.
template <class T>
class DistinctContents {
 public:
  explicit DistinctContents(Index size) : size_(as_size(size)) {}

  Index add(std::span<const T> content) {
    const std::uint64_t hash = hash_of(content);
    const auto [begin, end] = by_hash_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      if (std::ranges::equal((*this)[it->second], content)) return it->second;
    }
    const Index number = count();
    by_hash_.emplace(hash, number);
    values_.insert(values_.end(), content.begin(), content.end());
    return number;
  }
  Index count() const { return static_cast<Index>(by_hash_.size()); }
  std::span<const T> operator[](Index number) const {
    return std::span(values_).subspan(as_size(number) * size_, size_);
  }
  Index bytes() const { return static_cast<Index>(values_.size() * sizeof(T)); }
  std::vector<T> take() { return std::move(values_); }

 private:
  static std::uint64_t hash_of(std::span<const Run> rows) { return hash_runs(rows); }
  static std::uint64_t hash_of(std::span<const std::uint64_t> words) {
    std::uint64_t hash = 0;
    for (const std::uint64_t word : words) hash = scrambled(hash + word);
    return hash;
  }

  std::size_t size_;
  std::vector<T> values_;
  std::unordered_multimap<std::uint64_t, Index> by_hash_;
};

/// The distinct payloads (the cells of partial tiles) of tiles of one size. add() throws
/// Error(kLimit) when they take more than max_bytes.
class PayloadSet {
 public:
  PayloadSet(Index rows, Index keys, Index max_bytes)
      : rows_(rows),
        keys_(keys),
        max_bytes_(max_bytes),
        intervals_(rows),
        words_(rows * words_for(keys)) {}

  Index rows() const { return rows_; }
  Index keys() const { return keys_; }

  PayloadId add(const TilePayloads& from, PayloadId id) {
    const PayloadId added = id >= 0 ? interval_id(intervals_.add(from.intervals_of(id)))
                                    : words_id(words_.add(from.words_of(id)));
    check();
    return added;
  }
  /// Adds all payloads (cells of tiles) of another set, `part`, and replaces `ids`, their numbers
  /// in `part`, by their numbers in this set.
  void add(const PayloadSet& part, std::span<PayloadId> ids) {
    std::vector<PayloadId> intervals, words;
    const StopPoll poll;
    for (Index n = 0; n < part.intervals_.count(); ++n) {
      poll();
      intervals.push_back(interval_id(intervals_.add(part.intervals_[n])));
    }
    for (Index n = 0; n < part.words_.count(); ++n) {
      poll();
      words.push_back(words_id(words_.add(part.words_[n])));
    }
    check();
    for (PayloadId& id : ids) id = id >= 0 ? intervals[as_size(id)] : words[as_size(~id)];
  }
  TilePayloads take() { return {rows_, keys_, intervals_.take(), words_.take()}; }

 private:
  static PayloadId interval_id(Index number) { return static_cast<PayloadId>(number); }
  static PayloadId words_id(Index number) { return ~static_cast<PayloadId>(number); }
  void check() const;  // throws when the payloads take more than max_bytes

  Index rows_, keys_, max_bytes_;
  DistinctContents<Run> intervals_;
  DistinctContents<std::uint64_t> words_;
};

}  // namespace maskctl
