#include "maskctl/inspect/recognise/small_cells.h"

#include <algorithm>
#include <bit>

namespace maskctl::recognition {
namespace {

/// Calls f(i) for each bit of the words that is set.
template <typename F>
void each_bit(std::span<const std::uint64_t> words, F&& f) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (std::uint64_t left = words[i]; left != 0; left &= left - 1) {
      f(i * 64 + static_cast<std::size_t>(std::countr_zero(left)));
    }
  }
}

}  // namespace

SmallCells::SmallCells(const Plane& plane)
    : queries(plane.queries()),
      keys(plane.keys()),
      words_per_row(words_for(plane.keys())),
      words(as_size(queries * words_per_row)) {
  plane.rows({0, queries}, [&](Range rows, const Keys& open) {
    for (Index q = rows.begin; q < rows.end; ++q) {
      const auto row = std::span(words).subspan(as_size(q * words_per_row));
      if (open.is_words()) std::ranges::copy(open.words, row.begin());
      for (const Run& run : open.runs) set_bits(row, {run.begin, run.end});
    }
  });
}

SmallCells SmallCells::outside(const Diagonals& band) const {
  SmallCells out = *this;
  for (Index q = 0; q < queries; ++q) {
    const Range inside = intersect({q + band.low, q + band.high + 1}, {0, keys});
    if (inside.begin >= inside.end) continue;
    for (Index i = inside.begin / 64; i * 64 < inside.end; ++i) {
      const Index from = std::max<Index>(inside.begin - i * 64, 0),
                  end = std::min<Index>(inside.end - i * 64, 64);
      const std::uint64_t below_end = end == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << end) - 1;
      const std::uint64_t below_begin = (std::uint64_t{1} << from) - 1;
      out.words[as_size(q * words_per_row + i)] &= ~(below_end & ~below_begin);
    }
  }
  return out;
}

bool SmallCells::meet(const Classes& classes) const {
  const auto stride = as_size(words_per_row);
  std::vector<std::uint64_t> seen(static_cast<std::size_t>(classes.count) * stride);
  for (const ClassRun& run : classes.k) {
    set_bits(std::span(seen).subspan(static_cast<std::size_t>(run.id) * stride, stride), run.at);
  }
  for (const ClassRun& run : classes.q) {
    const std::uint64_t* of_class = seen.data() + static_cast<std::size_t>(run.id) * stride;
    for (std::size_t at = as_size(run.at.begin) * stride; at < as_size(run.at.end) * stride; ++at) {
      if ((words[at] & of_class[at % stride]) != 0) return true;
    }
  }
  return false;
}

Classes SmallCells::connected(bool shared) const {
  const auto stride = as_size(words_per_row);
  const std::size_t first_key = shared ? 0 : as_size(queries);
  JoinedSets sets(first_key + as_size(keys));
  std::vector<std::uint8_t> covered(first_key + as_size(keys));
  // Keys that were joined to the key before them, and any that were seen.
  std::vector<std::uint64_t> joined(stride), any(stride), starts(stride), more(stride);
  for (std::size_t q = 0; q < as_size(queries); ++q) {
    std::uint64_t carry = 0, open = 0;
    for (std::size_t i = 0; i < stride; ++i) {
      const std::uint64_t row = words[q * stride + i], after = row << 1 | carry;
      carry = row >> 63;
      open |= row;
      starts[i] = row & ~after;
      more[i] = row & after & ~joined[i];
      joined[i] |= more[i];
      any[i] |= row;
    }
    if (open == 0) continue;
    covered[q] = 1;
    each_bit(starts, [&](std::size_t key) { sets.join(q, first_key + key); });
    each_bit(more, [&](std::size_t key) { sets.join(first_key + key - 1, first_key + key); });
  }
  each_bit(any, [&](std::size_t key) { covered[first_key + key] = 1; });
  return classes_of(sets, covered, queries, keys, shared);
}

}  // namespace maskctl::recognition
