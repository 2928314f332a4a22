// The chain is found from its last step backwards. What remains to be explained is a pair of sets:
// cells that must be open and cells that must be closed; the others do not matter, because a later
// step decides them. A last step that keeps a set S must contain all of `open`, and then `closed`
// shrinks to its part in S; one that opens a set P must avoid `closed`, and then `open` shrinks by
// P. For every kind except block grids and types, there is one step at least as good as all others:
// the tightest band, the finest classes, the most first keys or tokens. The search ends when
// `closed` is empty, since the steps before then have nothing to do on an all-open mask. Paddings,
// documents, chunks, dilations and intersected token types are all classes here; they are told
// apart when the chain gets its names.
#include "maskctl/inspect/recognise/search.h"

#include <algorithm>

#include "maskctl/inspect/recognise/types.h"
#include "maskctl/mask/planes/leaves.h"

namespace maskctl::recognition {
namespace {

constexpr std::size_t kBand = 0, kClasses = 1, kGrid = 2, kFirst = 3, kTokens = 4, kTypes = 5;
constexpr std::size_t kNothing = 6;
constexpr std::size_t kMostFound = 16;
constexpr Index kLargeCells = Index{1} << 24;
// The search may read the mask about kWork / (size of the mask) times.
constexpr Index kWork = Index{1} << 25;  // bands or words read
constexpr Index kFewestReadings = 16, kMostReadings = 3000;
constexpr Index kGridReadings = 8, kTypeReadings = 64;

struct Left {
  PlanePtr open, closed;
  Index open_cells = 0, closed_cells = 0;
};

PlanePtr opened_tokens(const std::vector<Range>& tokens, Index queries, Index keys) {
  return combine(Op::kOr, query_ranges(queries, keys, tokens), key_ranges(queries, keys, tokens));
}

/// Tokens whose rows and columns have no cell that must be closed.
std::vector<Range> free_tokens(const Plane& closed) {
  const Touched marked = touched(closed);
  std::vector<std::uint8_t> free(std::max(marked.q.size(), marked.k.size()), 1);
  for (const auto* flags : {&marked.q, &marked.k}) {
    for (std::size_t i = 0; i < flags->size(); ++i) free[i] &= (*flags)[i] == 0;
  }
  return ranges_of(free);
}

/// Whether most queries of a large plane see a single key on a diagonal: their classes would be
/// single tokens, which a band says shorter.
bool are_single_tokens(const Plane& plane) {
  constexpr Index kMany = Index{1} << 18;
  const auto* slabs = slabs_of(plane);
  if (!slabs || plane.queries() < kMany) return false;
  Index rows = 0;
  for (const Slab& slab : *slabs) {
    if (slab.bands.size() != 1) continue;
    const Band& band = slab.bands.front();
    if (band.begin_slope && band.end_slope && band.end - band.begin == 1) rows += slab.q.size();
  }
  return 2 * rows > plane.queries();
}

class Search {
 public:
  explicit Search(const PlanePtr& plane) : queries_(plane->queries()), keys_(plane->keys()) {
    start_.open = plane;
    start_.closed = compacted(complement(plane), queries_ * keys_);
    start_.open_cells = plane->count();
    start_.closed_cells = queries_ * keys_ - start_.open_cells;
    readings_ = std::clamp(kWork / (1 + weight_of(*plane)), kFewestReadings, kMostReadings);
    nearest_.push_back({{}, start_.closed_cells});
  }

  Explained run(Index max_steps, bool plain) {
    if (start_.closed_cells == 0) return {{{}}, {}};
    // Steps with positions to guess (grids and types) are costly: they are tried last for each
    // number of steps, or for large masks after all numbers of steps.
    const bool large = queries_ * keys_ > kLargeCells;
    for (Index steps = 1; steps <= max_steps && found_.empty(); ++steps) {
      look(steps, false);
      if (!large && !plain) look(steps, true);
    }
    for (Index steps = 1; large && !plain && steps <= max_steps && found_.empty(); ++steps) {
      look(steps, true);
    }
    return {std::move(found_), std::move(nearest_)};
  }

 private:
  void look(Index steps, bool guess) {
    if (!found_.empty()) return;
    guess_ = guess;
    step(start_, steps, kNothing);
  }
  /// Takes `readings` of the whole mask from the budget of the search; returns false, and takes
  /// none, if fewer are left.
  bool affords(Index readings) {
    if (readings_ < readings) return false;
    readings_ -= readings;
    return true;
  }
  bool spent() const { return readings_ <= 0 || found_.size() >= kMostFound; }

