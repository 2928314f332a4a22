// Each rank starts with contiguous parts of the queries and keys. Each step moves a range of
// queries whose cost brings the most expensive or the cheapest rank to the mean.
#include "maskctl/attention/ring/balance.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "maskctl/attention/ring/query_tiles.h"

namespace maskctl::attention {
namespace {

/// A rank's cost is accepted up to this multiple of the mean cost of all ranks. A lower limit is
/// not worth it: each range that moves costs its new rank another kernel call and a wait for keys.
constexpr double kEven = 1.05;

/// A range of adjacent tiles, its cost, and the number of key tiles it sees that a given rank
/// lacks.
class TileStretch {
 public:
  explicit TileStretch(const std::vector<bool>& has) : has_(has), seen_(has.size()) {}

  void push(const QueryTile& tile) {
    cost_ += tile.cost;
    for_each_key(tile, [&](std::size_t k) { lacks_ += seen_[k]++ == 0 && !has_[k]; });
  }
  void pop(const QueryTile& tile) {
    cost_ -= tile.cost;
    for_each_key(tile, [&](std::size_t k) { lacks_ -= --seen_[k] == 0 && !has_[k]; });
  }
  Index cost() const { return cost_; }
  Index lacks() const { return lacks_; }  // number of key tiles that the rank lacks

 private:
  template <class F>
  static void for_each_key(const QueryTile& tile, F&& f) {
    for (const Range& keys : tile.keys) {
      for (Index k = keys.begin; k < keys.end; ++k) f(as_size(k));
    }
  }

  const std::vector<bool>& has_;
  std::vector<Index> seen_;  // for each key tile, how many tiles of the range see it
  Index cost_ = 0, lacks_ = 0;
};

/// Moves the tiles [first, end) of one rank to rank `to`.
struct Move {
  std::size_t first = 0, end = 0, to = 0;
  Index cost = 0, lacks = 0;

  bool is_better_than(const Move& other) const {
    const Index mine = lacks * other.cost, its = other.lacks * cost;
    return mine != its ? mine < its : cost > other.cost;
  }
};

class Balance {
 public:
  Balance(const Mask& mask, Index ranks) : loads_(as_size(ranks)) {
    for (Index r = 0; r < ranks; ++r) {
      const std::vector<QueryTile> own = query_tiles(mask, {part_of(mask.queries(), ranks, r)});
      tiles_.insert(tiles_.end(), own.begin(), own.end());
      owners_.resize(tiles_.size(), as_size(r));
      const Range keys = part_of(mask.keys(), ranks, r);
      has_.emplace_back(as_size(ceil_div(mask.keys(), kDealtTile)));
      give_keys({keys.begin / kDealtTile, ceil_div(keys.end, kDealtTile)}, as_size(r));
    }
    for (std::size_t i = 0; i < tiles_.size(); ++i) give(i, owners_[i]);
    mean_ = std::reduce(loads_.begin(), loads_.end()) / ranks;
  }

  void even_out() {
    while (const std::optional<Move> move = next()) {
      for (std::size_t i = move->first; i < move->end; ++i) {
        loads_[owners_[i]] -= tiles_[i].cost;
        give(i, move->to);
      }
    }
  }

  Shares shares() const {
    Shares out(loads_.size());
    for (std::size_t i = 0; i < tiles_.size(); ++i) out[owners_[i]].push_back(tiles_[i].queries);
    return out;
  }

 private:
  void give_keys(Range keys, std::size_t rank) {
    if (!keys.empty()) std::fill_n(has_[rank].begin() + keys.begin, keys.size(), true);
  }
  void give(std::size_t tile, std::size_t rank) {
    owners_[tile] = rank;
    loads_[rank] += tiles_[tile].cost;
    for (const Range& keys : tiles_[tile].keys) give_keys(keys, rank);
  }

  /// The next range to move, from the most expensive to the cheapest rank: at best its cost brings
  /// one of them to the mean. If tiles are too large for that, it only brings the two closer
  /// together. nullopt when the ranks are even.
  std::optional<Move> next() const {
    const auto [least, most] = std::ranges::minmax_element(loads_);
    if (static_cast<double>(*most) <= kEven * static_cast<double>(mean_)) return {};
    const auto from = static_cast<std::size_t>(most - loads_.begin()),
               to = static_cast<std::size_t>(least - loads_.begin());
    const auto move = best_move(from, to, std::min(*most - mean_, mean_ - *least));
    return move ? move : best_move(from, to, (*most - *least) / 2);
  }

  std::optional<Move> best_move(std::size_t from, std::size_t to, Index enough) const {
    std::optional<Move> best;
    for (std::size_t i = 0; i < tiles_.size();) {
      std::size_t end = i;
      while (end < tiles_.size() && owners_[end] == owners_[i]) ++end;
      if (owners_[i] == from) choose(i, end, to, enough, best);
      i = end;
    }
    return best;
  }

  /// Considers, among the tiles [first, end), every longest range that costs at most `enough`.
  /// Keeps in `best` the one for which rank `to` lacks the fewest key tiles per cost.
  void choose(std::size_t first, std::size_t end, std::size_t to, Index enough,
              std::optional<Move>& best) const {
    TileStretch window(has_[to]);
    for (std::size_t i = first; i < end; ++i) {
      window.push(tiles_[i]);
      while (window.cost() > enough) window.pop(tiles_[first++]);
      if (first > i) continue;
      if (i + 1 < end && window.cost() + tiles_[i + 1].cost <= enough) continue;
      const Move move{first, i + 1, to, window.cost(), window.lacks()};
      if (!best || move.is_better_than(*best)) best = move;
    }
  }

  std::vector<QueryTile> tiles_;
  std::vector<std::size_t> owners_;     // rank of each tile
  std::vector<Index> loads_;            // cost of each rank
  std::vector<std::vector<bool>> has_;  // for each rank, the key tiles that it has or is sent
  Index mean_ = 0;
};

}  // namespace

Shares balanced_queries(const Mask& mask, Index ranks) {
  Balance balance(mask, ranks);
  balance.even_out();
  return balance.shares();
}

}  // namespace maskctl::attention
