#include "maskctl/inspect/check/unexplained.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>

#include "maskctl/base/ranges.h"
#include "maskctl/inspect/check/exceptions.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/row_lists/row_keys.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/dilated.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl {
namespace {

constexpr Index kNotCrowded = 8;

/// The stride of the dilation in a chain for one batch entry: neighbouring tokens are this far
/// apart. 1 without a dilation.
Index stride_of(const Chain& chain, Index batch) {
  Index out = 1;
  for (const Step& step : chain) {
    const auto* dilated = step.get_if<step::Dilated>();
    if (dilated) out *= of_batch(dilated->strides, batch, dilated->stride);
  }
  return out;
}

bool are_documents(const Chain& chain);

/// True for steps that make documents from lengths, also inside a scope of batch entries or heads
/// with lengths of their own.
bool is_documents(const Step& step) {
  const Chain* inner = chain_of(step);
  if (step.row().scope) return are_documents(*inner);
  const auto documents = documents_in(step);
  return documents && !documents->q_ids && !inner;
}

/// True if each step keeps diagonals or makes documents, also inside scopes. Chunks may be
/// documents of equal length.
bool are_plain(const Chain& chain) {
  return std::ranges::all_of(chain, [](const Step& step) {
    if (is_documents(step) || step.is<step::Chunk>() || keeps_diagonals(step)) return true;
    return step.row().scope && are_plain(*chain_of(step));
  });
}

bool are_documents(const Chain& chain) {
  const auto cuts = [](const Step& step) {
    const Chain* inner = step.row().scope ? chain_of(step) : nullptr;
    return is_documents(step) || step.is<step::Chunk>() || (inner && are_documents(*inner));
  };
  return std::ranges::any_of(chain, cuts) && are_plain(chain);
}

/// Whether there are several documents and each is long enough to be one: those of a token or two
/// may only stand for single cells. At both ends, single tokens may be padding that sees itself.
bool are_long(std::span<const Index> lengths) {
  constexpr Index kLeast = 2, kLeastOnAverage = 4;
  while (!lengths.empty() && lengths.front() == 1) lengths = lengths.subspan(1);
  while (!lengths.empty() && lengths.back() == 1) lengths = lengths.first(lengths.size() - 1);
  const Index tokens = std::accumulate(lengths.begin(), lengths.end(), Index{0});
  return lengths.size() > 1 && std::ranges::min(lengths) >= kLeast &&
         tokens >= kLeastOnAverage * std::ssize(lengths);
}

/// The steps that cut the tokens into documents or chunks, also those inside scopes.
Chain borders_of(const Chain& chain) {
  Chain out;
  for (const Step& step : chain) {
    if (step.row().scope) {
      Step scoped = step;
      *info_of(scoped).chain(scoped) = borders_of(*chain_of(step));
      out.push_back(std::move(scoped));
    } else if (const auto* documents = step.get_if<step::DocumentLengths>()) {
      if (are_long(documents->lengths)) out.push_back(step);
    } else if (step.is<step::Chunk>()) {
      out.push_back(step);
    }
  }
  return out;
}

constexpr std::size_t kMostPieces = 16;

/// The open cells of a plane as rectangles; nothing if more than kMostPieces are needed.
std::optional<std::vector<recognition::Hull>> pieces_of(const Plane& plane) {
  std::vector<recognition::Hull> out;
  bool few = true;
  recognition::each_row_while(plane, [&](Range rows, const Keys& keys) {
    std::vector<Run> scratch;
    for (const Run& run : as_runs(keys, scratch)) {
      const auto above = std::ranges::find_if(out, [&](const recognition::Hull& piece) {
        return piece.q.end == rows.begin && piece.k.begin == run.begin && piece.k.end == run.end;
      });
      if (above != out.end()) {
        above->q.end = rows.end;
      } else {
        out.push_back({rows, {run.begin, run.end}});
      }
    }
    few = out.size() <= kMostPieces;
    return few;
  });
  return few ? std::optional(std::move(out)) : std::nullopt;
}

/// The only run of a row; empty if there are several, or none.
Range only_run(const Plane& plane, Index query) {
  Range out{0, 0};
  Index runs = 0;
  plane.row_sizes({query, query + 1}, [&](Range, const Plane::RowSize& size) { runs = size.runs; });
  if (runs != 1) return out;
  plane.rows({query, query + 1}, [&](Range, const Keys& keys) { out = hull_of(keys); });
  return out;
}

/// True if there are several cells, and each is in a row with a single run of open keys, which is
/// as long as the only run of the middle row of the plane. Neighbourhood attention has such rows:
/// its windows are shifted, not cut, at both ends of the keys.
bool are_full_windows(const Residue& residue, const Mask& mask) {
  return residue.cells > 1 && std::ranges::all_of(residue.first, [&mask](const Cell& cell) {
           const Plane& plane = *mask.plane(cell.batch, cell.head);
           const Range middle = only_run(plane, plane.queries() / 2);
           return !middle.empty() && only_run(plane, cell.query).size() == middle.size();
         });
}

/// The token of query 0 in a batch entry where a causal step says that the queries lie elsewhere
/// than at the end of the keys.
std::optional<Index> shift_in(const Chain& chain, const Mask& mask, Index batch) {
  const Index most = mask.keys() - mask.queries();
  for (const Step& step : chain) {
    const auto* causal = step.get_if<step::Causal>();
    if (!causal || most <= 0) continue;
    const Index shift = shift_of(shape_of(mask), causal->align) + of_batch(causal->offsets, batch);
    if (shift >= 0 && shift < most) return shift;
  }
  return std::nullopt;
}

}  // namespace

