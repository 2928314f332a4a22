// Recognises masks by positions of tokens that are given. A row tells between which positions its
// first and its last open key lie. From all rows follow the least and the greatest number that a
// step may have.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <span>

#include "maskctl/base/error.h"
#include "maskctl/inspect/recognise/fit.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/inspect/recognise/scopes.h"
#include "maskctl/inspect/recognise/steps.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/taken.h"
#include "maskctl/mask/rows.h"
#include "maskctl/mask/steps/at.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::recognition {
namespace {

constexpr Index kMostChunk = 1 << 16, kMostPosition = kMaxArgument;

/// Numbers from `low` to `high`, both included.
struct Between {
  Index low = -kUnbounded, high = kUnbounded;

  bool any() const { return low <= high; }
  bool has(Index number) const { return low <= number && number <= high; }
  void meet(const Between& other) {
    low = std::max(low, other.low);
    high = std::min(high, other.high);
  }
  /// The number of these that is divisible by the greatest power of two.
  Index roundest() const {
    Index out = low;
    for (Index power = 1; power <= high; power *= 2) {
      const Index next = ceil_div(low, power) * power;
      if (next <= high) out = next;
    }
    return out;
  }
};

/// A row that sees keys: at which positions its keys begin and end, the end being 1 past the last.
struct PositionRow {
  Index at = 0;                  // of the query
  std::optional<Between> first;  // the end of first keys, with closed ones behind them
  Between begin, end;
};

/// The rows of a plane whose keys are sorted by position; nothing if some row is no interval, or
/// two of which the first begins with the first key.
std::optional<std::vector<PositionRow>> rows_of(const Plane& plane, std::span<const Index> queries,
                                                const std::vector<Index>& keys) {
  std::vector<PositionRow> out;
  std::vector<Run> scratch;
  // Equal positions are one key: borders between them fit no step, which the comparison tells.
  const auto border = [&](Index slot) {
    return Between{slot == 0 ? -kUnbounded : keys[as_size(slot - 1)] + 1,
                   slot == std::ssize(keys) ? kUnbounded : keys[as_size(slot)]};
  };
  bool fits = true;
  plane.rows({0, plane.queries()}, [&](Range rows, const Keys& row) {
    const auto runs = as_runs(row, scratch);
    if (runs.empty()) return;
    fits = fits && (runs.size() == 1 || (runs.size() == 2 && runs.front().begin == 0));
    if (!fits) return;
    for (Index q = rows.begin; q < rows.end; ++q) {
      PositionRow next{queries[as_size(q)], {}, border(runs.back().begin), border(runs.back().end)};
      if (runs.size() == 2) next.first = border(runs.front().end);
      out.push_back(next);
    }
  });
  return fits && !out.empty() ? std::optional(std::move(out)) : std::nullopt;
}

class PositionSteps {
 public:
  explicit PositionSteps(std::vector<PositionRow> rows) : rows_(std::move(rows)) {}

  std::vector<Chain> found() const {
    std::vector<Chain> out = bands(std::nullopt);
    const std::optional<Index> first = first_keys();
    if (!first) return out;
    for (Chain& band : bands(first)) {
      Chain opened = band;
      opened.push_back({step::Sinks{*first}});
      opened.push_back({step::Causal{}});
      out.push_back(std::move(opened));
      band.push_back({step::Prefix{*first}});
      out.push_back(std::move(band));
    }
    return out;
  }

 private:
  /// How many first keys all queries see, if rows show that: by keys that they do not see behind
  /// them, or by a first query that sees keys after its own.
  std::optional<Index> first_keys() const {
    Between all{1, kUnbounded};
    bool seen = false;
    for (const PositionRow& row : rows_) {
      if (!row.first) continue;
      all.meet(*row.first);
      seen = true;
    }
    const auto least = std::ranges::min_element(rows_, {}, &PositionRow::at);
    if (!seen && least->end.low > least->at + 1) {
      all.meet(least->end);
      seen = true;
    }
    return seen && all.any() ? std::optional(all.roundest()) : std::nullopt;
  }

