#include "maskctl/mask/planes/row_lists/row_keys.h"

#include <algorithm>
#include <bit>

namespace maskctl {
namespace {

Index first_bit(std::span<const std::uint64_t> words, Range range) {
  for (Index start = range.begin / 64 * 64; start < range.end; start += 64) {
    const auto at = as_size(start / 64);
    if (at >= words.size()) break;
    std::uint64_t word = words[at];
    if (start < range.begin) word = word >> (range.begin - start) << (range.begin - start);
    if (word != 0) return start + std::countr_zero(word);
  }
  return -1;
}

}  // namespace

Index first_open_key(const Keys& keys) {
  if (keys.is_words()) return first_bit(keys.words, {0, std::ssize(keys.words) * 64});
  return keys.runs.empty() ? -1 : keys.runs.front().begin;
}

Index first_open_key(const Keys& keys, Range range) {
  if (range.empty()) return -1;
  Index key = -1;
  if (keys.is_words()) {
    key = first_bit(keys.words, range);
  } else {
    const auto run = std::ranges::partition_point(
        keys.runs, [&range](const Run& r) { return r.end <= range.begin; });
    if (run != keys.runs.end()) key = std::max<Index>(run->begin, range.begin);
  }
  return range.contains(key) ? key : -1;
}

Range hull_of(const Keys& keys) {
  if (!keys.is_words()) {
    return keys.runs.empty() ? Range{} : Range{keys.runs.front().begin, keys.runs.back().end};
  }
  const auto open = [](std::uint64_t word) { return word != 0; };
  const auto first = std::ranges::find_if(keys.words, open);
  if (first == keys.words.end()) return {};
  auto last = keys.words.end() - 1;
  while (*last == 0) --last;
  return {(first - keys.words.begin()) * 64 + std::countr_zero(*first),
          (last - keys.words.begin()) * 64 + 64 - std::countl_zero(*last)};
}

}  // namespace maskctl
