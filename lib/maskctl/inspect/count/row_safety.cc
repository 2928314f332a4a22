#include "maskctl/inspect/count/row_safety.h"

#include <fmt/format.h>

#include <limits>
#include <mutex>

#include "maskctl/base/error.h"
#include "maskctl/base/ranges.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/row_lists/row_keys.h"

namespace maskctl {
namespace {

/// Rows are read in chunks. The first chunk has this many rows, and each further one twice as many
/// as the one before, up to kChunkRows.
constexpr Index kFirstRows = 64;
constexpr Index kChunkRows = 4096;

/// Returns the rows in no slab, or in a slab without bands, which see no key. A slab is a range of
/// rows with the bands of keys that they see.
std::vector<Range> gaps(const std::vector<Slab>& slabs, Index queries) {
  std::vector<Range> out;
  Index end = 0;
  for (const Slab& slab : slabs) {
    if (slab.bands.empty()) continue;
    if (slab.q.begin > end) out.push_back({end, slab.q.begin});
    end = slab.q.end;
  }
  if (end < queries) out.push_back({end, queries});
  return out;
}

/// A range of equal rows, and the index of the key block with the first key that they see; kNoBlock
/// if they see none.
struct RowsAt {
  Range rows;
  Index block = 0;
};
constexpr Index kNoBlock = std::numeric_limits<Index>::max();

void merge(RowSafety& out, const RowSafety& part) {
  out.empty += part.empty;
  out.late += part.late;
  const auto lower = [](std::optional<Index>& to, const std::optional<Index>& from) {
    if (from && (!to || *from < *to)) to = from;
  };
  lower(out.first, part.first);
  lower(out.first_late, part.first_late);
}

RowSafety block_row_safety(const Plane& plane, Range rows, Index key_block,
                           std::vector<RowsAt>& scratch) {
  scratch.clear();
  Index first_block = kNoBlock;
  plane.rows(rows, [&](Range equal, const Keys& keys) {
    const Index key = first_open_key(keys);
    const Index block = key < 0 ? kNoBlock : key / key_block;
    first_block = std::min(first_block, block);
    scratch.push_back({equal, block});
  });
  RowSafety out;
  for (const RowsAt& at : scratch) {
    if (at.block == first_block && at.block != kNoBlock) continue;
    (at.block == kNoBlock ? out.empty : out.late) += at.rows.size();
    if (!out.first) out.first = at.rows.begin;
    if (!out.first_late && at.block != kNoBlock) out.first_late = at.rows.begin;
  }
  return out;
}

}  // namespace

std::optional<Cell> first_cell(const Plane& plane) {
  return first_cell(plane, {0, plane.queries()}, {0, plane.keys()});
}

std::optional<Cell> first_cell(const Plane& plane, Range rows, Range keys) {
  return first_cell(plane, rows, std::span(&keys, 1));
}

std::optional<Cell> first_cell(const Plane& plane, Range rows, std::span<const Range> keys) {
  const bool closed_form = slabs_of(plane) != nullptr && keys.size() == 1;
  Index step = kFirstRows;
  for (Index q = rows.begin, end = q; q < rows.end; q = end) {
    const Range chunk{q, end = std::min(q + step, rows.end)};
    step = std::min(2 * step, kChunkRows);
    if (closed_form && plane.classify(chunk, keys[0]) == Fill::kEmpty) continue;
    std::optional<Cell> found;
    plane.rows(chunk, [&](Range equal, const Keys& row) {
      for (std::size_t i = 0; i < keys.size() && !found; ++i) {
        const Index key = first_open_key(row, keys[i]);
        if (key >= 0) found = Cell{0, 0, equal.begin, key};
      }
    });
    if (found) return found;
  }
  return std::nullopt;
}

std::optional<Cell> first_cell(const Mask& mask) {
  std::vector<bool> known_empty(mask.distinct().size());
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) {
      const std::uint32_t plane = mask.index_of(b, h);
      if (known_empty[plane]) continue;
      if (auto cell = first_cell(*mask.distinct()[plane])) {
        return Cell{b, h, cell->query, cell->key};
      }
      known_empty[plane] = true;
    }
  }
  return std::nullopt;
}

std::vector<Range> empty_rows(const Plane& plane) {
  if (const auto* slabs = slabs_of(plane)) return gaps(*slabs, plane.queries());
  const Index chunks = ceil_div(plane.queries(), kChunkRows);
  std::vector<std::vector<Range>> parts(static_cast<std::size_t>(chunks));
  parallel_for(chunks, [&](Index i) {
    auto& part = parts[static_cast<std::size_t>(i)];
    const Range chunk{i * kChunkRows, std::min((i + 1) * kChunkRows, plane.queries())};
    plane.rows(chunk, [&part](Range equal, const Keys& keys) {
      if (first_open_key(keys) < 0) append_range(part, equal);
    });
  });
  std::vector<Range> out;
  for (const auto& part : parts) {
    for (const Range& range : part) append_range(out, range);
  }
  return out;
}

Index count_empty_rows(const Plane& plane) {
  Index out = 0;
  for (const Range& rows : empty_rows(plane)) out += rows.size();
  return out;
}

RowSafety row_safety(const Plane& plane, BlockSize block) {
  if (block.q < 1 || block.k < 1) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("block {}x{}: expected sizes of at least 1", block.q, block.k));
  }
  const Index block_rows = ceil_div(plane.queries(), block.q);
  const Index tasks = std::clamp<Index>(block_rows, 1, Index{threads()} * 8);
  const Index step = ceil_div(block_rows, tasks);
  RowSafety out;
  std::mutex mutex;
  parallel_for(tasks, [&](Index task) {
    RowSafety part;
    std::vector<RowsAt> scratch;
    for (Index i = task * step; i < std::min((task + 1) * step, block_rows); ++i) {
      const Range rows{i * block.q, std::min((i + 1) * block.q, plane.queries())};
      merge(part, block_row_safety(plane, rows, block.k, scratch));
    }
    const std::lock_guard lock(mutex);
    merge(out, part);
  });
  return out;
}

std::vector<PlaneUse> first_uses(const Mask& mask) {
  std::vector<PlaneUse> out(mask.distinct().size());
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) {
      PlaneUse& use = out[mask.index_of(b, h)];
      if (use.times++ == 0) {
        use.batch = b;
        use.head = h;
      }
    }
  }
  return out;
}

}  // namespace maskctl
