#include "maskctl/inspect/recognise/positions.h"

#include <algorithm>
#include <optional>

#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/steps.h"
#include "maskctl/mask/planes/computed_rows.h"
#include "maskctl/mask/planes/taken.h"
#include "maskctl/mask/rows.h"
#include "maskctl/mask/steps/at.h"
#include "maskctl/mask/steps/guess.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::recognition {
namespace {

constexpr Index kLeastTokens = 4, kMostRuns = Index{1} << 22;
constexpr std::size_t kMostPieces = 8;
constexpr std::size_t kMostOddCells = std::size_t{1} << 24;  // of planes with odd cells

using Runs = std::vector<Run>;

/// All rows as runs; nothing if they have too many.
std::optional<std::vector<Runs>> rows_read(const Plane& plane) {
  std::vector<Runs> out;
  Index runs = 0;
  const bool few = each_row_while(plane, [&](Range rows, const Keys& keys) {
    std::vector<Run> scratch;
    const auto row = as_runs(keys, scratch);
    runs += std::ssize(row) * rows.size() + rows.size();
    if (runs > kMostRuns) return false;
    out.insert(out.end(), as_size(rows.size()), Runs(row.begin(), row.end()));
    return true;
  });
  return few ? std::optional(std::move(out)) : std::nullopt;
}

bool is_plain(const Indices& indices) { return indices.size() == 1 && indices.front().step == 1; }

/// Whether few ranges, or strides, of several tokens each say the indices.
bool has_structure(const Indices& indices) {
  return !indices.empty() && indices.size() <= kMostPieces &&
         count_of(indices) >= std::max<Index>(kLeastTokens, 2 * std::ssize(indices));
}

/// The rows of a whole causal mask, of which some are known.
class WholeRows {
 public:
  /// `tokens` ascend; row i is that of token tokens[i].
  WholeRows(std::vector<Index> tokens, std::vector<Runs> rows)
      : tokens_(std::move(tokens)), rows_(std::move(rows)) {}

  PlanePtr plane(Index n) const {
    std::vector<Run> all;
    std::vector<Index> offsets{0};
    std::vector<RowRef> refs;
    std::size_t next = 0;
    for (Index token = 0; token < n; ++token) {
      while (next < tokens_.size() && tokens_[next] < token) ++next;
      Runs row;
      if (next < tokens_.size()) row = moved(next, token);
      if (row.empty() && next > 0) row = moved(next - 1, token);
      all.insert(all.end(), row.begin(), row.end());
      offsets.push_back(std::ssize(all));
      refs.push_back({static_cast<std::uint32_t>(token), 0, static_cast<std::int32_t>(n)});
    }
    return row_lists(n, std::move(all), std::move(offsets), std::move(refs));
  }

 private:
  /// The row of a token whose borders lie on lines through those of row `from` and of the one
  /// beside it, on the other side of the token if there is one.
  Runs moved(std::size_t from, Index token) const {
    const bool after = token < tokens_[from] ? from + 1 < rows_.size() : from == 0;
    const std::size_t beside = after ? from + 1 : from == 0 ? 0 : from - 1;
    const Index by = token - tokens_[from];
    if (by == 0) return rows_[from];
    const Runs& row = rows_[from];
    const bool alike =
        beside < rows_.size() && beside != from && rows_[beside].size() == row.size();
    const Index step = alike ? tokens_[beside] - tokens_[from] : 0;
    Runs out;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool last = i + 1 == row.size();
      const auto border = [&](std::int32_t here, std::int32_t there, bool moves) {
        const bool slanted = alike ? there - here == step : moves;
        return std::clamp<Index>(here + (slanted ? by : 0), 0, token + 1);
      };
      const Run& other = alike ? rows_[beside][i] : row[i];
      const Index begin = border(row[i].begin, other.begin, false);
      const Index end = border(row[i].end, other.end, last);
      if (begin < end) {
        append_run({static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end)}, out);
      }
    }
    return out;
  }

  std::vector<Index> tokens_;
  std::vector<Runs> rows_;
};

