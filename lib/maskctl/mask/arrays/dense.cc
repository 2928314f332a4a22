// Converts dense bool arrays to planes and back.
#include "maskctl/mask/arrays/dense.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/arrays/elements.h"
#include "maskctl/mask/equal/shared_planes.h"
#include "maskctl/mask/planes/bit_tiles.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

constexpr Index kBandBytes = Index{1} << 20;  // a task unpacks at least this much

/// Packs one row of elements; unlike pack_elements(), does not check that they are all 0 or 1.
void pack_row(DType dtype, std::span<const std::byte> elements, std::span<std::uint64_t> words) {
  if (dtype != DType::kBool) {
    pack_elements(dtype, elements, words);
    return;
  }
  pack_bytes({reinterpret_cast<const std::uint8_t*>(elements.data()), elements.size()}, words);
}

void set_runs(std::span<const Run> runs, std::span<std::uint8_t> row) {
  std::ranges::fill(row, std::uint8_t{0});
  for (const Run& run : runs) {
    std::fill(row.begin() + run.begin, row.begin() + run.end, std::uint8_t{1});
  }
}

/// Remembers expanded rows of many runs, because copying such a row is cheaper than expanding it
/// again. Documents whose ids recur have few distinct rows, each of them many times.
class MadeRows {
 public:
  /// The earlier row that was expanded from the same runs. If there is none, returns null and
  /// remembers that `row` will be expanded from them.
  const std::uint8_t* find(std::span<const Run> runs, const std::uint8_t* row) {
    if (runs.size() < kFewRuns) return nullptr;
    const std::uint64_t key = sign(runs);
    const auto [begin, end] = by_sign_.equal_range(key);
    for (auto it = begin; it != end; ++it) {
      const Entry& entry = entries_[it->second];
      if (std::ranges::equal(entry.runs, runs)) return entry.row;
    }
    kept_ += runs.size();
    if (kept_ > kMostRuns) return nullptr;
    by_sign_.emplace(key, entries_.size());
    entries_.push_back({{runs.begin(), runs.end()}, row});
    return nullptr;
  }

 private:
  static constexpr std::size_t kFewRuns = 16;
  static constexpr std::size_t kMostRuns = 1 << 18;  // limit for the runs of all remembered rows
  struct Entry {
    std::vector<Run> runs;
    const std::uint8_t* row;
  };
  static std::uint64_t sign(std::span<const Run> runs) {
    const Run few[] = {runs.front(), runs[runs.size() / 2], runs.back()};
    return hash_runs(few) + runs.size();
  }
  std::size_t kept_ = 0;
  std::vector<Entry> entries_;
  std::unordered_multimap<std::uint64_t, std::size_t> by_sign_;
};

}  // namespace

std::vector<Index> dense_shape(std::span<const Index> s) {
  switch (s.size()) {
    case 2:
      return {1, 1, s[0], s[1]};
    case 3:
      return {s[0], 1, s[1], s[2]};
    case 4:
      return {s.begin(), s.end()};
    default:
      throw Error(
          Errc::kShape,
          fmt::format("a dense mask has the shape (Q, K), (B, Q, K) or (B, H, Q, K), not {}",
                      shape_text(s)));
  }
}

Mask mask_from_dense(const Tensor& array) {
  const std::vector<Index> shape = dense_shape(array.shape());
  const Index queries = shape[2];
  const Index keys = shape[3];
  check_empty_extents(std::span(shape).first(2), array.elements());
  check_empty_extents(std::span(shape).first(3), array.elements());
  const std::size_t row_bytes = as_size(keys * size_bytes(array.dtype()));
  const std::size_t width = as_size(words_for(keys));
  SharedPlanes planes(shape[0], shape[1], queries, keys);
  for (Index p = 0; p < shape[0] * shape[1]; ++p) {
    const auto plane = array.bytes().subspan(as_size(p * queries) * row_bytes);
    planes.add_stored(false, [&](Range q, std::span<std::uint64_t> words) {
      for (Index row = q.begin; row < q.end; ++row) {
        pack_row(array.dtype(), plane.subspan(as_size(row) * row_bytes, row_bytes),
                 words.subspan(as_size(row - q.begin) * width, width));
      }
    });
  }
  return planes.mask();
}

void dense_rows(const Plane& plane, Range q, std::span<std::uint8_t> out) {
  const std::size_t width = as_size(plane.keys());
  if (width == 0 || q.empty()) return;
  MadeRows made;
  plane.rows(q, [&](Range equal, const Keys& keys) {
    const auto to =
        out.subspan(as_size(equal.begin - q.begin) * width, as_size(equal.size()) * width);
    if (keys.is_words()) {
      unpack_bytes(keys.words, to.first(width));
    } else if (const std::uint8_t* row = made.find(keys.runs, to.data())) {
      std::memcpy(to.data(), row, width);
    } else {
      set_runs(keys.runs, to.first(width));
    }
    for (std::size_t at = width; at < to.size(); at += width) {
      std::memcpy(to.data() + at, to.data(), width);
    }
  });
}

void dense_plane(const Plane& plane, std::span<std::uint8_t> out) {
  if (plane.queries() == 0 || plane.keys() == 0) return;
  // Tasks of many rows, so that a row that repeats is expanded once and then copied often.
  const Index least = std::clamp<Index>(kBandBytes / plane.keys(), 1, plane.queries());
  const Index band = std::max(least, ceil_div(plane.queries(), 4 * threads()));
  parallel_for(ceil_div(plane.queries(), band), [&](Index task) {
    const Range q{task * band, std::min((task + 1) * band, plane.queries())};
    dense_rows(plane, q,
               out.subspan(as_size(q.begin * plane.keys()), as_size(q.size() * plane.keys())));
  });
}

Tensor dense_from_mask(const Mask& mask, Index max_bytes) {
  const std::vector<Index> shape{mask.batch(), mask.heads(), mask.queries(), mask.keys()};
  const auto bytes = checked_product(shape);
  if (!bytes || *bytes > max_bytes) {
    throw Error(
        Errc::kLimit,
        fmt::format("the dense array {} takes more than {} bytes", shape_text(shape), max_bytes),
        {{Remedy::kSliceMask}, {Remedy::kRaiseMemoryLimit}});
  }
  Tensor out = Tensor::unwritten(DType::kBool, shape);
  if (*bytes == 0) return out;
  const auto cells = out.as<std::uint8_t>();
  const Index plane_cells = mask.queries() * mask.keys();
  parallel_for(mask.batch() * mask.heads(), [&](Index p) {
    dense_plane(*mask.plane(p / mask.heads(), p % mask.heads()),
                cells.subspan(as_size(p * plane_cells), as_size(plane_cells)));
  });
  return out;
}

}  // namespace maskctl
