// Findings in what the recognised steps themselves say: a diagonal that lies in the future, and
// heads that cut the same tokens into different documents.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/check/fixes.h"
#include "maskctl/inspect/check/lint.h"
#include "maskctl/inspect/count/row_safety.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/at.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/dilated.h"
#include "maskctl/mask/steps/global.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/tree.h"
#include "maskctl/mask/steps/window.h"

namespace maskctl {

LintRule lint_row(RuleKey<FindingId::kFutureDiagonal>) {
  return {
      .id = "future-diagonal",
      .severity = Severity::kWarning,
      .summary = "a causal mask whose queries see keys after their own",
      .claim = "in the head the query sees that many keys after its own",
      .why =
          "the next token is what a language model predicts: it reads its own target, and the loss "
          "falls too low; right only where later tokens may be seen, as in speech with look-ahead",
      .fix = "drop the offset",
      .example = "maskctl check gen:causal:offset=1,n=32",
      .fixed = make_causal,
      .unfixed = "some queries would see no key"};
}

LintRule lint_row(RuleKey<FindingId::kHeadsDocuments>) {
  return {
      .id = "heads-documents",
      .severity = Severity::kWarning,
      .summary = "heads of one batch entry have different documents",
      .claim =
          "no query of the head sees across the borders of its documents, and another head of "
          "the batch entry does; rows of padding that see every key left out, if there are any",
      .why =
          "documents are of the tokens, which all heads share: a border that is off in some "
          "heads, or two documents that are joined there, leaks between them",
      .fix = "make the documents of all heads from one array of ids or lengths",
      .example =
          "maskctl check gen:causal:n=32,h=2 -t 'heads:0{doc:lens=13+19}|heads:1{doc:lens=14+18}'",
      .unfixed = "which of the documents are right is not known"};
}

LintRule lint_row(RuleKey<FindingId::kDocumentsReopened>) {
  return {
      .id = "documents-reopened",
      .severity = Severity::kNote,
      .summary = "documents with a window see tokens of another one",
      .claim =
          "in a causal mask that many cells lie across the borders of documents of the lengths "
          "named, all of them of the keys named",
      .why =
          "right where documents share these tokens, as answers share a prompt; sinks that are "
          "opened after the documents were closed show those of the first to all others",
      .fix =
          "open sinks first, close documents last; or give each document its own sinks, with "
          "within",
      .example =
          R"(python3 -c 'import numpy as np; q, k = np.indices((128, 128)); ends = [37, 88, 100]; same = np.searchsorted(ends, q, "right") == np.searchsorted(ends, k, "right"); np.save("mask.npy", (k <= q) & ((k < 4) | same & (q - k < 16)))'
maskctl check mask.npy)",
      .beside = {LintRule::Beside::kIsReopening}};
}

namespace {

/// The batch entries and heads that a step is applied to; absent: all of them.
struct Scope {
  std::optional<std::vector<Range>> batches, heads;

