#include "maskctl/inspect/recognise/grids.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/steps.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/at.h"
#include "maskctl/mask/steps/global.h"
#include "maskctl/mask/steps/grid.h"
#include "maskctl/mask/steps/guess.h"
#include "maskctl/mask/steps/neighbourhood.h"
#include "maskctl/mask/steps/window.h"

namespace maskctl::recognition {
namespace {

constexpr Index kLeastCells = 6, kMostOpen = Index{1} << 24, kMostTiledTokens = 1 << 14;
constexpr Index kReadOfRow = 4096;  // keys, if these are more than half of all
constexpr Index kMostClamped = 1024;
constexpr int kMostOrders = 8;  // orders that some rows fit and that are looked at in full

using Shape = std::vector<Index>;

step::Grid grid_of(const Shape& shape) {
  step::Grid out;
  out.shape = shape;
  return out;
}

/// Which coordinates of an axis see which, over all cells of a plane.
struct AxisCells {
  Index extent = 0, open = 0;
  std::vector<std::uint8_t> cells;

  explicit AxisCells(Index n) : extent(n), cells(as_size(n * n)) {}
  void mark(Index q, Index k) {
    std::uint8_t& cell = cells[as_size(q * extent + k)];
    open += cell == 0;
    cell = 1;
  }
  bool is_full() const { return open == extent * extent; }
  bool sees(Index q, Index k) const { return cells[as_size(q * extent + k)] != 0; }
  /// From the first to the last key that a query sees.
  Range keys(Index q) const {
    Range out{0, extent};
    while (!out.empty() && !sees(q, out.begin)) ++out.begin;
    while (!out.empty() && !sees(q, out.end - 1)) --out.end;
    return out;
  }
  /// Whether each query sees the keys of its range, and no others.
  template <typename F>
  bool are_rows(const F& range_of) const {
    for (Index q = 0; q < extent; ++q) {
      const Range range = range_of(q);
      for (Index k = 0; k < extent; ++k) {
        if (sees(q, k) != range.contains(k)) return false;
      }
    }
    return true;
  }
  PlanePtr plane() const {
    Tensor dense(DType::kBool, {extent, extent});
    std::ranges::copy(cells, dense.as<std::uint8_t>().begin());
    return mask_from_dense(dense).plane(0, 0);
  }
};

using Axes = std::vector<AxisCells>;

/// A window at a centre for each query, which is its own key, but not before one key and not behind
/// another one: a neighbourhood whose centres may keep off other ends than those of the axis, as
/// where code takes the extents of two axes for each other. Empty for other cells.
Chain clamped_window(const AxisCells& axis) {
  if (axis.extent > kMostClamped || axis.open == 0) return {};
  const Range first = axis.keys(0), last = axis.keys(axis.extent - 1);
  Index widest = 0;
  for (Index q = 0; q < axis.extent; ++q) widest = std::max(widest, axis.keys(q).size());
  for (Index left = 0; left < widest; ++left) {
    const Index right = widest - 1 - left;
    const Index low = first.begin > 0 ? first.begin + left : first.end - 1 - right;
    const Index high = last.end < axis.extent ? last.end - 1 - right : last.begin + left;
    if (low < 0 || high < low || high >= axis.extent) continue;
    const auto centre = [&](Index q) { return std::clamp(q, low, high); };
    const bool fits = axis.are_rows([&](Index q) {
      return Range{std::max<Index>(0, centre(q) - left),
                   std::min(axis.extent, centre(q) + right + 1)};
    });
    if (!fits) continue;
    step::At at;
    for (Index q = 0; q < axis.extent; ++q) {
      const bool follows = !at.queries.empty() && at.queries.back().end == centre(q);
      if (follows) ++at.queries.back().end;
      if (!follows) at.queries.push_back({centre(q), centre(q) + 1});
    }
    at.chain = {Step(step::Window{left, right})};
    return {Step(std::move(at))};
  }
  return {};
}

/// Tokens in a grid, all that the plane has.
class InGrid {
 public:
  InGrid(PlanePtr plane, const std::function<Chain(const PlanePtr&)>& recognise)
      : plane_(std::move(plane)), n_(plane_->keys()), recognise_(recognise) {}

