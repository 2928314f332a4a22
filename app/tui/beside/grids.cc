#include "app/tui/beside/grids.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "app/tui/beside/background_task.h"
#include "maskctl/base/error.h"

namespace maskctl::app::tui {
namespace {

/// The number of recent grids that are kept, so that they can be drawn again without counting.
constexpr std::size_t kMostKept = 32;
/// The open cells of a grid are counted in this many ranges of rows.
constexpr Index kBands = 16;

bool same_part(const GridPart& a, const GridPart& b) {
  return a.panel.plane == b.panel.plane && a.panel.other == b.panel.other &&
         a.panel.documents == b.panel.documents && a.panel.different == b.panel.different &&
         a.queries == b.queries && a.keys == b.keys && a.block == b.block;
}

InkGrid grid_of(const GridPart& part, Range queries, std::int32_t pad_id) {
  Figure figure{.pad_id = pad_id, .queries = queries, .keys = part.keys};
  figure.panels = {part.panel};
  return ink_grid(figure, figure.panels.front(), part.block);
}

/// A grid (counts of open cells) whose rows become known step by step. Thread-safe.
class GrowingGrid {
 public:
  explicit GrowingGrid(const GridPart& part) : grid_(std::make_shared<InkGrid>()) {
    static_cast<GridShape&>(*grid_) = grid_shape(part.queries, part.keys, part.block);
    grid_->set = ink_set(part.panel);
    const std::size_t units = as_size(grid_->rows * grid_->columns);
    grid_->inks.assign(units, ink::kNone);
    grid_->open.assign(units, 0);
    grid_->unknown.assign(as_size(grid_->rows), true);
  }

  Index rows() const { return grid_->rows; }
  Range queries(Range rows) const {
    return {grid_->queries(rows.begin).begin, grid_->queries(rows.end - 1).end};
  }

  void put(Range rows, const InkGrid& band) {
    const std::lock_guard lock(mutex_);
    const auto at = grid_->index(rows.begin, 0);
    std::ranges::copy(band.inks, grid_->inks.begin() + static_cast<std::ptrdiff_t>(at));
    std::ranges::copy(band.open, grid_->open.begin() + static_cast<std::ptrdiff_t>(at));
    std::fill_n(grid_->unknown.begin() + rows.begin, rows.size(), false);
    grid_->counts.leaks += band.counts.leaks;
    grid_->counts.padding += band.counts.padding;
  }

  std::shared_ptr<const InkGrid> now() const {
    const std::lock_guard lock(mutex_);
    return std::make_shared<InkGrid>(*grid_);
  }
  std::shared_ptr<const InkGrid> finished() {
    grid_->unknown.clear();
    return grid_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<InkGrid> grid_;
};

/// Counts the open cells of a grid, one range of rows after another.
void grow(GridPart part, std::int32_t pad_id, GrowingGrid& grid) {
  part.panel.different = difference_of(part.panel);  // compute it once for all bands
  const Index step = std::max<Index>(1, grid.rows() / kBands);
  for (Index row = 0; row < grid.rows(); row += step) {
    const Range band{row, std::min(row + step, grid.rows())};
    grid.put(band, grid_of(part, grid.queries(band), pad_id));
  }
}

}  // namespace

/// A part of a panel, and its grid (counts of open cells) as far as it is known. `part.panel`
/// points into the scene.
struct Grids::Kept {
  GridPart part;
  std::shared_ptr<const InkGrid> grid = nullptr;  // set when all rows are known
  std::shared_ptr<GrowingGrid> growing = nullptr;
  std::unique_ptr<BackgroundTask<bool>> work = nullptr;

  void begin(const ScenePtr& scene, const std::function<void()>& done) {
    growing = std::make_shared<GrowingGrid>(part);
    work = std::make_unique<BackgroundTask<bool>>(
        [scene, part = part, growing = growing] {
          grow(part, scene->pad_id, *growing);
          return true;
        },
        done);
  }

  std::shared_ptr<const InkGrid> known_at(Time end) {
    if (grid) return grid;
    if (!work->wait_until(end)) return growing->now();
    work->take();
    work.reset();
    grid = std::exchange(growing, nullptr)->finished();
    return grid;
  }
};

Grids::Grids(std::function<void()> done) : done_(std::move(done)) {}
Grids::~Grids() = default;

void Grids::begin_screen(const ScenePtr& scene, Time end) {
  if (scene_ != scene) kept_.clear();
  scene_ = scene;
  end_ = end;
  shown_ = 0;
}

std::shared_ptr<const InkGrid> Grids::grid(const GridPart& part) {
  const auto found =
      std::ranges::find_if(kept_, [&](const Kept& kept) { return same_part(kept.part, part); });
  if (found == kept_.end()) {
    kept_.push_front({part});
  } else {
    kept_.splice(kept_.begin(), kept_, found);
  }
  ++shown_;
  Kept& kept = kept_.front();
  if (!kept.grid && !kept.work) kept.begin(scene_, done_);
  return kept.known_at(end_);
}

void Grids::end_screen() {
  std::size_t place = 0;
  std::erase_if(kept_, [&](const Kept& kept) {
    const bool is_shown = place < shown_;
    return ++place > kMostKept || (kept.work && !is_shown);
  });
}

bool Grids::busy() const {
  return std::ranges::any_of(kept_, [](const Kept& kept) { return kept.work != nullptr; });
}

}  // namespace maskctl::app::tui
