// Finds cells that a head hides in one batch entry and shows in another one: what a head hides of
// the keys that other heads see is of the head, and what no head sees is of the tokens.
#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "maskctl/base/text.h"
#include "maskctl/inspect/check/head_borders.h"
#include "maskctl/inspect/check/lint.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/mask/planes/bands.h"

namespace maskctl {

LintRule lint_row(RuleKey<FindingId::kHeadsEntries>) {
  return {.id = "heads-entries",
          .severity = Severity::kWarning,
          .summary = "a head hides keys in one batch entry that it shows in another one",
          .claim =
              "that many cells, or cells of keys after their queries where these are named, are "
              "open for the head in the one batch entry and closed in the other, where the other "
              "head sees them",
          .why =
              "what one head hides and another shows is of the heads, as a window is, and thus the "
              "same in all batch entries: one plane is wrong",
          .fix = "make all batch entries by the same steps for the heads",
          .example =
              "maskctl check gen:causal:n=16,b=2,h=2 -t "
              "'batch:0{heads:0{dilated:stride=2}}|batch:1{doc:lens=4+12}'",
          .unfixed = "which of the cells are right is not known"};
}

namespace {

/// A plane of a mask: the batch entry and the head.
using Place = std::pair<Index, Index>;

/// Head `head` shows cells in entry `shows` that it hides in entry `hides`, where head `other` sees
/// them.
struct Contradiction {
  Index head = 0, other = 0, hides = 0, shows = 0;
  PlanePtr cells = nullptr;
  bool later = false;  // only cells of keys after their queries were asked

  std::array<Place, 3> places() const {
    return {Place{hides, head}, Place{hides, other}, Place{shows, head}};
  }
};

class HeadsOfEntries {
 public:
  explicit HeadsOfEntries(const Mask& mask) : mask_(mask) {
    for (Index b = 0; b < mask.batch(); ++b) {
      std::set<Index> first;
      for (Index h = 0; h < mask.heads(); ++h) {
        first.insert(recognition::hull_of(*mask.plane(b, h)).k.begin);
      }
      first_.push_back(first.size() == 1 ? *first.begin() : -1);
    }
    bool causal = true;
    for (const PlanePtr& plane : mask.distinct()) {
      const auto reach = recognition::diagonals(*plane);
      causal = causal && (!reach || reach->high <= 0);
    }
    // Steps may open keys before a query for some heads and entries; keys after it, where others
    // are closed, are those of images and prefixes, which all heads see alike.
    const Index tokens = mask.keys();
    if (!causal) judged_ = diagonal_band(tokens, tokens, 1, kUnbounded);
  }

  /// A contradiction, if the mask has some, and all of them have one plane in common. Nothing where
  /// two entries contradict each other both ways, as those of a head do that chooses its keys.
  std::optional<Contradiction> find() {
    std::optional<Contradiction> first;
    std::set<std::uint32_t> common;
    std::set<std::array<Index, 3>> ways;  // head, and the entries that hide and show
    for (Index b = 0; b < mask_.batch(); ++b) {
      for (Index head = 0; head < mask_.heads(); ++head) {
        for (Index other = 0; other < mask_.heads(); ++other) {
          for (Index c = 0; c < mask_.batch(); ++c) {
            if (read_ > kMostRead) return std::nullopt;
            auto found = between({.head = head, .other = other, .hides = b, .shows = c});
            if (!found) continue;
            if (ways.contains({head, c, b})) return std::nullopt;
            ways.insert({head, b, c});
            std::set<std::uint32_t> planes;
            for (const auto& [entry, of] : found->places()) {
              const std::uint32_t plane = mask_.index_of(entry, of);
              if (!first || common.contains(plane)) planes.insert(plane);
            }
            if (!first) first = std::move(found);
            common = std::move(planes);
            if (common.empty()) return std::nullopt;
          }
        }
      }
    }
    return first;
  }

 private:
  static constexpr Index kMostRead = Index{1} << 22;  // bands, or words of planes

  std::optional<Contradiction> between(Contradiction pair) {
    const auto index = [&](Index b, Index h) { return mask_.index_of(b, h); };
    const auto hidden = index(pair.hides, pair.head), seen = index(pair.hides, pair.other),
               shown = index(pair.shows, pair.head);
    // Sinks and chunks count from the first token behind padding.
    const Index from = first_[as_size(pair.hides)];
    if (hidden == seen || hidden == shown) return std::nullopt;
    if (from < 0 || from != first_[as_size(pair.shows)]) return std::nullopt;
    const auto [at, fresh] = known_.try_emplace({hidden, seen, shown});
    if (fresh) {
      for (const auto& [entry, of] : pair.places()) {
        read_ += recognition::weight_of(*mask_.plane(entry, of));
      }
      const PlanePtr& own = mask_.plane(pair.hides, pair.head);
      PlanePtr cells = combine(Op::kSub, mask_.plane(pair.hides, pair.other), own);
      if (judged_) cells = combine(Op::kAnd, cells, judged_);
      cells = combine(Op::kAnd, cells, mask_.plane(pair.shows, pair.head));
      if (cells->count() > 0) at->second = std::move(cells);
    }
    if (!at->second) return std::nullopt;
    pair.cells = at->second;
    pair.later = judged_ != nullptr;
    return pair;
  }

  const Mask& mask_;
  std::vector<Index> first_;  // the first key that all heads of an entry see; -1 if it differs
  PlanePtr judged_;           // null: all cells
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, PlanePtr> known_;
  Index read_ = 0;
};

}  // namespace

Findings lint_entries_alike(const Mask& mask) {
  if (!has_few_heads(mask) || mask.batch() == 1) return {};
  const auto found = HeadsOfEntries(mask).find();
  if (!found) return {};
  const Cell first = *first_cell(*found->cells);
  const Index count = found->cells->count();
  const std::string cells = found->later
                                ? counted(count, "cell of a later key", "cells of later keys")
                                : counted(count, "cell");
  const char* them = count == 1 ? "it" : "them";
  return {{&lint_rule(FindingId::kHeadsEntries),
           fmt::format("head {} shows {} in batch entry {} and hides {} in entry {}, where head {} "
                       "sees {}; the first is query {}, key {}",
                       found->head, cells, found->shows, them, found->hides, found->other, them,
                       first.query, first.key),
           {found->hides, found->head, first.query, first.key, {}, {}},
           count}};
}

}  // namespace maskctl
