// grid: the cells of a chain at the places of tokens in a grid: tokens in tiles, axial attention,
// frames of a video behind a prompt.
#pragma once

#include <optional>
#include <vector>

#include "maskctl/mask/planes/taken.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

/// Tokens `origin` and following are the cells of a grid of extents `shape`, the last dimension
/// fastest; or tile by tile, for a `tile` of extents that divide those of the grid; or along
/// Morton's curve, on which the bits of the coordinates take turns, the last dimension first. The
/// chain is applied to all cells of the grid in the order of rows, or with `axis` to as many tokens
/// as that dimension has. Cell (q, k) becomes what it makes of the places of q and k there, or of
/// their coordinates on the axis. Tokens outside of the grid see nothing and are not seen.
struct Grid {
  std::vector<Index> shape = {}, tile = {};
  enum class Order : std::uint8_t { kRows, kMorton } order = Order::kRows;
  std::optional<Index> axis = {};
  Index origin = 0;
  Chain chain;
  friend bool operator==(const Grid& a, const Grid& b);

  /// Whether the tile and the order are possible in this shape.
  bool fits() const;
  /// The tokens in the grid, as indices of the mask.
  Range tokens() const;
  /// Where the chain has a token of the grid, of which the first has number 0.
  Index place(Index token) const;
  Indices places() const;
};
const RuleInfo& row(const Grid*);

}  // namespace maskctl::step
