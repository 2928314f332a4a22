#include "maskctl/inspect/recognise/grids.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/steps.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/global.h"
#include "maskctl/mask/steps/grid.h"
#include "maskctl/mask/steps/guess.h"
#include "maskctl/mask/steps/neighbourhood.h"

namespace maskctl::recognition {
namespace {

constexpr Index kLeastCells = 6, kMostOpen = Index{1} << 24, kMostTiledTokens = 1 << 14;
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
  PlanePtr plane() const {
    Tensor dense(DType::kBool, {extent, extent});
    std::ranges::copy(cells, dense.as<std::uint8_t>().begin());
    return mask_from_dense(dense).plane(0, 0);
  }
};

using Axes = std::vector<AxisCells>;

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
    std::vector<std::set<Index>> seen(grid.shape.size());
    Index keys = 0;
    each_run(plane, {token, token + 1}, [&](Range, const Band& band) {
      keys += band.end - band.begin;
      if (keys > n_ / 2) return;
      for (Index key = band.begin; key < band.end; ++key) {
        Index place = grid.place(key);
        for (std::size_t i = seen.size(); i-- > 0; place /= grid.shape[i]) {
          seen[i].insert(place % grid.shape[i]);
        }
      }
    });
    if (keys > n_ / 2) return true;  // too many to tell
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
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].is_full()) continue;
      step::Grid grid = grid_of(shape);
      grid.axis = static_cast<Index>(i);
      grid.chain = recognise_(axes[i].plane());
      if (grid.chain.empty()) return {};
      out.push_back(Step(std::move(grid)));
    }
    return {out};
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
