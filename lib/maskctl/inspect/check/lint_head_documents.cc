// Finds heads that cut the same tokens into different documents.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "maskctl/base/text.h"
#include "maskctl/inspect/check/lint.h"
#include "maskctl/inspect/check/recognised_steps.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/dilated.h"
#include "maskctl/mask/steps/global.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/tree.h"

namespace maskctl {

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

namespace {

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

/// The lengths of the documents that make a plane, with other steps, exactly; empty if none do.
std::vector<Index> lengths_in(const PlanePtr& plane, recognition::KnownPlanes& planes) {
  const Recognised found = recognise(Mask(plane), {.guess = false}, planes);
  if (found.irregular || found.residue.cells > 0) return {};
  for (const Step& step : found.chain) {
    if (auto lengths = document_lengths_of(step, plane->keys()); !lengths.empty()) return lengths;
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

}  // namespace

std::vector<Index> document_lengths_of(const Step& step, Index keys) {
  const auto* chunk = step.get_if<step::Chunk>();
  const bool two = chunk && !chunk->is_per_batch() && chunk->offset == 0 && chunk->size < keys &&
                   keys <= 2 * chunk->size;
  if (two) return {chunk->size, keys - chunk->size};
  const auto documents = documents_in(step);
  if (!documents || chain_of(step) || !are_of_text(documents->q_lengths)) return {};
  return {documents->q_lengths.begin(), documents->q_lengths.end()};
}

Findings lint_documents_of_heads(const Pattern& pattern, recognition::KnownPlanes& planes) {
  const Mask& mask = pattern.mask;
  if (mask.queries() != mask.keys() || mask.heads() == 1) return {};
  std::optional<Finding> first;
  each_step(pattern.found.chain, {}, [&](const Step& step, const StepPlaces& scope) {
    if (first) return;
    const std::vector<Index> lengths = document_lengths_of(step, mask.keys());
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
  return first ? Findings{*std::move(first)} : Findings{};
}

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

}  // namespace maskctl
