// A hash of every column of a mask, computed in one pass over its rows; private to the mask layer.
#pragma once

#include <cstdint>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// A block of 64 rows as words, which can be read by columns.
class RowBlock64 {
 public:
  explicit RowBlock64(Index keys);
  /// Sets row r (0 to 63). After columns() has been called, clear() the block first.
  void set(Index r, const Keys& keys);
  void clear();
  bool empty() const { return empty_; }
  Index groups() const { return groups_; }  // number of groups: 8 words, 512 columns each
  /// The columns of group g as 512 words, one bit per row, in the order of transpose_tiles().
  void columns(Index g, std::uint64_t* out) const;

 private:
  Index width_, groups_, stride_;
  std::vector<std::uint64_t> words_;
  bool empty_ = true;
};

/// Hashes columns: each row has a random weight, and the hash of a column is the sum of the weights
/// of the rows in which it is open. So equal columns have equal hashes, and the sums of separate
/// sets of rows can be added.
class ColumnSums {
 public:
  explicit ColumnSums(Index keys);

  /// Adds rows that are all equal. Ranges must ascend from call to call.
  void add(Range rows, const Keys& keys);
  /// Adds the sums of `other`, which has seen other rows, and leaves it empty.
  void add(ColumnSums& other);

  /// True if add() got any row as a bitmap (Keys::words).
  bool any_words() const { return !sums_.empty(); }
  struct Column {
    std::uint64_t hash = 0;
    bool open = false;     // true if some row has it open
    bool changes = false;  // differs from the previous column; unknown if any_words()
  };
  /// The hash of every column over all rows added so far.
  std::vector<Column> columns();

 private:
  struct Toggle {
    std::uint64_t sum = 0;    // weights of rows with a run that begins here, minus those that end
    std::int32_t runs = 0;    // number of runs that begin here, minus those that end
    std::uint32_t edges = 0;  // nonzero if any run begins or ends here
  };
  void add_words(Range rows, const Keys& keys);
  void flush();

  Index keys_;
  std::vector<Toggle> toggles_;      // per column: ends of runs; empty if no row came as runs
  std::vector<std::uint64_t> sums_;  // order of transpose_tiles(); empty if no row came as words
  std::vector<std::uint64_t> open_;  // union of the rows that came as words
  std::vector<RowBlock64> block_;    // the block being filled; at most one
  Index block_number_ = 0;
};

/// A random factor for each 32 rows: row r has the weight row_factor(r / 32) * 2^(r % 32).
std::uint32_t row_factor(Index rows32);

}  // namespace maskctl
