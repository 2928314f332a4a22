// Compares planes and rows, first by hash, then cell by cell.
#include "maskctl/mask/equal/shared_planes.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <string_view>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bit_tiles.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {
namespace {

// How many words (256 KiB) of each plane are compared at once.
constexpr Index kCompareWords = Index{1} << 15;

std::uint64_t row_hash(Index row, std::span<const std::uint64_t> words) {
  std::uint64_t h = scrambled(static_cast<std::uint64_t>(row) + 1);
  for (const std::uint64_t word : words) {
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
  }
  return scrambled(h);
}

/// Writes the rows q as words, words_for(keys) for each row.
void word_rows(const Plane& plane, Range q, std::span<std::uint64_t> out) {
  const auto width = static_cast<std::size_t>(words_for(plane.keys()));
  plane.rows(q, [&](Range equal, const Keys& keys) {
    auto to = out.subspan(static_cast<std::size_t>(equal.begin - q.begin) * width,
                          static_cast<std::size_t>(equal.size()) * width);
    if (keys.is_words()) {
      std::ranges::copy(keys.words, to.begin());
    } else {
      runs_to_words(keys.runs, to.first(width));
    }
    for (std::size_t at = width; at < to.size(); at += width) {
      std::ranges::copy(to.first(width), to.subspan(at).begin());
    }
  });
}

}  // namespace

bool same_cells(const Plane& a, const Plane& b) {
  if (a.queries() != b.queries() || a.keys() != b.keys()) return false;
  const Index width = words_for(a.keys());
  if (&a == &b || width == 0) return true;
  const Index band = std::max<Index>(1, kCompareWords / width);
  std::vector<std::uint64_t> left(static_cast<std::size_t>(std::min(band, a.queries()) * width));
  std::vector<std::uint64_t> right(left.size());
  for (Index q = 0; q < a.queries(); q += band) {
    const Range rows{q, std::min(q + band, a.queries())};
    const auto n = static_cast<std::size_t>(rows.size() * width);
    word_rows(a, rows, std::span(left).first(n));
    word_rows(b, rows, std::span(right).first(n));
    if (!std::equal(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(n), right.begin())) {
      return false;
    }
  }
  return true;
}

SharedPlanes::SharedPlanes(Index batch, Index heads, Index queries, Index keys)
    : batch_(batch), heads_(heads), queries_(queries), keys_(keys) {}

void SharedPlanes::add_stored(bool in_order, const FillWords& fill) {
  if (batch_ * heads_ == 1) {  // nothing to compare with: needs no hash
    distinct_.push_back(stored_rows(queries_, keys_, in_order, fill));
    which_.push_back(0);
    return;
  }
  std::atomic<std::uint64_t> hash{0};  // a sum: the order of chunks does not matter
  const auto width = static_cast<std::size_t>(words_for(keys_));
  const auto hashed = [&](Range q, std::span<std::uint64_t> words) {
    fill(q, words);
    std::uint64_t sum = 0;
    for (Index row = q.begin; row < q.end; ++row) {
      sum += row_hash(row, words.subspan(static_cast<std::size_t>(row - q.begin) * width, width));
    }
    hash.fetch_add(sum, std::memory_order_relaxed);
  };
  PlanePtr plane = stored_rows(queries_, keys_, in_order, hashed);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (!same_cells(*distinct_[it->second], *plane)) continue;
    which_.push_back(it->second);
    return;
  }
  const auto number = static_cast<std::uint32_t>(distinct_.size());
  by_hash_.emplace(hash, number);
  distinct_.push_back(std::move(plane));
  which_.push_back(number);
}

Mask SharedPlanes::mask() const {
  return Mask::make(batch_, heads_, queries_, keys_, [&](Index b, Index h) {
    return distinct_[which_[static_cast<std::size_t>(b * heads_ + h)]];
  });
}

void check_empty_extents(std::span<const Index> extents, Index elements) {
  constexpr Index kMost = Index{1} << 20;
  const auto product = checked_product(extents);
  if (product && *product <= std::max(elements, kMost)) return;
  throw Error(
      Errc::kLimit,
      fmt::format("the shape starts with {} for {} elements; expected at most {} empty rows",
                  shape_text(extents), elements, kMost));
}

DistinctRows distinct_rows(std::span<const std::byte> data, Index rows) {
  DistinctRows out;
  const std::size_t size = rows == 0 ? 0 : data.size() / static_cast<std::size_t>(rows);
  const std::string_view all(reinterpret_cast<const char*>(data.data()), data.size());
  std::unordered_map<std::string_view, std::uint32_t> seen;
  if (rows == 1) return {{0}, {0}};  // nothing to compare with: needs no hash
  for (Index r = 0; r < rows; ++r) {
    const auto number = static_cast<std::uint32_t>(out.first.size());
    const auto [it, fresh] =
        seen.try_emplace(all.substr(static_cast<std::size_t>(r) * size, size), number);
    if (fresh) out.first.push_back(r);
    out.which.push_back(it->second);
  }
  return out;
}

}  // namespace maskctl
