// Documents are ranges of rows that share keys. Their bands are read off the rows, counted from the
// corners of the documents; given a band, the borders of documents are placed again.
#include "maskctl/inspect/recognise/ragged.h"

#include <algorithm>
#include <map>
#include <span>

#include "maskctl/inspect/recognise/fit.h"
#include "maskctl/inspect/recognise/lone_cells.h"
#include "maskctl/inspect/recognise/names.h"
#include "maskctl/inspect/recognise/own_chains.h"
#include "maskctl/inspect/recognise/ragged_borders.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/mask/steps/within.h"

namespace maskctl::recognition {
namespace {

constexpr std::size_t kMostRaggedDocuments = 1 << 14, kMostExplained = 2, kMostSides = 3;
constexpr Index kOddCells = 4;
constexpr std::size_t kMostRagged = 6;
constexpr Index kExplainedCells = Index{1} << 20;
constexpr int kMostRounds = 4;

using Documents = std::vector<Hull>;

/// Finds documents: rows are in one document if the ranges from their first to their last seen key
/// overlap. Empty if there are more than kMostRaggedDocuments.
Documents seen_documents(const Plane& plane) {
  Documents out;
  each_hull(plane, [&](Range rows, const Band& band) {
    if (out.size() > kMostRaggedDocuments) return;
    Hull next{rows, keys_of(rows, band)};
    while (!out.empty() && next.k.begin < out.back().k.end) {
      next = {hull(out.back().q, next.q), hull(out.back().k, next.k)};
      out.pop_back();
    }
    out.push_back(next);
  });
  if (out.size() > kMostRaggedDocuments) out.clear();
  return out;
}

/// Extends the documents so that they leave no gaps from the first token on. What is between two of
/// them goes to the later one, or to the earlier.
Documents tiled(Documents documents, bool later) {
  Range q, k;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    Hull& one = documents[i];
    if (later || i == 0) {
      one.q.begin = q.end;
      one.k.begin = k.end;
    } else {
      documents[i - 1].q.end = one.q.begin;
      documents[i - 1].k.end = one.k.begin;
    }
    q = one.q;
    k = one.k;
  }
  return documents;
}

bool all_square(const Documents& documents) {
  return std::ranges::all_of(documents,
                             [](const Hull& one) { return one.q.size() == one.k.size(); });
}

Chain within(const Documents& documents, Chain inside) {
  step::Within rule;
  for (const Hull& one : documents) {
    rule.lengths.push_back(one.q.size());
    rule.kv_lengths.push_back(one.k.size());
  }
  if (all_square(documents)) rule.kv_lengths.clear();
  rule.chain = std::move(inside);
  return {{std::move(rule)}};
}

/// The band as a causal or window step inside documents. `square`: all of them have as many queries
/// as keys, so no alignment is needed.
Chain steps_of(const OwnBand& band, bool square) {
  const Align align = square ? Align::kUnset : band.align;
  if (!band.low && !band.high) return {};
  if (!band.low) {
    step::Causal rule{align, {}};
    if (*band.high != 0) {
      rule.offsets.array = Tensor(DType::kInt64, {1});
      rule.offsets.array.as<std::int64_t>().front() = *band.high;
    }
    return {{rule}};
  }
  using Spelling = step::Window::Spelling;
  step::Window rule;
  rule.align = align;
  rule.offset = std::max(*band.low, std::min(band.high.value_or(0), Index{0}));
  rule.left = rule.offset - *band.low;
  if (band.high) rule.right = *band.high - rule.offset;
  if (rule.right == Index{0}) rule.spelling = Spelling::kKeys;
  if (rule.right == rule.left && rule.right != Index{0}) rule.spelling = Spelling::kBoth;
  return {{rule}};
}

/// The chain of these documents with this band. If each has as many queries as keys, the band is a
/// step of the whole mask, else a step inside the documents.
Chain chain_of(const Documents& documents, const OwnBand& band) {
  const bool square = all_square(documents);
  Chain inside = steps_of(band, square);
  if (!square) return within(documents, std::move(inside));
  step::DocumentLengths rule;
  for (const Hull& one : documents) rule.lengths.push_back(one.q.size());
  inside.insert(inside.begin(), {std::move(rule)});
  return inside;
}

/// Returns candidates for a side of a band: no limit, and the diagonals that the most rows have.
/// `rows` maps each diagonal to the number of its rows.
std::vector<std::optional<Index>> sides_of(const std::map<Index, Index>& rows) {
  std::vector<std::pair<Index, Index>> found;
  for (const auto& [diagonal, count] : rows) found.emplace_back(-count, diagonal);
  std::ranges::sort(found);
  std::vector<std::optional<Index>> out{std::nullopt};
  for (const auto& [count, diagonal] : found) {
    if (out.size() <= kMostSides) out.emplace_back(diagonal);
  }
  return out;
}

/// All bands whose sides are diagonals at which many rows begin or end, counted from the corners of
/// their documents.
std::vector<OwnBand> bands_inside(const Plane& plane, const Documents& documents, Align align) {
  std::map<Index, Index> lows, highs;
  std::size_t at = 0;
  each_hull(plane, [&](Range rows, const Band& band) {
    while (at < documents.size() && documents[at].q.end <= rows.begin) ++at;
    if (at == documents.size()) return;
    const Hull& own = documents[at];
    const Index corner = OwnBand{align, {}, {}}.corner(own);
    const bool one = rows.size() == 1;
    if ((band.begin_slope || one) && band.begin_at(rows.end - 1) > own.k.begin) {
      lows[band.begin_at(rows.begin) - rows.begin - corner] += rows.size();
    }
    if ((band.end_slope || one) && band.end_at(rows.begin) <= own.k.end) {
      highs[band.end_at(rows.begin) - 1 - rows.begin - corner] += rows.size();
    }
  });
  std::vector<OwnBand> out;
  for (const auto& low : sides_of(lows)) {
    for (const auto& high : sides_of(highs)) {
      if (!low || !high || *low <= *high) out.push_back({align, low, high});
    }
  }
  return out;
}

class RaggedSearch {
 public:
  explicit RaggedSearch(const PlanePtr& plane)
      : plane_(plane),
        extent_{plane->queries(), plane->keys()},
        description_(extent_),
        placer_(*plane) {}