/// Ranges and a stride that say both sides, for `at`; nothing if they need several strides.
std::optional<step::At> step_at(const Indices& queries, const Indices& keys, Index n) {
  step::At out;
  Index stride = 0;
  const auto put = [&](const Indices& side, std::vector<Range>& to) {
    if (is_plain(side) && side.front().begin == 0) return true;
    for (const Progression& one : side) {
      to.push_back({one.begin, one.last() + 1});
      if (one.count == 1) continue;
      if (stride != 0 && one.step != stride) return false;
      stride = one.step;
    }
    return true;
  };
  if (!put(queries, out.queries) || !put(keys, out.keys)) return std::nullopt;
  out.stride = std::max<Index>(stride, 1);
  Index end = 0;
  for (const Indices* side : {&queries, &keys}) {
    for (const Progression& one : *side) end = std::max(end, one.last() + 1);
  }
  if (n > end) out.n = n;
  return out;
}

class AtPositions {
 public:
  AtPositions(const PlanePtr& plane, const std::function<Chain(const PlanePtr&)>& recognise)
      : plane_(plane), recognise_(recognise) {}

  std::vector<Chain> found() {
    const Index queries = plane_->queries(), keys = plane_->keys();
    if (std::min(queries, keys) < kLeastTokens) return {};
    auto rows = rows_read(*plane_);
    if (!rows) return {};
    rows_ = std::move(*rows);
    by_last_keys();
    by_first_queries();
    by_rotation();
    return std::move(out_);
  }

 private:
  Indices all_keys() const { return {{0, 1, plane_->keys()}}; }

  void add(const Indices& queries, const Indices& keys, Index n, const Chain& whole) {
    if (whole.empty() || has_arrays(whole)) return;
    auto step = step_at(queries, keys, n);
    if (!step || (step->queries.empty() && step->keys.empty())) return;
    step->chain = whole;
    out_.push_back({Step(std::move(*step))});
  }

  /// Each query's own key is the last that it sees: rows of a rank with all keys.
  void by_last_keys() {
    std::vector<Index> last;
    for (const Runs& row : rows_) {
      if (row.empty()) return;
      last.push_back(row.back().end - 1);
    }
    if (by_tokens(last) && (out_.empty() || is_one_step(out_.back()))) return;
    // A few rows may see a key after their own, or lack theirs: the others say the positions. Odd
    // cells take several steps to say, too.
    if (rows_.size() * as_size(plane_->keys()) > kMostOddCells) return;
    for (std::size_t i = 0; i < rows_.size(); ++i) last[i] = rows_[i].front().end - 1;
    for (const bool all : {true, false}) {
      if (Indices tokens = without_odd(last, all); has_structure(tokens) && !is_plain(tokens)) {
        add(tokens, all_keys(), plane_->keys(), {causal({plane_->keys(), plane_->keys()}, 0)});
      }
    }
  }

  static bool is_one_step(const Chain& chain) { return chain_of(chain.front())->size() == 1; }

  /// Adds the chain at these own tokens of the rows, where few ranges or strides say them. Returns
  /// false where there is none.
  bool by_tokens(const std::vector<Index>& last) {
    Indices tokens;
    std::vector<std::pair<Index, std::size_t>> order;
    for (std::size_t i = 0; i < last.size(); ++i) {
      append_index(last[i], tokens);
      if (tokens.size() > kMostPieces) return false;
      order.push_back({last[i], i});
    }
    if (!has_structure(tokens)) return false;
    if (is_plain(tokens)) return true;
    name_whole(tokens, all_keys(), std::move(order), rows_);
    return !out_.empty();
  }

  /// The tokens, of which those that break a progression take the place that it has for them: one
  /// in the whole, or one in each half of the rows, as ranks of a zigzag have.
  Indices without_odd(const std::vector<Index>& given, bool whole) const {
    const std::size_t half = whole ? given.size() : given.size() / 2;
    Indices out;
    Votes steps;
    for (std::size_t i = 1; i < given.size(); ++i) steps.add(given[i] - given[i - 1]);
    const auto step = steps.most();
    if (!step || *step < 1) return {};
    for (std::size_t begin = 0; begin < given.size(); begin += half) {
      const std::size_t end = std::min(begin + half, given.size());
      Votes starts;
      for (std::size_t i = begin; i < end; ++i) {
        starts.add(given[i] - static_cast<Index>(i - begin) * *step);
      }
      const auto start = starts.majority();
      if (!start || *start < 0) return {};
      for (std::size_t i = begin; i < end; ++i) {
        const Index token = *start + static_cast<Index>(i - begin) * *step;
        if (token >= plane_->keys()) return {};
        append_index(token, out);
      }
    }
    return out;
  }