Unexplained::Unexplained(const Pattern& pattern)
    : pattern_(pattern),
      mask_(pattern.mask),
      residue_(pattern.found.residue),
      steps_(made_by(pattern.found.chain, pattern)),
      cells_(zip(Op::kXor, mask_, steps_)),
      rectangle_(rectangle_of_cells()) {
  std::map<std::uint32_t, std::pair<Index, Index>> first;  // where each plane of cells is used
  std::ranges::copy_if(residue_.first, std::back_inserter(judged_), [&](const Cell& cell) {
    const std::pair at(cell.batch, cell.head);
    return first.try_emplace(cells_.index_of(cell.batch, cell.head), at).first->second == at;
  });
}

bool Unexplained::follow_a_rule() const {
  return are_full_windows(residue_, mask_) || std::ranges::none_of(judged_, is_odd());
}

bool Unexplained::are_in_full_rows() const {
  return pattern_.opened && any_plane([this](Index b, Index h) {
           const Plane& plane = *mask_.plane(b, h);
           const PlanePtr cells = cells_.plane(b, h);
           bool found = false;
           plane.row_sizes({0, plane.queries()}, [&](Range same, const Plane::RowSize& size) {
             found = found || (size.keys == plane.keys() && cells->count(same, {0, size.keys}) > 0);
           });
           return found;
         });
}

bool Unexplained::are_strays() const {
  const auto strays = std::ranges::count_if(
      judged_, [this](const Cell& cell) { return is_alone(cell) && is_odd()(cell); });
  return (3 * strays >= std::ssize(judged_) && !are_crowded()) || is_island();
}

bool Unexplained::cross_borders() const {
  constexpr Index kMostShare = 8;
  const auto many = [this](Index b, Index h) {
    const Index cells = cells_.plane(b, h)->count();
    return kMostShare * cells > mask_.plane(b, h)->count() - cells;
  };
  if (any_plane(many) || are_diagonals()) return false;
  const Mask inside = maskctl::apply(full_like(mask_), borders_of(pattern_.found.chain));
  return zip(Op::kSub, cells_, zip(Op::kSub, mask_, inside)).count() == 0 &&
         3 * std::ranges::count_if(judged_, is_odd()) >= std::ssize(judged_);
}

bool Unexplained::joins_documents() const {
  if (!are_documents(pattern_.found.chain)) return false;
  const Mask documents = maskctl::apply(full_like(mask_), borders_of(pattern_.found.chain));
  if (documents.count() == documents.cells()) return false;  // they are too short
  return any_plane([&](Index b, Index h) {
    const Plane& steps = *steps_.plane(b, h);
    const PlanePtr opened = combine(Op::kSub, mask_.plane(b, h), steps_.plane(b, h));
    const auto cuts = [&](const recognition::Hull& piece) {
      return continues(steps, piece.q.begin) || continues(steps, piece.q.end);
    };
    const auto all = pieces_of(*opened);
    if (all && all->size() == 1) {
      const auto& [q, k] = all->front();
      return (k.begin > 0 && q.end < mask_.queries()) || cuts(all->front());
    }
    const auto across = pieces_of(*combine(Op::kSub, opened, documents.plane(b, h)));
    return across && std::ranges::any_of(*across, cuts);
  });
}

std::optional<std::string> Unexplained::rectangles() const {
  std::string out;
  std::size_t listed = 0;
  for (Index b = 0; b < cells_.batch(); ++b) {
    for (Index h = 0; h < cells_.heads(); ++h) {
      const auto pieces = pieces_of(*cells_.plane(b, h));
      if (!pieces || (listed += pieces->size()) > kListedCells) return std::nullopt;
      for (const auto& [q, k] : *pieces) {
        out += fmt::format("{}{}{}{}, {}", out.empty() ? "" : "; ",
                           b > 0 ? fmt::format("batch {}, ", b) : "",
                           h > 0 ? fmt::format("head {}, ", h) : "",
                           range_words(q, "query", "queries"), range_words(k, "key"));
      }
    }
  }
  return out;
}

bool Unexplained::continues(const Plane& steps, Index query) const {
  return query > 0 && query < mask_.queries() && query <= mask_.keys() &&
         steps.count({query, query + 1}, {query - 1, query}) == 1;
}

