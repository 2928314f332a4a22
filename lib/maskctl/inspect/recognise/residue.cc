#include "maskctl/inspect/recognise/residue.h"

#include <algorithm>

#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/mask/planes/row_lists/clipped_classes.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

/// True if the masks share their planes, so that they are equal without comparing cells.
bool same_representation(const Mask& a, const Mask& b) {
  for (Index n = 0; n < a.batch(); ++n) {
    for (Index h = 0; h < a.heads(); ++h) {
      if (!maskctl::same_representation(*a.plane(n, h), *b.plane(n, h))) return false;
    }
  }
  return true;
}

/// The cells in which masks differ. Of a large mask, storing them would cost more than to read them
/// twice.
Mask differing(const Mask& mask, const Mask& given) {
  constexpr Index kLarge = Index{1} << 26;
  const bool alike = mask.batch() == given.batch() && mask.heads() == given.heads();
  if (mask.queries() * mask.keys() <= kLarge || !alike || given.distinct().size() != 1) {
    return zip(Op::kXor, mask, given);
  }
  return mask.map(
      [&](const PlanePtr& plane) { return combine(Op::kXor, plane, given.distinct()[0], 0); });
}

/// Appends the first open cells of a plane that begins at row `top` of the mask.
void list_cells(const Plane& plane, Index batch, Index head, Index top, std::vector<Cell>& out) {
  std::vector<Run> scratch;
  recognition::each_row_while(plane, [&](Range rows, const Keys& keys) {
    const std::span<const Run> runs = as_runs(keys, scratch);
    for (Index q = rows.begin; q < rows.end; ++q) {
      for (const Run& run : runs) {
        for (Index k = run.begin; k < run.end && out.size() < Residue::kListed; ++k) {
          out.push_back({batch, head, top + q, k});
        }
      }
      if (out.size() == Residue::kListed) return false;
    }
    return true;
  });
}

}  // namespace

Residue residue_of(const Mask& mask, const Mask& given) {
  Residue out;
  if (mask.batch() == given.batch() && mask.heads() == given.heads() &&
      same_representation(mask, given)) {
    return out;
  }
  const Mask differ = differing(mask, given);
  out.cells = differ.count();
  for (Index b = 0; b < differ.batch() && out.cells > 0; ++b) {
    for (Index h = 0; h < differ.heads(); ++h) {
      if (out.first.size() == Residue::kListed) return out;
      list_cells(*differ.plane(b, h), b, h, 0, out.first);
    }
  }
  return out;
}

void list_differences(const Plane& a, const Plane& b, Range q, Index batch, Index head,
                      std::vector<Cell>& out) {
  constexpr Index kRowsAtOnce = 1024;
  const Range keys{0, a.keys()};
  for (Index row = q.begin; row < q.end && out.size() < Residue::kListed; row += kRowsAtOnce) {
    const Range rows{row, std::min(row + kRowsAtOnce, q.end)};
    const PlanePtr differ = combine(Op::kXor, a.sliced(rows, keys), b.sliced(rows, keys));
    list_cells(*differ, batch, head, row, out);
  }
}

Residue residue_of(const Mask& mask, std::span<const Step> chain) {
  return residue_of(mask, maskctl::apply(full_like(mask), chain));
}

}  // namespace maskctl
