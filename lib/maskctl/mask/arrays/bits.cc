#include "maskctl/mask/arrays/bits.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/equal/shared_planes.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

static_assert(std::endian::native == std::endian::little,
              "byte i of a word holds bits 8 * i to 8 * i + 7");

constexpr Index kBandBits = Index{8} << 20;  // bits packed for one call of next(), at least
constexpr Index kTaskBits = Index{1} << 20;  // bits packed by one task

/// The 64 bits that start at bit `offset`, as a word; bits past the end of `bits` are zero.
std::uint64_t word_at(std::span<const std::byte> bits, Index offset) {
  const std::size_t byte = as_size(offset / 8);
  const int shift = static_cast<int>(offset % 8);
  std::uint64_t low = 0;
  std::memcpy(&low, bits.data() + byte, std::min<std::size_t>(8, bits.size() - byte));
  if (shift == 0) return low;
  const std::uint64_t high =
      byte + 8 < bits.size() ? std::to_integer<std::uint64_t>(bits[byte + 8]) : 0;
  return low >> shift | high << (64 - shift);
}

/// True when every row starts and ends on a word boundary. `offset` is the first bit of the first
/// row.
bool fills_words(Index keys, Index offset) { return keys % 64 == 0 && offset % 64 == 0; }

/// ORs the first `count` bits of `words` into `out`, starting at bit `offset` of `out`.
void or_words(std::span<const std::uint64_t> words, Index count, Index offset,
              std::span<std::uint64_t> out) {
  const int shift = static_cast<int>(offset % 64);
  std::size_t at = as_size(offset / 64);
  const std::size_t last = as_size((offset + count - 1) / 64);
  for (const std::uint64_t word : words) {
    out[at] |= word << shift;
    if (shift != 0 && at < last) out[at + 1] |= word >> (64 - shift);
    ++at;
  }
}

Index checked_cells(std::span<const Index> shape) {
  if (const auto cells = checked_product(shape)) return *cells;
  throw Error(Errc::kShape, fmt::format("shape {} is too large for bits", shape_text(shape)));
}

std::vector<Index> shape_of(const Mask& mask) {
  return {mask.batch(), mask.heads(), mask.queries(), mask.keys()};
}

/// How many rows a task packs: a multiple of 64, so that the bits of a task start and end on word
/// boundaries and no two tasks write to the same word.
Index rows_per_task(Index keys) {
  return ceil_div(std::max<Index>(1, kTaskBits / std::max<Index>(1, keys)), 64) * 64;
}

/// Packs all cells of a mask whose planes start on word boundaries.
void pack_planes(const Mask& mask, std::span<std::uint64_t> words) {
  const Index step = rows_per_task(mask.keys());
  const Index tasks = ceil_div(mask.queries(), step);
  parallel_for(mask.batch() * mask.heads() * tasks, [&](Index task) {
    const Index p = task / tasks;
    const Index first = task % tasks * step;
    pack_rows(*mask.plane(p / mask.heads(), p % mask.heads()),
              {first, std::min(first + step, mask.queries())},
              (p * mask.queries() + first) * mask.keys(), words);
  });
}

}  // namespace

void unpack_rows(std::span<const std::byte> bits, Index offset, Index rows, Index keys,
                 std::span<std::uint64_t> words) {
  if (keys == 0) return;
  if (keys % 64 == 0 && offset % 8 == 0) {
    std::memcpy(words.data(), bits.data() + offset / 8, as_size(rows * keys / 8));
    return;
  }
  const std::size_t width = as_size(words_for(keys));
  const std::uint64_t tail =
      keys % 64 == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << keys % 64) - 1;
  for (std::size_t row = 0; row < as_size(rows); ++row) {
    const Index begin = offset + static_cast<Index>(row) * keys;
    for (std::size_t w = 0; w < width; ++w) {
      words[row * width + w] = word_at(bits, begin + static_cast<Index>(w) * 64);
    }
    words[row * width + width - 1] &= tail;
  }
}

Index bit_bytes(std::span<const Index> shape) { return ceil_div(checked_cells(shape), 8); }