  void name_whole(const Indices& queries, const Indices& keys,
                  std::vector<std::pair<Index, std::size_t>> order, const std::vector<Runs>& rows) {
    std::ranges::sort(order);
    const auto equal = [](const auto& a, const auto& b) { return a.first == b.first; };
    if (std::ranges::adjacent_find(order, equal) != order.end()) return;
    std::vector<Index> tokens;
    std::vector<Runs> sorted;
    for (const auto& [token, row] : order) {
      tokens.push_back(token);
      sorted.push_back(rows[row]);
    }
    const Index n = plane_->keys();
    add(queries, keys, n, recognise_(WholeRows(std::move(tokens), std::move(sorted)).plane(n)));
  }

  /// Causal over keys that do not follow each other: an evicted cache. Keys that the first query
  /// sees are the first tokens, the last of them its own.
  void by_first_queries() {
    Indices keys;
    Index border = 0, first = 0;
    for (Index q = 0; q < std::ssize(rows_); ++q) {
      const Runs& row = rows_[as_size(q)];
      const Index end = row.empty() ? 0 : row.front().end;
      if (row.size() > 1 || (!row.empty() && row.front().begin > 0) || end < border) return;
      if (q == 0) first = std::max<Index>(end - 1, 0);
      if (q > 0 && end > border + 1) return;
      for (Index key = border; key < end; ++key) append_index(q == 0 ? key : first + q, keys);
      if (keys.size() > kMostPieces) return;
      border = end;
    }
    if (border < plane_->keys() || !has_structure(keys) || is_plain(keys)) return;
    const Index shift = rows_.front().empty() ? 0 : first;
    add({{shift, 1, plane_->queries()}}, keys, 0,
        {causal({plane_->queries(), plane_->queries()}, 0)});
  }

  /// Slots of a ring: the last tokens are the queries, and keys go round at some slot; and rolled
  /// masks, in which queries go round too.
  void by_rotation() {
    const Index queries = plane_->queries(), keys = plane_->keys();
    std::vector<Index> starts;
    const auto start_at = [&](Index slot) {
      if (slot > 0 && slot < keys && starts.size() < kMostPieces) starts.push_back(slot);
    };
    for (const Run& run : rows_.front()) start_at(run.begin);
    for (const Index start : starts) {
      const Indices tokens{{keys - start, 1, start}, {0, 1, keys - start}};
      rotate(start, {{keys - queries, 1, queries}}, tokens);
    }
    if (queries != keys) return;
    for (Index row = 1; row < queries; ++row) {
      const Runs& one = rows_[as_size(row)];
      const bool lone = one.size() == 1 && one.front().begin == row && one.front().end == row + 1;
      if (!lone) continue;
      const Indices tokens{{keys - row, 1, row}, {0, 1, keys - row}};
      return rotate(row, tokens, tokens);
    }
  }

  /// Slot `start` is token 0.
  void rotate(Index start, const Indices& queries, const Indices& tokens) {
    const Index keys = plane_->keys();
    if (plane_->queries() > keys) return;
    std::vector<Runs> rows;
    std::vector<std::pair<Index, std::size_t>> order;
    std::size_t at = 0;
    for (const Progression& one : queries) {
      for (Index i = 0; i < one.count; ++i, ++at) {
        Runs row;
        clip_runs(rows_[at], {start, keys}, start, row);
        Runs behind;
        clip_runs(rows_[at], {0, start}, start - keys, behind);
        for (const Run& run : behind) append_run(run, row);
        if (!row.empty() && row.back().end > one.at(i) + 1) return;  // it would see its future
        rows.push_back(std::move(row));
        order.push_back({one.at(i), at});
      }
    }
    name_whole(queries, tokens, std::move(order), rows);
  }

  PlanePtr plane_;
  const std::function<Chain(const PlanePtr&)>& recognise_;
  std::vector<Runs> rows_;
  std::vector<Chain> out_;
};

}  // namespace

std::vector<Chain> chains_at_positions(const PlanePtr& plane,
                                       const std::function<Chain(const PlanePtr&)>& recognise) {
  return AtPositions(plane, recognise).found();
}

}  // namespace maskctl::recognition