  std::vector<Chain> run() {
    for (const Documents& seen : all_seen()) {
      for (const Align align : {Align::kBottomRight, Align::kTopLeft}) {
        add_all(tiled(seen, align == Align::kBottomRight), align);
      }
    }
    place();
    if (found_.empty() || found_.front().left > 0) explain_documents();
    if (found_.empty() || found_.front().left > kOddCells) explain_each();
    std::vector<Chain> out;
    for (Found& one : found_) out.push_back(std::move(one.chain));
    return out;
  }

 private:
  struct Found {
    Chain chain;
    Documents documents;
    OwnBand band;
    Index left = 0, length = 0;
  };

  /// The documents seen in the plane, and in the plane without its lone cells.
  std::vector<Documents> all_seen() const {
    std::vector<PlanePtr> planes = without_lone_cells(plane_);
    planes.insert(planes.begin(), plane_);
    std::vector<Documents> out;
    for (const PlanePtr& plane : planes) {
      Documents seen = seen_documents(*plane);
      if (seen.size() > 1) out.push_back(std::move(seen));
    }
    return out;
  }

  void add_all(const Documents& documents, Align align) {
    for (const OwnBand& band : bands_inside(*plane_, documents, align)) {
      add(chain_of(documents, band), documents, band);
    }
  }

  /// Adds a candidate unless it differs from the plane in more than `most` cells.
  void add(Chain chain, const Documents& documents, const OwnBand& band, Index most = kUnbounded) {
    if (std::ranges::any_of(found_, [&](const Found& one) { return one.chain == chain; })) return;
    const PlanePtr given = plane_of(chain, extent_);
    if (!given) return;
    Found one{std::move(chain), documents, band, differing_cells(given, plane_), 0};
    if (one.left > most) return;
    one.length = description_.of(one.chain) + one.left * description_.cell();
    const auto at = std::ranges::upper_bound(found_, one.length, {}, &Found::length);
    found_.insert(at, std::move(one));
    if (found_.size() > kMostRagged) found_.pop_back();
  }