  /// Chains that may give the plane. `framed`: neighbourhoods were not tried before.
  std::vector<Chain> found(bool framed) {
    std::vector<Chain> out = framed ? neighbourhoods(plane_) : std::vector<Chain>{};
    if (!out.empty()) return out;
    const auto axes = best_axes(plane_);
    return axes ? of_axes(*axes) : in_order();
  }

 private:
  static std::vector<Chain> neighbourhoods(const PlanePtr& plane) {
    return guesses(static_cast<const step::Neighbourhood*>(nullptr), SampledRows(plane));
  }

  /// The keys of a row as cells of the grid are all combinations of what each axis shows.
  bool is_product(const Plane& plane, const step::Grid& grid, Index token) const {
    const Index most = std::max(n_ / 2, kReadOfRow);
    std::vector<std::set<Index>> seen(grid.shape.size());
    Index keys = 0;
    each_run(plane, {token, token + 1}, [&](Range, const Band& band) {
      keys += band.end - band.begin;
      if (keys > most) return;
      for (Index key = band.begin; key < band.end; ++key) {
        Index place = grid.place(key);
        for (std::size_t i = seen.size(); i-- > 0; place /= grid.shape[i]) {
          seen[i].insert(place % grid.shape[i]);
        }
      }
    });
    if (keys > most) return true;  // too many to tell
    Index product = 1;
    for (const std::set<Index>& axis : seen) product *= std::ssize(axis);
    return keys == product;
  }
  bool rows_fit(const Plane& plane, const step::Grid& grid) const {
    return std::ranges::all_of(std::array{Index{0}, n_ / 2, n_ - 1, n_ / 3},
                               [&](Index token) { return is_product(plane, grid, token); });
  }

