// A hash of every column of a mask, computed while its rows are read once; private to the mask
// layer.
#pragma once

#include <cstdint>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// 64 rows as words, and their transposed tiles.
class RowBlock64 {
 public:
  explicit RowBlock64(Index keys);
  /// Sets row r of 64; the block must have been cleared since it was last read.
  void set(Index r, const Keys& keys);
  void clear();
  bool empty() const { return empty_; }
  Index groups() const { return groups_; }  // groups of eight words
  /// Group g: 512 words of columns, see transpose_tiles.
  void columns(Index g, std::uint64_t* out) const;

 private:
  Index width_, groups_, stride_;
  std::vector<std::uint64_t> words_;
  bool empty_ = true;
};

/// Adds up, for each column, the random weights of the rows in which it is open, so that equal
/// columns have equal sums. The sums of separate parts of the rows can be added.
class ColumnSums {
 public:
  explicit ColumnSums(Index keys);

  /// Adds equal rows; ranges must ascend.
  void add(Range rows, const Keys& keys);
  /// Adds the sums that `other` collected from other rows, and leaves it empty.
  void add(ColumnSums& other);

  /// True when some rows came as words.
  bool any_words() const { return !sums_.empty(); }
  struct Column {
    std::uint64_t hash = 0;
    bool open = false;     // in any row
    bool changes = false;  // may differ from the column before; exact unless any_words()
  };
  /// The columns over all rows that were added.
  std::vector<Column> columns();

 private:
  struct Toggle {
    std::uint64_t sum = 0;    // weighted number of runs that begin here minus those that end
    std::int32_t runs = 0;    // runs that begin here minus runs that end
    std::uint32_t edges = 0;  // not zero: some run begins or ends here
  };
  void add_words(Range rows, const Keys& keys);
  void flush();

  Index keys_;
  std::vector<Toggle> toggles_;      // empty without runs
  std::vector<std::uint64_t> sums_;  // in the order of transposed tiles; empty without words
  std::vector<std::uint64_t> open_;  // the union of the rows that came as words
  std::vector<RowBlock64> block_;    // one or none
  Index block_number_ = 0;
};

/// The weight of a row is this number of its 32 rows, times 2 to the power row % 32.
std::uint32_t row_factor(Index rows32);

}  // namespace maskctl
