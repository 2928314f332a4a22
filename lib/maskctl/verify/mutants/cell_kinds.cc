// Mutants that open or close cells, whatever the steps of the mask are.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/rows.h"
#include "maskctl/verify/mutants/kinds.h"

namespace maskctl::attention {
namespace {

constexpr std::array<Index, 2> kTiles = {64, 128};
constexpr std::array<Index, 6> kShifts = {-16, -4, -1, 1, 4, 16};

/// All planes with these cells opened or closed.
Mask edited(const Mask& mask, bool open, const PlanePtr& cells) {
  return zip(open ? Op::kOr : Op::kSub, mask, Mask(cells));
}

std::string one_cell(const DeclaredCall& declared, Draw& draw, KernelCall& call, bool opens) {
  const std::optional<Cell> cell = declared.any_cell(!opens, draw);
  if (!cell) return "";
  const Mask& mask = declared.mask();
  const PlanePtr& plane = mask.plane(cell->batch, cell->head);
  const PlanePtr at = rectangle(declared.queries(), declared.keys(), {cell->query, cell->query + 1},
                                {cell->key, cell->key + 1});
  call.mask = with_plane(mask, mask.batch(), mask.heads(), cell->batch, cell->head,
                         combine(opens ? Op::kOr : Op::kSub, plane, at));
  const bool several = mask.batch() * mask.heads() > 1;
  return fmt::format("{}query {}, key {} {}",
                     several ? fmt::format("batch {}, head {}, ", cell->batch, cell->head) : "",
                     cell->query, cell->key, opens ? "opened" : "closed");
}

std::string one_tile(const DeclaredCall& declared, Draw& draw, KernelCall& call, bool opens) {
  const Index size = draw.of(kTiles);
  const Index q = draw.below(ceil_div(declared.queries(), size)) * size;
  const Index k = draw.below(ceil_div(declared.keys(), size)) * size;
  const Range rows{q, std::min(q + size, declared.queries())};
  const Range columns{k, std::min(k + size, declared.keys())};
  call.mask =
      edited(declared.mask(), opens, rectangle(declared.queries(), declared.keys(), rows, columns));
  return fmt::format("the tile of queries {}-{} and keys {}-{} {}", rows.begin, rows.end - 1,
                     columns.begin, columns.end - 1, opens ? "opened" : "dropped");
}

/// The diagonal `offset` keys after one that, at random, begins in the first cell or ends in the
/// last one.
PlanePtr diagonal(const DeclaredCall& declared, Draw& draw, Index offset) {
  const Index shift = draw.coin() ? declared.keys() - declared.queries() : 0;
  return diagonal_band(declared.queries(), declared.keys(), shift + offset, shift + offset);
}

std::string strict_diagonal(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  call.mask = edited(declared.mask(), false, diagonal(declared, draw, 0));
  return "no query sees the key of its own position";
}

std::string next_key(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  call.mask = edited(declared.mask(), true, diagonal(declared, draw, 1));
  return "each query sees the key after its position";
}

std::string last_tile_full(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  const Index size = draw.of(kTiles);
  const Range rows{std::max<Index>(0, declared.queries() - size), declared.queries()};
  const Range columns{std::max<Index>(0, declared.keys() - size), declared.keys()};
  call.mask =
      edited(declared.mask(), true, rectangle(declared.queries(), declared.keys(), rows, columns));
  return fmt::format("the last tile, of {}x{}, is open as a whole", rows.size(), columns.size());
}

std::string keys_lost(const DeclaredCall& declared, Draw& draw, KernelCall& call, bool first) {
  const Index n = draw.between(1, std::min<Index>(16, declared.keys()));
  const Range gone = first ? Range{0, n} : Range{declared.keys() - n, declared.keys()};
  call.mask = edited(declared.mask(), false,
                     rectangle(declared.queries(), declared.keys(), {0, declared.queries()}, gone));
  return fmt::format("keys {}-{} are lost", gone.begin, gone.end - 1);
}

std::string without_mask(const DeclaredCall& declared, Draw&, KernelCall& call) {
  call.mask = full_like(declared.mask());
  return "no mask is applied";
}

std::string inverted(const DeclaredCall& declared, Draw&, KernelCall& call) {
  call.mask = complement(declared.mask());
  return "open and closed are confused";
}

std::string transposed_mask(const DeclaredCall& declared, Draw&, KernelCall& call) {
  if (declared.queries() != declared.keys()) return "";
  call.mask = transposed(declared.mask());
  return "the mask is transposed";
}

void set_range(std::span<std::uint64_t> words, Range keys) {
  for (Index k = keys.begin; k < keys.end; ++k) {
    words[as_size(k / 64)] |= std::uint64_t{1} << (k % 64);
  }
}

/// The plane with all cells moved by some keys; cells that leave the plane are lost.
PlanePtr moved_keys(const PlanePtr& plane, Index by) {
  const Index keys = plane->keys(), words = ceil_div(keys, 64);
  return stored_rows(plane->queries(), keys, true, [=](Range q, std::span<std::uint64_t> out) {
    std::ranges::fill(out, 0);
    plane->rows(q, [&](Range equal, const Keys& open) {
      for (Index r = equal.begin; r < equal.end; ++r) {
        const auto row = out.subspan(as_size((r - q.begin) * words), as_size(words));
        const auto set = [&](Index begin, Index end) {
          set_range(row, intersect({begin + by, end + by}, {0, keys}));
        };
        for (const Run& run : open.runs) set(run.begin, run.end);
        for (Index k = 0; open.is_words() && k < keys; ++k) {
          if ((open.words[as_size(k / 64)] >> (k % 64) & 1) != 0) set(k, k + 1);
        }
      }
    });
  });
}

std::string keys_shifted(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  const Index by = draw.of(kShifts);
  call.mask = declared.mask().map([by](const PlanePtr& plane) { return moved_keys(plane, by); });
  return fmt::format("all cells moved by {} key{}", by, std::abs(by) == 1 ? "" : "s");
}

/// One head, or one batch entry where there is one head only, sees all keys.
std::string head_without_mask(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  const MutantCall& about = declared.call();
  if (about.heads * about.batch == 1) return "";
  const Index b = draw.below(about.batch), h = draw.below(about.heads);
  call.mask = with_plane(declared.mask(), about.batch, about.heads, b, h,
                         full_plane(declared.queries(), declared.keys()));
  return fmt::format("no mask is applied to batch {}, head {}", b, h);
}

/// Each head, or each batch entry where the heads share their mask, gets the mask of the next one.
std::string planes_rotated(const DeclaredCall& declared, Draw&, KernelCall& call) {
  const Mask& mask = declared.mask();
  const bool heads = mask.heads() > 1;
  if (!heads && mask.batch() == 1) return "";
  call.mask = Mask::make(mask.batch(), mask.heads(), mask.queries(), mask.keys(),
                         [&mask, heads](Index b, Index h) {
                           return heads ? mask.plane(b, (h + 1) % mask.heads())
                                        : mask.plane((b + 1) % mask.batch(), h);
                         });
  return fmt::format("each {} has the mask of the next", heads ? "head" : "batch entry");
}

template <bool kOpens>
std::string cell(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  return one_cell(declared, draw, call, kOpens);
}
template <bool kOpens>
std::string tile(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  return one_tile(declared, draw, call, kOpens);
}
template <bool kFirst>
std::string end_lost(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  return keys_lost(declared, draw, call, kFirst);
}

constexpr MutantKind kCellKinds[] = {
    kind_row(MutantGroup::kMask, "cell-opened", "one closed cell is open", cell<true>,
             "a closed cell"),
    kind_row(MutantGroup::kMask, "cell-closed", "one open cell is closed", cell<false>,
             "an open cell"),
    kind_row(MutantGroup::kMask, "tile-opened", "a tile of 64 or 128 is open as a whole",
             tile<true>, "a closed cell"),
    kind_row(MutantGroup::kMask, "tile-dropped", "a tile of 64 or 128 is skipped", tile<false>,
             "an open cell"),
    kind_row(MutantGroup::kMask, "last-tile-full", "the last tile is taken for a full one",
             last_tile_full, "a closed cell in the last tile"),
    kind_row(MutantGroup::kMask, "diagonal-strict", "no query sees the key of its own position",
             strict_diagonal, "an open cell on a diagonal"),
    kind_row(MutantGroup::kMask, "next-key-seen", "each query sees the key after its position",
             next_key, "a closed cell beside a diagonal"),
    kind_row(MutantGroup::kMask, "first-keys-lost", "the first 1 to 16 keys are lost",
             end_lost<true>, "an open cell in the first keys"),
    kind_row(MutantGroup::kMask, "last-keys-lost", "the last 1 to 16 keys are lost",
             end_lost<false>, "an open cell in the last keys"),
    kind_row(MutantGroup::kMask, "keys-shifted", "all cells are moved by 1, 4 or 16 keys",
             keys_shifted, "a closed cell"),
    kind_row(MutantGroup::kMask, "mask-dropped", "no mask is applied", without_mask,
             "a closed cell"),
    kind_row(MutantGroup::kMask, "mask-inverted", "open and closed are confused", inverted,
             "a cell"),
    kind_row(MutantGroup::kMask, "mask-transposed", "the mask is transposed", transposed_mask,
             "as many queries as keys, and a mask that is not symmetric"),
    kind_row(MutantGroup::kMask, "head-without-mask",
             "no mask is applied to one head of one batch entry", head_without_mask,
             "several heads or batch entries, and a closed cell"),
    kind_row(MutantGroup::kMask, "planes-rotated",
             "each head, or batch entry, has the mask of the next", planes_rotated,
             "masks that differ between heads or batch entries"),
};

}  // namespace

std::span<const MutantKind> cell_kinds() { return kCellKinds; }

}  // namespace maskctl::attention