  /// The first batch entry and head of a mask for which `holds`.
  template <typename Holds>
  std::optional<std::pair<Index, Index>> first(const Mask& mask, const Holds& holds) const {
    const std::vector<Range> all_batches{{0, mask.batch()}}, all_heads{{0, mask.heads()}};
    for (const Range& entries : batches ? *batches : all_batches) {
      for (Index b = entries.begin; b < entries.end; ++b) {
        for (const Range& members : heads ? *heads : all_heads) {
          for (Index h = members.begin; h < members.end; ++h) {
            if (holds(b, h)) return std::pair(b, h);
          }
        }
      }
    }
    return std::nullopt;
  }
};

/// Calls f(step, scope) for all steps outside and inside scopes.
template <typename F>
void each_step(const Chain& chain, const Scope& scope, const F& f) {
  for (const Step& step : chain) {
    const auto find_scope = step.row().scope;
    if (!find_scope) {
      f(step, scope);
      continue;
    }
    const auto [of_heads, members] = find_scope(step);
    if (members.empty()) continue;
    Scope inner = scope;
    (of_heads ? inner.heads : inner.batches).emplace(members.begin(), members.end());
    each_step(*chain_of(step), inner, f);
  }
}

/// The first cell of the diagonal that lies `later` keys after the queries' own keys. Nothing if no
/// query sees a key more than `later` keys before its own: the plane is then a window around each
/// query.
std::optional<Cell> first_ahead(const PlanePtr& plane, Index later) {
  const auto reach = recognition::diagonals(*plane);
  if (!reach || -reach->low <= later) return std::nullopt;
  const PlanePtr ahead = diagonal_band(plane->queries(), plane->keys(), later, later);
  return first_cell(*combine(Op::kAnd, plane, ahead));
}

/// How far a step moves the keys of all tokens on, the last ones to the front; 0 if it does not.
Index roll_of(const step::At& at, Index tokens) {
  if (!at.q.empty() || !at.kv.empty() || !at.queries.empty() || at.stride != 1) return 0;
  if (at.keys.size() != 2 || at.keys[1].begin != 0) return 0;
  const Index roll = at.keys[0].size();
  const bool all = at.keys[0] == Range{tokens - roll, tokens} && at.keys[1].end == tokens - roll;
  return all ? roll : 0;
}

bool is_causal_chain(const Chain& chain) {
  return std::ranges::any_of(chain, [](const Step& step) {
    const auto* causal = step.get_if<step::Causal>();
    return causal != nullptr && causal->offsets.empty();
  });
}

/// Finds causal steps with an offset, or with keys that are moved on, that let queries see later
/// tokens. Only for masks in which queries and keys are the same tokens.
void lint_diagonal(const Pattern& pattern, Findings& out) {
  const Mask& mask = pattern.mask;
  if (mask.queries() != mask.keys()) return;
  std::optional<Finding> first;
  each_step(pattern.found.chain, {}, [&](const Step& step, const Scope& scope) {
    const auto* causal = step.get_if<step::Causal>();
    const auto* placed = step.get_if<step::At>();
    const Index roll = placed && is_causal_chain(placed->chain) ? roll_of(*placed, mask.keys()) : 0;
    if ((!causal && roll == 0) || first) return;
    Index later = roll;
    std::optional<Cell> cell;
    const auto at = scope.first(mask, [&](Index b, Index h) {
      if (causal) later = of_batch(causal->offsets, b);
      if (later <= 0 || later >= mask.keys() - 1) return false;
      cell = first_ahead(mask.plane(b, h), later);
      return cell.has_value();
    });
    if (!at) return;
    first = {
        &lint_rule(FindingId::kFutureDiagonal),
        fmt::format("query {} sees key {}, {} after its own: {} moved by {}", cell->query,
                    cell->key, later, causal ? "the causal diagonal is" : "the keys are", later),
        {at->first, at->second, cell->query, cell->key, {}, {}},
        later};
  });
  if (first) out.push_back(std::move(*first));
}

/// Whether there are several documents, with at least 3 tokens on average: shorter ones may only
/// stand for single cells.
bool are_of_text(std::span<const Index> lengths) {
  constexpr Index kLeastTokens = 3;  // on average
  const Index tokens = std::accumulate(lengths.begin(), lengths.end(), Index{0});
  return lengths.size() > 1 && tokens >= kLeastTokens * std::ssize(lengths);
}

/// The open cells of the planes of a mask that cross the borders of documents; each plane is read
/// once.
class Crossings {
 public:
  struct Across {
    Index cells = 0;
    Index query = 0;             // the first one that sees another document
    std::vector<Index> borders;  // the first tokens of documents that cells cross
  };

  Crossings(const Mask& mask, std::span<const Index> lengths) : mask_(mask), lengths_(lengths) {
    Index end = 0;
    for (const Index length : lengths) borders_.push_back(end += length);
  }

  /// Whether head `other` of the batch entry sees across the documents that head h makes, so that
  /// their documents differ. False if head h sees only every few tokens and no such cell lies on
  /// one of its diagonals, or if all borders that are crossed are those of chunks of equal length.
  bool tells(Index b, Index h, Index other) {
    const Across& across = in(b, other);
    if (across.cells == 0 || are_chunks(across.borders)) return false;
    const Index stride = recognition::common_stride(*mask_.plane(b, h));
    if (stride <= 1) return true;
    const Mask seen = maskctl::apply(Mask(mask_.plane(b, other)), {{step::Dilated{stride}}});
    return this->across(*seen.plane(0, 0)).cells > 0;
  }

  const Across& in(Index b, Index h) {
    const auto [at, fresh] = known_.try_emplace(mask_.index_of(b, h));
    if (fresh) at->second = across(*mask_.plane(b, h));
    return at->second;
  }

 private:
  Across across(const Plane& plane) const {
    Across out;
    const auto add = [&](Range own) {
      const auto others = [&](Range rows) {
        return plane.count(rows, {0, own.begin}) + plane.count(rows, {own.end, plane.keys()});
      };
      const Index cells = others(own);
      if (out.cells == 0 && cells > 0) {
        out.query = own.begin;
        while (others({out.query, out.query + 1}) == 0) ++out.query;
      }
      out.cells += cells;
    };
    Index begin = 0;
    for (const Index length : lengths_) {
      add({begin, begin + length});
      begin += length;
    }
    add({begin, plane.keys()});
    for (const Index border : borders_) {
      const Range before{0, border};
      if (plane.count(before, {border, plane.keys()}) > 0 ||
          plane.count({border, plane.queries()}, before) > 0) {
        out.borders.push_back(border);
      }
    }
    return out;
  }

