#include "maskctl/inspect/recognise/types.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "maskctl/inspect/recognise/blocks.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/rectangles.h"
#include "maskctl/inspect/recognise/small_cells.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/mask/rows.h"

namespace maskctl::recognition {
namespace {

constexpr std::size_t kBlockSizes = 8;  // block sizes tried for steps before the token types
constexpr std::size_t kMostDocuments = std::size_t{1} << 16;

/// The diagonals (key - query), ascending, at which the upper (or lower) side of the band may be.
/// The band is applied before the types are opened. For a large mask stored as bands, these are
/// only the slanted lines of the bands, one of which must be that side.
std::vector<Index> diagonal_ends(const Plane& open, bool upper) {
  constexpr Index kFewCells = Index{1} << 24;
  std::vector<Index> ends;
  if (!slabs_of(open) || open.queries() * open.keys() <= kFewCells) {
    ends.resize(static_cast<std::size_t>(open.queries() + open.keys() + 1));
    std::iota(ends.begin(), ends.end(), -open.queries());
    return ends;
  }
  each_band(open, [&](Range, const Band& band) {
    if (upper && band.end_slope) ends.push_back(band.end - 1);
    if (!upper && band.begin_slope) ends.push_back(band.begin);
  });
  std::ranges::sort(ends);
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

/// All guesses are made in the same way: assume that some open cells cannot come from the steps
/// before the types. Then the types must open these cells, and the finest types that contain them
/// must not contain a closed cell.
class Guesses {
 public:
  Guesses(const PlanePtr& open, const PlanePtr& closed)
      : open_(open), closed_(closed), square_(open->queries() == open->keys()) {
    if (SmallCells::hold(*open)) small_ = Small{SmallCells(*open), SmallCells(*closed)};
  }

  void add(const PlanePtr& from_types) {
    if (from_types->count() > 0) add(types(from_types));
  }
  /// Assumes that all open cells outside a band come from types. The band is as narrow as the mask
  /// allows, first on one side, then on the other.
  void add_outside_band(bool high_first) {
    Diagonals band{-open_->queries(), open_->keys()};
    for (const bool upper : {high_first, !high_first}) narrow(band, upper);
    if (auto classes = types_outside(band); classes && classes->count > 0) add(std::move(classes));
  }
  /// Assumes that all open cells outside `under`, the plane before the types, come from types. Does
  /// nothing if `under` is null.
  void add_outside(const PlanePtr& under) {
    if (under) add(combine(Op::kSub, open_, under));
  }
  std::vector<Classes> take() { return std::move(found_); }

 private:
  struct Small {
    SmallCells open, closed;
  };

  void add(std::optional<Classes> classes) {
    if (classes && std::ranges::find(found_, *classes) == found_.end()) {
      found_.push_back(std::move(*classes));
    }
  }
  /// The finest types that contain `cells`; nothing if they contain a closed cell.
  std::optional<Classes> types(const PlanePtr& cells) const {
    return allowed([&](bool shared) { return connected(*cells, shared); });
  }
  std::optional<Classes> types_outside(const Diagonals& band) const {
    if (small_) {
      const SmallCells cells = small_->open.outside(band);
      return allowed([&](bool shared) { return cells.connected(shared); });
    }
    return types(combine(Op::kSub, open_,
                         diagonal_band(open_->queries(), open_->keys(), band.low, band.high)));
  }
  /// The classes, shared by queries and keys or not, that contain no closed cell.
  template <typename F>
  std::optional<Classes> allowed(const F& classes_of) const {
    for (const bool shared : {true, false}) {
      if (shared && !square_) continue;
      Classes classes = classes_of(shared);
      if (is_allowed(classes)) return classes;
    }
    return std::nullopt;
  }
  bool is_allowed(const Classes& classes) const {
    if (small_) return !small_->closed.meet(classes);
    const PlanePtr cells = plane_of(classes, open_->queries(), open_->keys());
    return combine(Op::kAnd, closed_, cells)->count() == 0;
  }
  /// Finds the narrowest band by bisection: a narrower band leaves more cells to the types, and
  /// types that contradict the mask with some cells do so with more.
  void narrow(Diagonals& band, bool upper) const {
    std::vector<Index> ends = diagonal_ends(*open_, upper);
    if (!upper) std::ranges::reverse(ends);
    const auto contradicts = [&](Index end) {
      Diagonals narrower = band;
      (upper ? narrower.high : narrower.low) = end;
      return !types_outside(narrower);
    };
    const auto narrowest = std::ranges::partition_point(ends, contradicts);
    if (narrowest != ends.end()) (upper ? band.high : band.low) = *narrowest;
  }
  const PlanePtr& open_;
  const PlanePtr& closed_;
  bool square_;
  std::optional<Small> small_;
  std::vector<Classes> found_;
};

/// For each row, its last closed key at or before the token of the row: a token of another
/// document. -1 if there is none.
std::vector<Index> last_apart(const Plane& closed) {
  std::vector<Index> last(static_cast<std::size_t>(closed.queries()), -1);
  each_band(closed, [&](Range rows, const Band& band) {
    for (Index row = rows.begin; row < rows.end; ++row) {
      Index& at = last[static_cast<std::size_t>(row)];
      at = std::max(at, std::min(band.end_at(row) - 1, row));
    }
  });
  return last;
}

/// The longest documents without a closed cell, placed from the first token on. Null if there are
/// so many that they are hardly more than single tokens.
PlanePtr free_documents(const PlanePtr& closed) {
  const Index n = closed->queries();
  const PlanePtr below = combine(Op::kAnd, closed, diagonal_band(n, n, -n, 0));
  const PlanePtr above = combine(Op::kAnd, closed, diagonal_band(n, n, 0, n))->transposed();
  const auto in_row = last_apart(*below), in_column = last_apart(*above);
  std::vector<Slab> slabs;
  Range document{0, 0};
  for (Index token = 0; token <= n; ++token) {
    const auto at = static_cast<std::size_t>(token);
    const Index apart = token == n ? n : std::max(in_row[at], in_column[at]);
    if (apart >= document.begin) {
      if (!document.empty()) slabs.push_back({document, {{document.begin, document.end, 0, 0}}});
      if (slabs.size() > kMostDocuments) return nullptr;
      document.begin = apart == token ? token + 1 : token;
    }
    document.end = token + 1;
  }
  return bands(n, n, slabs);
}

/// The keys without a closed cell, as a plane in which all queries see them.
PlanePtr free_keys(const Plane& closed) {
  std::vector<std::uint8_t> flags = touched(closed).k;
  for (std::uint8_t& flag : flags) flag = flag == 0;
  return key_flags(closed.queries(), flags);
}

/// Returns `open` without the rows and the columns that have no closed cell.
PlanePtr without_free_lines(const PlanePtr& open, const Plane& closed) {
  const Touched marked = touched(closed);
  const PlanePtr rows = query_flags(marked.q, closed.keys());
  return combine(Op::kAnd, open, combine(Op::kAnd, rows, key_flags(closed.queries(), marked.k)));
}

/// The dilation with the smallest stride that contains no closed cell; null if there is none.
PlanePtr free_stride(const Plane& closed) {
  const Index queries = closed.queries(), keys = closed.keys();
  std::vector<Index> steps(static_cast<std::size_t>(queries + keys + 1));
  each_band(closed, [&](Range rows, const Band& band) {
    for (Index row = rows.begin; row < rows.end; ++row) {
      ++steps[static_cast<std::size_t>(band.begin_at(row) - row + queries)];
      --steps[static_cast<std::size_t>(band.end_at(row) - row + queries)];
    }
  });
  std::partial_sum(steps.begin(), steps.end(), steps.begin());
  const Index reach = std::max(queries, keys);
  for (Index stride = 2; stride < reach; ++stride) {
    bool free = true;
    for (Index d = queries % stride; d < queries + keys && free; d += stride) {
      free = steps[static_cast<std::size_t>(d)] == 0;
    }
    if (!free) continue;
    if (PlanePtr kept = stored(*dilated(queries, keys, stride, 0), Index{1} << 24)) return kept;
  }
  return nullptr;
}

/// Adds guesses for block grids before the types: blocks without closed cells are open. Starts with
/// the largest blocks.
void add_outside_blocks(const PlanePtr& open, const PlanePtr& closed, Guesses& guesses) {
  const AreaSums sums(*closed);
  const Index queries = open->queries(), keys = open->keys();
  const Index enough = open->count() / 4;
  std::size_t tried = 0;
  for (Index size = std::max(queries, keys) / 2; size > 1 && tried < kBlockSizes; --size) {
    BlockGrid grid{size, size, ceil_div(queries, size), ceil_div(keys, size), {}};
    Index area = 0;
    for (Index q = 0; q < queries; q += size) {
      for (Index k = 0; k < keys; k += size) {
        const Range rows{q, std::min(q + size, queries)}, columns{k, std::min(k + size, keys)};
        const bool free = sums(rows, columns) == 0;
        grid.map.push_back(free);
        if (free) area += rows.size() * columns.size();
      }
    }
    if (area < enough) continue;
    ++tried;
    guesses.add_outside(plane_of(grid, queries, keys));
  }
}

}  // namespace

std::vector<Classes> likely_types(const PlanePtr& open, const PlanePtr& closed) {
  Guesses guesses(open, closed);
  guesses.add_outside_band(true);
  guesses.add_outside_band(false);
  if (open->queries() == open->keys()) guesses.add_outside(free_documents(closed));
  guesses.add_outside(free_keys(*closed));
  if (open->queries() * open->keys() <= AreaSums::kMostCells) {
    guesses.add_outside(free_stride(*closed));
    add_outside_blocks(open, closed, guesses);
  }
  const PlanePtr bare = without_free_lines(open, *closed);
  for (const PlanePtr& cells : common_rectangles(*closed)) {
    guesses.add(combine(Op::kAnd, open, cells));
    guesses.add(combine(Op::kSub, bare, cells));
  }
  return guesses.take();
}

}  // namespace maskctl::recognition