Mask mask_from_bits(std::span<const std::byte> bits, std::span<const Index> shape) {
  const Index bytes = bit_bytes(shape);
  if (std::ssize(bits) != bytes) {
    throw Error(Errc::kFormat, fmt::format("{} bytes of bits; the shape {} takes {}", bits.size(),
                                           shape_text(shape), bytes));
  }
  const Index cells = checked_cells(shape);
  if (cells % 8 != 0 && std::to_integer<unsigned>(bits.back()) >> (cells % 8) != 0) {
    throw Error(Errc::kFormat, fmt::format("the {} spare bits of the last byte are not zero; the "
                                           "mask has another shape than {}",
                                           8 - cells % 8, shape_text(shape)));
  }
  const Index queries = shape[2];
  const Index keys = shape[3];
  check_empty_extents(shape.first(2), cells);
  check_empty_extents(shape.first(3), cells);
  SharedPlanes planes(shape[0], shape[1], queries, keys);
  for (Index p = 0; p < shape[0] * shape[1]; ++p) {
    planes.add_stored(false, [&](Range q, std::span<std::uint64_t> words) {
      unpack_rows(bits, (p * queries + q.begin) * keys, q.size(), keys, words);
    });
  }
  return planes.mask();
}

void pack_rows(const Plane& plane, Range q, Index offset, std::span<std::uint64_t> out) {
  const Index keys = plane.keys();
  if (keys == 0) return;
  const bool whole_words = fills_words(keys, offset);
  plane.rows(q, [&](Range equal, const Keys& row) {
    for (Index i = equal.begin; i < equal.end; ++i) {
      const Index at = offset + (i - q.begin) * keys;
      if (whole_words) {
        const auto to = out.subspan(as_size(at / 64), as_size(keys / 64));
        if (row.is_words()) {
          std::ranges::copy(row.words, to.begin());
        } else {
          runs_to_words(row.runs, to);
        }
      } else if (row.is_words()) {
        or_words(row.words, keys, at, out);
      } else {
        for (const Run& run : row.runs) set_bits(out, {at + run.begin, at + run.end});
      }
    }
  });
}

BitBands::BitBands(const Mask& mask)
    : mask_(mask), planes_(mask.cells() == 0 ? 0 : mask.batch() * mask.heads()) {}

/// If the first bit of the band is on a word boundary, so are those of all tasks: they write to
/// separate words and can run in parallel.
void BitBands::pack(const Plane& plane, Range q) {
  const Index keys = plane.keys();
  if (filled_ % 64 != 0) return pack_rows(plane, q, filled_, words_);
  const Index step = rows_per_task(keys);
  parallel_for(ceil_div(q.size(), step), [&](Index task) {
    const Index first = q.begin + task * step;
    pack_rows(plane, {first, std::min(first + step, q.end)}, filled_ + task * step * keys, words_);
  });
}

std::span<const std::byte> BitBands::next() {
  // The last bits of the previous band may share a byte with the first bits of this one: carry them
  // over.
  const std::uint64_t carried = returned_ < filled_ ? words_[as_size(returned_ / 64)] : 0;
  const std::uint64_t byte = carried >> returned_ % 64 & 0xff;
  filled_ -= returned_;
  const Index keys = mask_.keys();
  const bool zeroed = !fills_words(keys, filled_);
  if (zeroed) words_.assign(1, byte & ((1U << filled_) - 1));
  while (plane_ < planes_ && filled_ < kBandBits) {
    const Index step = ceil_div(std::max<Index>(1, (kBandBits - filled_) / keys), 64) * 64;
    const Range q{row_, std::min(row_ + step, mask_.queries())};
    const std::size_t needed = as_size(words_for(filled_ + q.size() * keys)) + 1;
    if (zeroed || words_.size() < needed) words_.resize(needed);
    pack(*mask_.plane(plane_ / mask_.heads(), plane_ % mask_.heads()), q);
    filled_ += q.size() * keys;
    row_ = q.end == mask_.queries() ? 0 : q.end;
    plane_ += row_ == 0;
  }
  const Index bytes = plane_ < planes_ ? filled_ / 8 : ceil_div(filled_, 8);
  returned_ = std::min(filled_, bytes * 8);
  return std::as_bytes(std::span(words_)).first(as_size(bytes));
}

Tensor bits_from_mask(const Mask& mask, Index max_bytes) {
  const Index bytes = bit_bytes(shape_of(mask));
  if (bytes > max_bytes) {
    throw Error(
        Errc::kLimit,
        fmt::format("the bits of a mask {} take more than {} bytes", shape_text(mask), max_bytes),
        {{Remedy::kRaiseMemoryLimit}});
  }
  Tensor out(DType::kUInt8, {bytes});
  if (mask.queries() * mask.keys() % 64 == 0) {
    pack_planes(mask, out.as<std::uint64_t>());
    return out;
  }
  auto rest = out.bytes();
  BitBands bands(mask);
  while (!rest.empty()) {
    const auto part = bands.next();
    std::ranges::copy(part, rest.begin());
    rest = rest.subspan(part.size());
  }
  return out;
}

}  // namespace maskctl