  /// Whether the crossed borders are those of chunks: multiples of one size, all of whose multiples
  /// are borders, at least two of them.
  bool are_chunks(std::span<const Index> crossed) const {
    Index size = 0;
    for (const Index border : crossed) {
      if (border != borders_.back()) size = std::gcd(size, border);
    }
    if (size < 2 || 2 * size >= borders_.back()) return false;
    for (Index border = size; border < borders_.back(); border += size) {
      if (!std::ranges::binary_search(borders_, border)) return false;
    }
    return std::ranges::all_of(
        crossed, [&](Index border) { return border % size == 0 || border == borders_.back(); });
  }

  const Mask& mask_;
  std::span<const Index> lengths_;
  std::vector<Index> borders_;  // where documents end
  std::map<std::uint32_t, Across> known_;
};

Finding documents_differ(const Pattern& pattern, Index batch, Index head, Index other,
                         std::span<const Index> lengths, const Crossings::Across& across) {
  const auto left_out = [&](Index one) {
    return pattern.opened && pattern.opened->plane(batch, one)->count() > 0;
  };
  const bool opened = left_out(head) || left_out(other);
  return {&lint_rule(FindingId::kHeadsDocuments),
          fmt::format("the documents of head {} are {} tokens long, and head {} sees across their "
                      "borders in {}, the first of query {}{}",
                      head, list_text(lengths), other, counted(across.cells, "cell"), across.query,
                      opened ? "; rows of padding that see every key left out" : ""),
          {batch, head, {}, {}, {}, {}},
          across.cells};
}

/// The lengths of the documents of a step; two chunks may be two documents. Empty for other steps.
std::vector<Index> lengths_of(const Step& step, Index keys) {
  const auto* chunk = step.get_if<step::Chunk>();
  const bool two = chunk && !chunk->is_per_batch() && chunk->offset == 0 && chunk->size < keys &&
                   keys <= 2 * chunk->size;
  if (two) return {chunk->size, keys - chunk->size};
  const auto documents = documents_in(step);
  if (!documents || chain_of(step) || !are_of_text(documents->q_lengths)) return {};
  return {documents->q_lengths.begin(), documents->q_lengths.end()};
}

/// The lengths of the documents that make a plane, with other steps, exactly; empty if none do.
std::vector<Index> lengths_in(const PlanePtr& plane, recognition::KnownPlanes& planes) {
  const Recognised found = recognise(Mask(plane), {.guess = false}, planes);
  if (found.irregular || found.residue.cells > 0) return {};
  for (const Step& step : found.chain) {
    if (auto lengths = lengths_of(step, plane->keys()); !lengths.empty()) return lengths;
  }
  return {};
}

/// Whether a head sees what is near of all that another one sees, which a few steps make exactly,
/// none of them for single tokens, rows or rectangles: a window that cuts the answers off their
/// prompt makes them look like documents.
bool is_window_of(const PlanePtr& head, const PlanePtr& other, recognition::KnownPlanes& planes) {
  if (combine(Op::kSub, head, other)->count() > 0) return false;
  const auto reach = recognition::diagonals(*head);
  const Index farthest = reach ? std::max(-reach->low, reach->high) : 0;
  const PlanePtr near = diagonal_band(head->queries(), head->keys(), -farthest, farthest);
  if (combine(Op::kAnd, combine(Op::kSub, other, head), near)->count() > 0) return false;
  const Recognised found = recognise(Mask(other), {.guess = false}, planes);
  return !found.irregular && found.residue.cells == 0 &&
         std::ranges::none_of(found.chain, [](const Step& step) {
           return step.is<step::Global>() || step.is<step::Region>();
         });
}

/// Whether a head sees some of what another one sees, and that is exactly a tree, whose branches
/// sinks may leave to it.
bool is_part_of_tree(const PlanePtr& head, const PlanePtr& other,
                     recognition::KnownPlanes& planes) {
  if (combine(Op::kSub, head, other)->count() > 0) return false;
  const Recognised found = recognise(Mask(other), {.guess = false}, planes);
  return !found.irregular && found.residue.cells == 0 && found.chain.size() == 1 &&
         found.chain.front().is<step::Tree>();
}

bool is_part(const PlanePtr& head, const PlanePtr& other, recognition::KnownPlanes& planes) {
  return is_part_of_tree(head, other, planes) || is_window_of(head, other, planes);
}

/// Finds documents across whose borders a head sees and another head of the batch entry does not.
/// All heads have the same tokens, and thus should have the same documents.
void lint_documents_of_heads(const Pattern& pattern, recognition::KnownPlanes& planes,
                             Findings& out) {
  const Mask& mask = pattern.mask;
  if (mask.queries() != mask.keys() || mask.heads() == 1) return;
  std::optional<Finding> first;
  each_step(pattern.found.chain, {}, [&](const Step& step, const Scope& scope) {
    if (first) return;
    const std::vector<Index> lengths = lengths_of(step, mask.keys());
    if (lengths.empty()) return;
    // Chunks of one head may be meant, beside heads that are not cut.
    const bool chunks = step.is<step::Chunk>();
    Crossings crossings(mask, lengths);
    Index other = 0;
    const auto at = scope.first(mask, [&](Index b, Index h) {
      if (crossings.in(b, h).cells > 0) return false;
      for (other = 0; other < mask.heads(); ++other) {
        if (!crossings.tells(b, h, other)) continue;
        if (is_part(mask.plane(b, h), mask.plane(b, other), planes)) continue;
        if (!chunks || !lengths_in(mask.plane(b, other), planes).empty()) return true;
      }
      return false;
    });
    if (!at) return;
    first = documents_differ(pattern, at->first, at->second, other, lengths,
                             crossings.in(at->first, other));
  });
  if (first) out.push_back(std::move(*first));
}

/// Finds documents of a causal mask with a window that a later step opens to each other, in the
/// columns of fewer tokens than the window has: longer ones are a prompt that answers share.
void lint_reopened(const Pattern& pattern, Findings& out) {
  const Mask& mask = pattern.mask;
  if (mask.queries() != mask.keys() || mask.distinct().size() > 1 || pattern.opened) return;
  const auto reach = recognition::diagonals(*mask.plane(0, 0));
  if (!reach || reach->high > 0) return;
  Index window = 0;
  for (const Step& step : pattern.found.chain) {
    const auto* found = step.get_if<step::Window>();
    if (found != nullptr && found->left) window = *found->left + 1;
  }
  for (const Step& step : pattern.found.chain) {
    const std::vector<Index> lengths = lengths_of(step, mask.keys());
    if (lengths.empty() || step.is<step::Chunk>()) continue;
    const Mask across = zip(Op::kSub, mask, maskctl::apply(mask, {step}));
    const Index cells = across.count();
    if (cells == 0) return;
    const Range keys = recognition::hull_of(*across.plane(0, 0)).k;
    if (keys.size() >= window) return;
    const Cell at = *first_cell(across);
    out.push_back(
        {&lint_rule(FindingId::kDocumentsReopened),
         fmt::format("{} across documents of {} tokens, all of {}", counted(cells, "cell"),
                     list_text(lengths), range_words(keys, "key")),
         {at.batch, at.head, at.query, at.key, {}, {}},
         cells});
    return;
  }
}

}  // namespace

