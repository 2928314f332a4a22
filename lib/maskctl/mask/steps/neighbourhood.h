// neighbourhood: keeps the keys near the query in a grid of one to four dimensions, moved inwards
// at the borders, as NATTEN's kernels do (arXiv:2204.07143; strides: arXiv:2504.16922; the
// conventions of natten/cuda/reference/mask.hpp); private to mask.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "maskctl/mask/plane.h"
#include "maskctl/mask/steps/guess.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

/// Tokens are the cells of a grid of extents `shape`, the last dimension fastest; without a shape
/// they are a line. A fourth dimension may be the tokens of a tile. In each dimension, a query sees
/// the `window` nearest of the keys whose distance is a multiple of `dilation`, and as many at the
/// borders. `stride` neighbours share the window of the one in their middle. Where `causal` is 1, a
/// query sees no key after its own, and neighbours share the window that ends at the last of them.
/// Each list has an entry per dimension. An empty `dilation` or `stride` means 1, an empty `causal`
/// 0.
struct Neighbourhood {
  std::vector<Index> shape = {}, window = {}, dilation = {}, stride = {}, causal = {};
  friend bool operator==(const Neighbourhood&, const Neighbourhood&) = default;
};
const RuleInfo& row(const Neighbourhood*);

/// One dimension of the grid for tokens at `at` mod dilation == `group`.
struct Axis {
  Index extent = 0, window = 0, dilation = 1, stride = 1;
  bool causal = false;

  Index members(Index group) const { return ceil_div(extent - group, dilation); }
  /// The keys that the token at `at` sees, as a range of places in its dilation group.
  Range places(Index at) const {
    const Index place = at / dilation, length = members(at % dilation);
    const Index first = place / stride * stride;
    if (causal) {
      const Index leader = std::min(first + stride - 1, length - 1);
      return {std::max<Index>(leader - window + 1, 0), place + 1};
    }
    const Index leader = std::min(first + stride / 2, length - 1);
    const Index begin = std::clamp<Index>(leader - window / 2, 0, length - window);
    return {begin, begin + window};
  }
  /// Whether the token at `at` sees the one at `key`.
  bool sees(Index at, Index key) const {
    return at % dilation == key % dilation && places(at).contains(key / dilation);
  }
};

/// The dimensions of the rule's grid, for this number of tokens.
std::vector<Axis> axes_of(const Neighbourhood& rule, Index tokens);
/// The coordinates of a token, the last dimension fastest.
std::vector<Index> coordinates(std::span<const Axis> axes, Index token);
PlanePtr neighbourhood_plane(Index tokens, std::vector<Axis> axes);

/// Ways to write `tokens` as a product of two or more numbers greater than 1, at most `most`.
std::vector<std::vector<Index>> grids_of(Index tokens, std::size_t most);

/// Guesses neighbourhoods in grids of one to four dimensions that agree with the rows of the
/// middle token and of the tokens beside it. Leaves out those that a simpler rule makes, such as a
/// causal line without dilation and stride, which is a window.
std::vector<Chain> guesses(const Neighbourhood*, const SampledRows& rows);

}  // namespace maskctl::step