  /// Steps that close the keys far from the query, apart from `first` ones.
  std::vector<Chain> bands(std::optional<Index> first) const {
    Between left, right;
    bool ends = false;
    for (const PositionRow& row : rows_) {
      const bool opened = first && row.begin.low <= *first && !row.first;
      if (!opened) left.meet({row.at - row.begin.high, row.at - row.begin.low});
      if (opened && row.end.low <= *first) continue;
      right.meet({row.end.low - 1 - row.at, row.end.high - 1 - row.at});
      ends = ends || row.end.high < kUnbounded;
    }
    std::vector<Chain> out;
    std::optional<Index> low, high;
    if (ends) high = right.has(0) ? 0 : right.roundest();
    if (left.high < kUnbounded) low = -(Between{left.low + 1, left.high + 1}.roundest() - 1);
    const bool is_band = right.any() && left.any() && left.low >= 0;
    if (is_band && low) out.push_back({window({1, 1}, low, high)});
    if (is_band && high && !low) out.push_back({maskctl::recognition::causal({1, 1}, *high)});
    for (const bool causal : {true, false}) {
      const auto size = out.empty() ? chunk(first, causal) : std::nullopt;
      if (!size) continue;
      out.push_back({{step::Chunk{*size}}});
      if (causal) out.back().push_back({step::Causal{}});
    }
    if (first && out.empty()) out.push_back({{step::Causal{}}});
    return out;
  }

  /// The size of chunks that hold the keys of all rows, or with `causal` those up to their own.
  std::optional<Index> chunk(std::optional<Index> first, bool causal) const {
    const auto holds = [&](Index size, const PositionRow& row) {
      const Index begin = row.at / size * size;
      const bool opened = first && begin <= *first && !row.first;
      return (opened || row.begin.has(begin)) && row.end.has(causal ? row.at + 1 : begin + size);
    };
    // Most sizes fail at the last rows.
    const auto fits = [&](Index size) {
      return std::all_of(rows_.rbegin(), rows_.rend(),
                         [&](const PositionRow& row) { return holds(size, row); });
    };
    for (Index size = 2; size <= kMostChunk; size *= 2) {
      if (fits(size)) return size;
    }
    for (Index size = 3; size <= kMostChunk; ++size) {
      if (fits(size)) return size;
    }
    return std::nullopt;
  }

  std::vector<PositionRow> rows_;
};

/// Chains that may give the plane where they are applied at positions of its tokens (step at):
/// causal, windows, chunks, first keys, and these together. Their numbers are read off the rows: of
/// those that give the same cells, as where no token has some positions, the roundest. Empty for
/// rows of other forms.
std::vector<Chain> chains_by_positions(const PlanePtr& plane, std::span<const Index> queries,
                                       std::span<const Index> keys) {
  std::vector<std::int32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::int32_t slot) { return keys[as_size(slot)]; });
  std::vector<Index> sorted;
  for (const std::int32_t slot : order) sorted.push_back(keys[as_size(slot)]);
  const PlanePtr by_position = taken(plane, {{0, 1, plane->queries()}}, indices_of(order));
  auto rows = rows_of(*by_position, queries, sorted);
  return rows ? PositionSteps(std::move(*rows)).found() : std::vector<Chain>{};
}

/// The positions of one side as rows [1 or B, tokens].
struct PositionSide {
  std::vector<Index> numbers;
  Index tokens = 0;

  std::span<const Index> of(Index b) const {
    const auto size = as_size(tokens);
    return std::span(numbers).subspan(numbers.size() == size ? 0 : as_size(b) * size, size);
  }
  bool is_consecutive() const {
    for (std::size_t i = 1; i < numbers.size(); ++i) {
      if (static_cast<Index>(i) % tokens != 0 && numbers[i] != numbers[i - 1] + 1) return false;
    }
    return true;
  }
};