Findings lint_heads(const Pattern& pattern, recognition::KnownPlanes& planes) {
  const Mask& mask = pattern.mask;
  constexpr std::size_t kMostPlanes = 64;
  if (mask.queries() != mask.keys() || mask.heads() == 1) return {};
  if (mask.distinct().size() > kMostPlanes) return {};
  std::map<std::uint32_t, std::vector<Index>> known;
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) {
      const auto [at, fresh] = known.try_emplace(mask.index_of(b, h));
      if (fresh) at->second = lengths_in(mask.plane(b, h), planes);
      if (at->second.empty()) continue;
      Crossings crossings(mask, at->second);
      if (crossings.in(b, h).cells > 0) continue;
      for (Index other = 0; other < mask.heads(); ++other) {
        if (!crossings.tells(b, h, other)) continue;
        if (is_part(mask.plane(b, h), mask.plane(b, other), planes)) continue;
        return {documents_differ(pattern, b, h, other, at->second, crossings.in(b, other))};
      }
    }
  }
  return {};
}

Findings lint_recognised(const Pattern& pattern, recognition::KnownPlanes& planes) {
  constexpr Index kMostShare = 64;  // more unexplained cells make the steps a guess
  Findings out;
  if (pattern.explained) lint_diagonal(pattern, out), lint_reopened(pattern, out);
  const Recognised& found = pattern.found;
  const bool nearly = !found.irregular && kMostShare * found.residue.cells <= pattern.mask.cells();
  if (pattern.explained || nearly) lint_documents_of_heads(pattern, planes, out);
  return out;
}

}  // namespace maskctl