  /// Places borders for the usual bands, then for the bands seen inside the best documents so far,
  /// until the description gets no shorter.
  void place() {
    if (!placer_.places() || (!found_.empty() && found_.front().left == 0)) return;
    for (const Align align : {Align::kBottomRight, Align::kTopLeft}) {
      place({align, std::nullopt, Index{0}});
    }
    place({Align::kBottomRight, std::nullopt, std::nullopt});
    for (int round = 0; round < kMostRounds && !found_.empty(); ++round) {
      const Index length = found_.front().length;
      const std::vector<Found> before(found_.begin(), found_.begin() + 1);
      for (const Found& one : before) {
        for (const Align align : {Align::kBottomRight, Align::kTopLeft}) {
          for (const OwnBand& band : bands_inside(*plane_, one.documents, align)) place(band);
        }
      }
      if (found_.front().length == length) return;
    }
  }
  void place(const OwnBand& band) {
    if (std::ranges::find(placed_, band) != placed_.end()) return;
    placed_.push_back(band);
    const Documents documents = placer_.placed(band);
    if (documents.size() < 2) return;
    add(chain_of(documents, band), documents, band);
  }

  /// Recognises the largest documents on their own, and adds their steps as the steps of all
  /// documents if these leave few cells wrong.
  void explain_documents() {
    for (const Documents& seen : all_seen()) {
      for (const bool later : {true, false}) explain_largest(tiled(seen, later));
    }
  }
  void explain_largest(const Documents& documents) {
    Documents largest = documents;
    std::ranges::stable_sort(largest, std::greater<>(),
                             [](const Hull& one) { return one.q.size() * one.k.size(); });
    largest.resize(std::min(largest.size(), kMostExplained));
    for (const Hull& one : largest) {
      if (one.q.size() * one.k.size() > kExplainedCells || one.q.size() < 2) continue;
      const PlanePtr inside = compacted(plane_->sliced(one.q, one.k), kExplainedCells);
      for (const Moves& moves : explain(inside, 3, true).exact) {
        Chain chain = named(inside, moves, 0);
        if (!has_arrays(chain)) add(within(documents, std::move(chain)), documents, {}, kOddCells);
      }
    }
  }

  /// Recognises each document on its own, with numbers of its own.
  void explain_each() {
    const Documents seen = seen_documents(*plane_);
    for (const bool later : {true, false}) {
      const Documents documents = tiled(seen, later);
      for (Chain& inside : chains_of_own(*plane_, documents)) {
        add(within(documents, std::move(inside)), documents, {}, 0);
      }
    }
  }

  PlanePtr plane_;
  Extent extent_;
  Description description_;
  BorderPlacer placer_;
  std::vector<OwnBand> placed_;
  std::vector<Found> found_;  // sorted by description length, the shortest first
};

}  // namespace

std::vector<Chain> bands_inside(const Plane& plane, const step::Within& rule) {
  const auto& keys = rule.kv_lengths.empty() ? rule.lengths : rule.kv_lengths;
  if (keys.size() != rule.lengths.size()) return {};
  Documents documents;
  Hull last;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    last = {{last.q.end, last.q.end + rule.lengths[i]}, {last.k.end, last.k.end + keys[i]}};
    documents.push_back(last);
  }
  std::vector<Chain> out;
  for (const Align align : {Align::kBottomRight, Align::kTopLeft}) {
    for (const OwnBand& band : bands_inside(plane, documents, align)) {
      out.push_back(steps_of(band, all_square(documents)));
    }
  }
  return out;
}

std::vector<Chain> ragged_chains(const PlanePtr& plane) {
  if (plane->queries() < 2) return {};
  return RaggedSearch(plane).run();
}

}  // namespace maskctl::recognition