const Plane& Unexplained::plane_of(const Mask& mask) const {
  const Cell& first = residue_.first.front();
  return *mask.plane(first.batch, first.head);
}

std::optional<recognition::Hull> Unexplained::rectangle_of_cells() const {
  const recognition::Hull hull = recognition::hull_of(plane_of(cells_));
  const bool is_all = hull.q.size() * hull.k.size() == residue_.cells &&
                      plane_of(cells_).count(hull.q, hull.k) == residue_.cells;
  return is_all ? std::optional(hull) : std::nullopt;
}

bool Unexplained::are_crowded() const {
  if (std::ssize(judged_) <= kNotCrowded) return false;
  std::set<Index> queries, keys, diagonals;
  for (const Cell& cell : judged_) {
    queries.insert(cell.query);
    keys.insert(cell.key);
    diagonals.insert(cell.key - cell.query);
  }
  return 2 * std::min({queries.size(), keys.size(), diagonals.size()}) < judged_.size();
}

bool Unexplained::are_diagonals() const {
  constexpr std::size_t kLeastOnEach = 6;
  std::set<Index> diagonals;
  for (const Cell& cell : judged_) diagonals.insert(cell.key - cell.query);
  return kLeastOnEach * diagonals.size() <= judged_.size();
}

std::function<bool(const Cell&)> Unexplained::is_odd() const {
  return [this](const Cell& cell) {
    const auto shift = shift_in(pattern_.found.chain, mask_, cell.batch);
    return is_exception(mask_.plane(cell.batch, cell.head), cell.query, cell.key, shift);
  };
}

bool Unexplained::is_end_of_window(const Cell& cell) const {
  const PlanePtr& plane = steps_.plane(cell.batch, cell.head);
  const auto opens = [&](Index query, Index key) {
    return plane->count(intersect({query, query + 1}, {0, mask_.queries()}),
                        intersect({key, key + 1}, {0, mask_.keys()})) > 0;
  };
  const Index out = cell.key > cell.query + mask_.keys() - mask_.queries() ? 1 : -1;
  return opens(cell.query, cell.key) && !opens(cell.query, cell.key + out) &&
         !opens(cell.query - out, cell.key);
}

bool Unexplained::has_mirror(const Cell& cell) const {
  return mask_.queries() == mask_.keys() && cell.query != cell.key &&
         cells_.plane(cell.batch, cell.head)
                 ->count({cell.key, cell.key + 1}, {cell.query, cell.query + 1}) == 1;
}

bool Unexplained::is_alone(const Cell& cell) const {
  if (is_end_of_window(cell) || has_mirror(cell)) return false;
  const Index queries = mask_.queries(), keys = mask_.keys();
  const PlanePtr& plane = cells_.plane(cell.batch, cell.head);
  const Index reach = stride_of(pattern_.found.chain, cell.batch);
  const auto near = [reach](Index at, Index size) {
    return Range{std::max<Index>(at - reach, 0), std::min(at + reach + 1, size)};
  };
  Index others = plane->count(near(cell.query, queries), near(cell.key, keys)) - 1;
  for (Index step = -reach; step <= reach; ++step) {
    const Index q = cell.query + step, k = cell.key - step;
    if (step == 0 || q < 0 || q >= queries || k < 0 || k >= keys) continue;
    others -= plane->count({q, q + 1}, {k, k + 1});
  }
  return others == 0;
}

bool Unexplained::is_island() const {
  if (!rectangle_ || !are_plain(pattern_.found.chain)) return false;
  const auto& [q, k] = *rectangle_;
  if (q.begin == 0 || k.begin == 0 || q.end == mask_.queries() || k.end == mask_.keys()) {
    return false;
  }
  const Plane &mask = plane_of(mask_), &steps = plane_of(steps_);
  const Range rows{q.begin - 1, q.end + 1}, columns{k.begin - 1, k.end + 1};
  const Index around = mask.count(rows, columns) - mask.count(q, k);
  if (mask.count(q, k) > 0) return around == 0;
  return around == steps.count(rows, columns) - steps.count(q, k) &&
         steps.count({q.begin - 1, q.begin}, k) > 0 && steps.count({q.end, q.end + 1}, k) > 0;
}

std::string residue_text(const Residue& residue) {
  std::string out;
  const std::size_t listed = std::min(residue.first.size(), kListedCells);
  for (std::size_t i = 0; i < listed; ++i) {
    const Cell& cell = residue.first[i];
    if (i > 0) out += "; ";
    if (cell.batch > 0) out += fmt::format("batch {}, ", cell.batch);
    if (cell.head > 0) out += fmt::format("head {}, ", cell.head);
    out += fmt::format("query {}, key {}", cell.query, cell.key);
  }
  const Index more = residue.cells - static_cast<Index>(listed);
  return more > 0 ? out + fmt::format(" and {} more", more) : out;
}

}  // namespace maskctl