  void step(const Left& left, Index steps, std::size_t last) {
    if (spent()) return;
    // Closing steps commute, and so do opening steps: one order of each is enough.
    const std::size_t first_keep = last < kFirst ? last + 1 : kBand;
    for (std::size_t kind = first_keep; kind <= kGrid; ++kind) {
      for (Move& move : keeping(left, steps, kind)) keep(left, std::move(move), steps, kind);
    }
    if (steps < 2) return;  // the first step starts from all open, so it cannot open
    const std::size_t first_open = last >= kFirst && last != kNothing ? last + 1 : kFirst;
    for (std::size_t kind = first_open; kind <= kTypes; ++kind) {
      for (Move& move : opening(left, kind)) open(left, std::move(move), steps, kind);
    }
  }

  void keep(const Left& left, Move move, Index steps, std::size_t kind) {
    if (spent()) return;
    --readings_;
    Left next = left;
    next.closed = combine(Op::kAnd, left.closed, move.cells);
    next.closed_cells = next.closed->count();
    if (next.closed_cells == left.closed_cells) return;
    path_.push_back(std::move(move));
    note(next);
    if (next.closed_cells > 0 && steps > 1) step(next, steps - 1, kind);
    path_.pop_back();
  }

  void open(const Left& left, Move move, Index steps, std::size_t kind) {
    if (spent()) return;
    --readings_;
    Left next = left;
    next.open = combine(Op::kSub, left.open, move.cells);
    next.open_cells = next.open->count();
    if (next.open_cells == left.open_cells) return;
    path_.push_back(std::move(move));
    step(next, steps - 1, kind);
    path_.pop_back();
  }

  void note(const Left& left) {
    if (left.closed_cells == 0) {
      found_.emplace_back(path_.rbegin(), path_.rend());
    } else if (left.closed_cells < nearest_.back().left) {
      while (nearest_.back().moves.size() >= path_.size()) nearest_.pop_back();
      nearest_.push_back({{path_.rbegin(), path_.rend()}, left.closed_cells});
    }
  }

  Moves keeping(const Left& left, Index steps, std::size_t kind) {
    Moves moves;
    if (kind == kBand) {
      // If no cell must be open, use the band that ends before the first key.
      const Diagonals span = diagonals(*left.open).value_or(Diagonals{-queries_, -queries_});
      moves.push_back({span, diagonal_band(queries_, keys_, span.low, span.high), left.open});
    } else if (kind == kClasses) {
      if (are_single_tokens(*left.open)) return moves;
      Classes classes = connected(*left.open, false);
      PlanePtr cells = plane_of(classes, queries_, keys_);
      moves.push_back({std::move(classes), std::move(cells), left.open});
    } else if (guess_) {
      for (BlockGrid& grid : exact_grids(*left.open, *left.closed)) add_grid(left, grid, moves);
      // A grid that leaves cells wrong can only help together with two more steps: one that opens
      // and one that keeps cells.
      if (steps < 3 || !affords(kGridReadings)) return moves;
      for (BlockGrid& grid : likely_grids(*left.open, *left.closed)) add_grid(left, grid, moves);
    }
    return moves;
  }

  void add_grid(const Left& left, BlockGrid& grid, Moves& moves) const {
    PlanePtr cells = plane_of(grid, queries_, keys_);
    moves.push_back({std::move(grid), std::move(cells), left.open});
  }

  Moves opening(const Left& left, std::size_t kind) {
    Moves moves;
    if (kind == kFirst) {
      const Index n = first_key(*left.closed);
      if (n > 0) {
        moves.push_back(
            {FirstKeys{n}, rectangle(queries_, keys_, {0, queries_}, {0, n}), left.open});
      }
    } else if (kind == kTokens) {
      std::vector<Range> tokens = free_tokens(*left.closed);
      if (!tokens.empty()) {
        PlanePtr cells = opened_tokens(tokens, queries_, keys_);
        moves.push_back({OpenTokens{std::move(tokens)}, std::move(cells), left.open});
      }
    } else if (guess_ && affords(kTypeReadings)) {
      for (Classes& classes : likely_types(left.open, left.closed)) {
        PlanePtr cells = plane_of(classes, queries_, keys_);
        moves.push_back({Types{std::move(classes)}, std::move(cells), left.open});
      }
    }
    return moves;
  }

  Index queries_, keys_;
  Left start_;
  Index readings_ = 0;
  bool guess_ = false;
  Moves path_;  // the moves so far, the last step of the chain first
  std::vector<Moves> found_;
  std::vector<Nearest> nearest_;
};

}  // namespace

Explained explain(const PlanePtr& plane, Index max_steps, bool plain) {
  return Search(plane).run(max_steps, plain);
}

}  // namespace maskctl::recognition
