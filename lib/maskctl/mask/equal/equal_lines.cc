#include "maskctl/mask/equal/equal_lines.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "maskctl/base/threads.h"
#include "maskctl/mask/planes/bit_tiles.h"

namespace maskctl {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};
constexpr Index kCellsPerTask = Index{1} << 22;  // fewer cells are not worth a task

/// For each line i, the first line with the same hash for which is_same(that line, i) holds, or i
/// itself. Uses an open-addressing hash table.
template <typename Same>
std::vector<std::uint32_t> first_lines(std::span<const std::uint64_t> hashes, Same&& is_same) {
  const std::size_t slots = std::bit_ceil(2 * hashes.size() + 1);
  std::vector<std::uint32_t> table(slots, kNone), first(hashes.size());
  for (std::uint32_t i = 0; i < hashes.size(); ++i) {
    std::size_t slot = scrambled(hashes[i]) & (slots - 1);
    while (table[slot] != kNone && (hashes[table[slot]] != hashes[i] || !is_same(table[slot], i))) {
      slot = (slot + 1) & (slots - 1);
    }
    if (table[slot] == kNone) table[slot] = i;
    first[i] = table[slot];
  }
  return first;
}

}  // namespace

std::vector<std::uint32_t> first_with_hash(std::span<const std::uint64_t> hashes) {
  return first_lines(hashes, [](std::uint32_t, std::uint32_t) { return true; });
}

std::vector<std::uint32_t> first_equal(
    std::span<const std::uint64_t> hashes, Index cells,
    const std::function<bool(std::size_t i, std::size_t j)>& same) {
  // Different lines (rows or columns) hardly ever have equal hashes: take lines of equal hash for
  // equal, then compare each line with the first one of its hash, on all cores.
  auto first = first_with_hash(hashes);
  std::atomic<bool> agree{true};
  const auto lines = static_cast<Index>(hashes.size());
  const Index per_task = kCellsPerTask / std::clamp<Index>(cells, 1, kCellsPerTask);
  parallel_for(ceil_div(lines, per_task), [&](Index task) {
    const auto end = static_cast<std::size_t>(std::min((task + 1) * per_task, lines));
    for (auto i = static_cast<std::size_t>(task * per_task); i < end; ++i) {
      if (!agree) return;
      if (first[i] != i && !same(first[i], i)) agree = false;
    }
  });
  return agree ? first : first_lines(hashes, same);
}

std::vector<std::int32_t> numbers_of(std::span<const std::uint32_t> first,
                                     const std::function<bool(std::size_t i)>& open) {
  std::vector<std::int32_t> numbers(first.size());
  std::int32_t next = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    numbers[i] = !open(i) ? -1 : first[i] == i ? next++ : numbers[first[i]];
  }
  return numbers;
}

}  // namespace maskctl
