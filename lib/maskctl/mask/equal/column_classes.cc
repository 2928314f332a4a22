#include "maskctl/mask/equal/column_classes.h"

#include <algorithm>
#include <atomic>

#include "maskctl/base/threads.h"
#include "maskctl/mask/equal/equal_lines.h"
#include "maskctl/mask/planes/bit_tiles.h"

namespace maskctl {
namespace {

ColumnClasses classes_by_hash(const RowScan& scan) {
  ColumnClasses classes;
  std::vector<std::uint64_t> hashes;
  for (std::size_t k = 0; k < scan.columns.size(); ++k) {
    // A stretch is a range of neighbouring columns that are equal. If the scan got rows as words,
    // it does not know which neighbours are equal: each column is a stretch of its own.
    if (k > 0 && !scan.any_words && !scan.columns[k].changes) continue;
    classes.begin.push_back(static_cast<std::int32_t>(k));
    hashes.push_back(scan.columns[k].hash);
  }
  classes.first = first_with_hash(hashes);
  return classes;
}

/// Calls f(64 of the rows) for all rows, on all cores, until a call returns false. Returns whether
/// all calls returned true.
template <typename F>
bool all_of_blocks(std::span<const Index> rows, F&& f) {
  std::atomic<bool> agree{true};
  parallel_for(ceil_div(std::ssize(rows), 64), [&](Index task) {
    if (!agree) return;
    const auto block = rows.subspan(as_size(task * 64));
    if (!f(block.first(std::min<std::size_t>(64, block.size())))) agree = false;
  });
  return agree;
}

/// For planes whose rows are runs. A class is all stretches (ranges of equal neighbouring columns)
/// whose hashes are equal. Checks that in each row they are all open or all closed; classes of one
/// stretch need no check.
class StretchCheck {
 public:
  StretchCheck(const Plane& plane, const ColumnClasses& classes) : plane_(plane) {
    std::vector<std::uint32_t> sizes(classes.first.size());
    for (const std::uint32_t first : classes.first) ++sizes[first];
    // If stretch i (equal neighbouring columns) is the first of its class, numbers[i] is the number
    // of this class.
    std::vector<std::uint32_t> numbers(sizes.size());
    before_.reserve(as_size(plane.keys() + 1));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      before_.resize(static_cast<std::size_t>(classes.begin[i]) + 1, count());
      const std::uint32_t first = classes.first[i];
      if (sizes[first] == 1) continue;
      if (first == i) {
        numbers[i] = static_cast<std::uint32_t>(sizes_.size());
        sizes_.push_back(sizes[i]);
      }
      class_of_.push_back(numbers[first]);
    }
    before_.resize(as_size(plane.keys() + 1), count());
  }

  bool holds(std::span<const Index> rows) const {
    if (class_of_.empty()) return true;
    return all_of_blocks(rows, [&](std::span<const Index> block) {
      std::vector<std::uint32_t> open(sizes_.size());
      return std::ranges::all_of(block, [&](Index row) { return holds(row, open); });
    });
  }

 private:
  std::uint32_t count() const { return static_cast<std::uint32_t>(class_of_.size()); }

  /// Checks one row. `open` is scratch memory: zeros before and after the call.
  bool holds(Index row, std::vector<std::uint32_t>& open) const {
    bool agree = true;
    plane_.rows({row, row + 1}, [&](Range, const Keys& keys) {
      for_each_open(keys, [&](std::uint32_t number) { ++open[number]; });
      for_each_open(keys, [&](std::uint32_t number) {
        agree &= open[number] == sizes_[number] || open[number] == 0;
        open[number] = 0;  // for the other stretches of the class, and for the next row
      });
    });
    return agree;
  }
  template <typename F>
  void for_each_open(const Keys& keys, F&& f) const {
    for (const Run& run : keys.runs) {
      const std::uint32_t end = before_[static_cast<std::size_t>(run.end)];
      for (std::uint32_t i = before_[static_cast<std::size_t>(run.begin)]; i < end; ++i) {
        f(class_of_[i]);
      }
    }
  }

  const Plane& plane_;
  std::vector<std::uint32_t> class_of_;  // class of each stretch whose class has several
  std::vector<std::uint32_t> sizes_;     // number of stretches in each class
  std::vector<std::uint32_t> before_;    // how many entries of class_of_ are left of each column
};

/// For planes with rows as words: compares the columns as words of 64 rows at a time.
bool columns_agree(const Plane& plane, const ColumnClasses& classes, std::span<const Index> rows) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;  // positions of the words to compare
  const auto position = [&](std::uint32_t i) {
    const auto key = static_cast<std::size_t>(classes.begin[i]);
    return key / (64 * kTileWords) * kTileSpan + tile_slot(key);
  };
  for (std::uint32_t i = 0; i < classes.first.size(); ++i) {
    if (classes.first[i] != i) pairs.emplace_back(position(classes.first[i]), position(i));
  }
  if (pairs.empty()) return true;
  return all_of_blocks(rows, [&](std::span<const Index> block) {
    RowBlock64 bits(plane.keys());
    for (std::size_t r = 0; r < block.size(); ++r) {
      plane.rows({block[r], block[r] + 1},
                 [&](Range, const Keys& keys) { bits.set(static_cast<Index>(r), keys); });
    }
    std::vector<std::uint64_t> columns(as_size(bits.groups()) * kTileSpan);
    for (Index g = 0; g < bits.groups(); ++g) {
      bits.columns(g, columns.data() + as_size(g) * kTileSpan);
    }
    return std::ranges::all_of(
        pairs, [&](const auto& pair) { return columns[pair.first] == columns[pair.second]; });
  });
}

}  // namespace

std::optional<ColumnClasses> column_classes(const Plane& plane, const RowScan& scan,
                                            std::span<const Index> rows) {
  ColumnClasses classes = classes_by_hash(scan);
  const bool agree = scan.any_words ? columns_agree(plane, classes, rows)
                                    : StretchCheck(plane, classes).holds(rows);
  if (!agree) return std::nullopt;
  return classes;
}

}  // namespace maskctl