/// Throws Error(kShape) for an array that is no [S] or [B,S] of the mask, and
/// Error(kInvalidArgument) for positions below 0.
PositionSide side_of(const NamedArray& given, Index batch, Index tokens, const char* what) {
  const Tensor& array = given.array;
  const Index rank = array.rank();
  const bool fits =
      (rank == 1 || (rank == 2 && (array.extent(0) == 1 || array.extent(0) == batch))) &&
      array.extent(rank - 1) == tokens;
  if (!fits) {
    throw Error(
        Errc::kShape,
        fmt::format("positions of shape {} for the {} of the mask: expected ({},) or ({}, {})",
                    shape_text(array.shape()), what, tokens, batch, tokens));
  }
  const auto numbers = as_int64(array, "positions");
  for (const Index number : numbers) {
    if (number < 0 || number >= kMostPosition) {
      throw Error(Errc::kInvalidArgument, fmt::format("position {} of the {}: expected 0 to {}",
                                                      number, what, kMostPosition - 1));
    }
  }
  return {{numbers.begin(), numbers.end()}, tokens};
}

/// The chain that gives one plane at the positions of its tokens; nothing if none is found.
std::optional<Chain> chain_of_plane(const PlanePtr& plane, std::span<const Index> queries,
                                    std::span<const Index> keys) {
  step::At at;
  at.q = fields::numbers({queries.begin(), queries.end()});
  at.kv = fields::numbers({keys.begin(), keys.end()});
  for (Chain& chain : chains_by_positions(plane, queries, keys)) {
    at.chain = chain;
    const PlanePtr made = plane_of({Step(at)}, {plane->queries(), plane->keys()});
    if (made && differing_cells(made, plane) == 0) return std::move(chain);
  }
  return std::nullopt;
}

std::optional<Chain> chain_at(const Mask& mask, const PositionSide& queries,
                              const PositionSide& keys) {
  std::map<std::pair<const Plane*, Index>, std::uint32_t> known;
  std::vector<Chain> chains;
  std::vector<std::uint32_t> of;
  const bool shared = queries.numbers.size() == as_size(queries.tokens) &&
                      keys.numbers.size() == as_size(keys.tokens);
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) {
      const PlanePtr& plane = mask.plane(b, h);
      const auto [at, is_new] = known.emplace(std::pair(plane.get(), shared ? 0 : b),
                                              static_cast<std::uint32_t>(chains.size()));
      of.push_back(at->second);
      if (!is_new) continue;
      auto chain = chain_of_plane(plane, queries.of(b), keys.of(b));
      if (!chain) return std::nullopt;
      chains.push_back(std::move(*chain));
    }
  }
  const Index n = 1 + std::max(*std::ranges::max_element(queries.numbers),
                               *std::ranges::max_element(keys.numbers));
  return scoped(std::move(chains), of, mask.batch(), mask.heads(), {n, n});
}

}  // namespace
}  // namespace maskctl::recognition

namespace maskctl {

bool is_one_sequence(const GivenPositions& given) {
  const auto recurs = [](const Tensor& array) {
    if (array.rank() == 0) return false;
    const auto numbers = as_int64(array, "positions");
    const auto size = as_size(array.extent(array.rank() - 1));
    for (std::size_t at = 0; at < numbers.size(); at += size) {
      std::vector<std::int64_t> row(numbers.begin() + static_cast<std::ptrdiff_t>(at),
                                    numbers.begin() + static_cast<std::ptrdiff_t>(at + size));
      std::ranges::sort(row);
      if (std::ranges::adjacent_find(row) != row.end()) return true;
    }
    return false;
  };
  return !recurs(given.q.array) && !recurs(given.kv.array);
}

Recognised recognise(const Mask& mask, const GivenPositions& given,
                     const RecogniseOptions& options) {
  using namespace recognition;
  if (mask.cells() == 0) return recognise(mask, options);
  const PositionSide q = side_of(given.q, mask.batch(), mask.queries(), "queries");
  const PositionSide kv = side_of(given.kv, mask.batch(), mask.keys(), "keys");
  // Tokens that follow each other have no positions but their places.
  const bool placed = q.is_consecutive() && kv.is_consecutive();
  auto chain = placed ? std::nullopt : chain_at(mask, q, kv);
  if (!chain) return recognise(mask, options);
  step::At at;
  at.q = given.q;
  at.kv = given.kv;
  at.chain = std::move(*chain);
  Recognised out;
  out.chain.push_back(std::move(at));
  out.residue = residue_of(mask, out.chain);
  return out.residue.cells == 0 ? out : recognise(mask, options);
}

}  // namespace maskctl