  /// The axes of a grid in which a cell is open where it is open on all of them, those that say
  /// least.
  std::optional<Axes> best_axes(const PlanePtr& plane) const {
    const Index open = plane->count();
    if (open > kMostOpen || open == 0) return std::nullopt;
    std::optional<Axes> best;
    for (const Shape& shape : step::grids_of(n_, 3)) {
      if (!rows_fit(*plane, grid_of(shape))) continue;
      Axes axes = axes_in(plane, shape);
      // All open cells are in the product, so that they are the product if there are as many.
      Index cells = 1;
      for (const AxisCells& axis : axes) cells *= axis.open;
      if (cells == open && (!best || tokens_told(axes) < tokens_told(*best))) {
        best = std::move(axes);
      }
    }
    return best;
  }
  Axes axes_in(const PlanePtr& plane, const Shape& shape) const {
    Axes out(shape.begin(), shape.end());
    each_run(*plane, {0, n_}, [&](Range rows, const Band& band) {
      for (Index q = rows.begin; q < rows.end; ++q) {
        for (Index k = band.begin; k < band.end; ++k) mark(q, k, out);
      }
    });
    return out;
  }
  static Index tokens_told(const Axes& axes) {
    Index out = 0;
    for (const AxisCells& axis : axes) out += axis.is_full() ? 0 : axis.extent;
    return out;
  }
  std::vector<Chain> of_axes(const Axes& axes) const {
    Shape shape;
    for (const AxisCells& axis : axes) shape.push_back(axis.extent);
    Chain out;
    bool opens = false;  // what the chain of one axis closed: only the first one may
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].is_full()) continue;
      step::Grid grid = grid_of(shape);
      grid.axis = static_cast<Index>(i);
      grid.chain = recognise_(axes[i].plane());
      const bool its = opens_some(grid.chain, axes[i].extent);
      if (grid.chain.empty() || (its && opens)) grid.chain = clamped_window(axes[i]);
      if (grid.chain.empty()) return {};
      const bool first = its && !opens;
      opens = opens || first;
      out.insert(first ? out.begin() : out.end(), Step(std::move(grid)));
    }
    return {out};
  }
  /// Whether a chain opens what was closed.
  static bool opens_some(const Chain& chain, Index extent) {
    return maskctl::apply(Mask(empty_plane(extent, extent)), chain).count() > 0;
  }
  static void mark(Index q, Index k, std::vector<AxisCells>& axes) {
    for (std::size_t i = axes.size(); i-- > 0;) {
      AxisCells& axis = axes[i];
      axis.mark(q % axis.extent, k % axis.extent);
      q /= axis.extent;
      k /= axis.extent;
    }
  }

  /// Tokens of two dimensions that are not in the order of rows.
  std::vector<Chain> in_order() const {
    if (n_ > kMostTiledTokens) return {};
    int tried = 0;
    for (const Shape& shape : step::grids_of(n_, 2)) {
      for (step::Grid& grid : orders_of(shape)) {
        if (!rows_fit(*plane_, grid)) continue;
        if (++tried > kMostOrders) return {};
        const PlanePtr by_rows = in_rows(grid);
        std::vector<Chain> inside = neighbourhoods(by_rows);
        if (const auto axes = inside.empty() ? best_axes(by_rows) : std::nullopt) {
          inside = of_axes(*axes);
        }
        if (inside.empty()) continue;
        grid.chain = std::move(inside.front());
        return {{Step(std::move(grid))}};
      }
    }
    return {};
  }

  static std::vector<step::Grid> orders_of(const Shape& shape) {
    std::vector<step::Grid> out;
    step::Grid grid = grid_of(shape);
    grid.order = step::Grid::Order::kMorton;
    if (grid.fits()) out.push_back(grid);
    grid.order = step::Grid::Order::kRows;
    // A tile of one row, or as wide as the grid, leaves tokens in the order of rows.
    for (Index rows = 2; rows <= shape[0]; ++rows) {
      for (Index columns = 1; columns < shape[1]; ++columns) {
        if (shape[0] % rows != 0 || shape[1] % columns != 0) continue;
        grid.tile = {rows, columns};
        out.push_back(grid);
      }
    }
    return out;
  }

  PlanePtr in_rows(const step::Grid& grid) const {
    std::vector<std::int32_t> tokens(as_size(n_));
    for (Index token = 0; token < n_; ++token) {
      tokens[as_size(grid.place(token))] = static_cast<std::int32_t>(token);
    }
    const Indices at = indices_of(tokens);
    return compacted(taken(plane_, at, at), n_ * n_);
  }

  PlanePtr plane_;
  Index n_;
  const std::function<Chain(const PlanePtr&)>& recognise_;
};

/// Whether a token sees all and is seen by all.
bool is_global(const Plane& plane, Index token) {
  return plane.count({token, token + 1}, {0, plane.keys()}) == plane.keys() &&
         plane.count({0, plane.queries()}, {token, token + 1}) == plane.queries();
}

}  // namespace

std::vector<Chain> chains_in_grids(const PlanePtr& plane,
                                   const std::function<Chain(const PlanePtr&)>& recognise) {
  Range inner{0, plane->keys()};
  if (plane->queries() != plane->keys()) return {};
  while (!inner.empty() && is_global(*plane, inner.begin)) ++inner.begin;
  while (!inner.empty() && is_global(*plane, inner.end - 1)) --inner.end;
  if (inner.size() < kLeastCells) return {};
  if (inner.size() == plane->keys()) return InGrid(plane, recognise).found(false);
  const Indices tokens{{inner.begin, 1, inner.size()}};
  const PlanePtr part = compacted(taken(plane, tokens, tokens), inner.size() * inner.size());
  step::Global all;
  if (inner.begin > 0) all.tokens.push_back({0, inner.begin});
  if (inner.end < plane->keys()) all.tokens.push_back({inner.end, plane->keys()});
  std::vector<Chain> out;
  for (Chain& chain : InGrid(part, recognise).found(true)) {
    if (!std::ranges::all_of(chain, [](const Step& step) { return step.is<step::Grid>(); })) {
      step::Grid grid = grid_of({inner.size()});
      grid.chain = std::move(chain);
      chain = {Step(std::move(grid))};
    }
    for (Step& step : chain) step.as<step::Grid>().origin = inner.begin;
    chain.push_back(Step(all));
    out.push_back(std::move(chain));
  }
  return out;
}

}  // namespace maskctl::recognition
