// A is described by its rule. B is described from A in each of these ways: with numbers of the rule
// moved and steps added or removed; with rows, columns and rectangles opened or closed; by a rule
// on top of A, whatever A is; and cell by cell for the rest. The shortest description is the cause.
#include "maskctl/inspect/diff/pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "maskctl/base/ranges.h"
#include "maskctl/inspect/diff/change.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/clipped.h"
#include "maskctl/inspect/recognise/fit.h"
#include "maskctl/inspect/recognise/regions.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl {
namespace {

using recognition::Description;
using recognition::Extent;
using recognition::Fit;
using recognition::Fitted;
using recognition::plane_of;

constexpr Index kLargeCells = Index{1} << 24;
/// A cause of more than kFewChanges changes may leave at most kFewCells cells wrong, or one in
/// kMostShare of the cells that differ.
constexpr std::size_t kFewChanges = 2;
constexpr Index kFewCells = 4, kMostShare = 20;

/// What a step of A became in B; null in `b` if the step was removed, in `a` if it was added.
struct StepChange {
  const Step* a = nullptr;
  const Step* b = nullptr;
};

/// The steps that differ between two chains; b.from[j] is the step of `a` from which step j of `b`
/// was made.
std::vector<StepChange> changes_between(const Chain& a, const Fitted& b) {
  std::vector<StepChange> out;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto at = std::ranges::find(b.from, static_cast<Index>(i));
    const Step* now =
        at == b.from.end() ? nullptr : &b.chain[static_cast<std::size_t>(at - b.from.begin())];
    if (!now || !(*now == a[i])) out.push_back({&a[i], now});
  }
  for (std::size_t j = 0; j < b.chain.size(); ++j) {
    if (b.from[j] < 0) out.push_back({nullptr, &b.chain[j]});
  }
  return out;
}

/// For each step of `b`, the step of `a` that it matches; -1 if none does. Equal steps are matched
/// first, then comparable ones.
std::vector<Index> matched(const Chain& a, const Chain& b) {
  std::vector<Index> from(b.size(), -1);
  std::vector<bool> used(a.size());
  const auto match = [&](bool equal) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      for (std::size_t i = 0; i < a.size() && from[j] < 0; ++i) {
        if (used[i] || !(equal ? a[i] == b[j] : are_comparable(a[i], b[j]))) continue;
        from[j] = static_cast<Index>(i);
        used[i] = true;
      }
    }
  };
  match(true);
  match(false);
  return from;
}

/// The chain of one side (`straight`) and that of the other side derived from it (`bent`). With
/// `reversed`, A's chain is derived from B's.
struct Bent {
  Chain straight;
  Fitted bent;
  Chain regions;
  bool reversed = false;
};

class Pair {
 public:
  Pair(const PlanePtr& a, const PlanePtr& b, const PlaneDiff& found)
      : a_(a), b_(b), found_(found), extent_{a->queries(), a->keys()}, description_(extent_) {}

  PairCause run(const Recognised& a_is, const Recognised& b_is) {
    const bool searchable = is_searchable(*a_) && is_searchable(*b_);
    by_edit(searchable);
    if (searchable && a_is.irregular) by_rule_on_top();
    plainest_a_ = description_.of(a_is.chain);
    if (!a_is.irregular && !b_is.irregular) {
      Fitted other{b_is.chain, matched(a_is.chain, b_is.chain), 0, b_is.residue.cells};
      by_chains(a_is.chain, other, a_is.residue.cells);
      by_documents(a_is, b_is);
    }
    // Two chains that give large masks exactly are only compared, as deriving one from the other is
    // slow.
    const bool large = extent_.queries * extent_.keys > kLargeCells;
    const bool known = a_is.residue.cells == 0 && b_is.residue.cells == 0 && bent_;
    if (searchable && !(large && known)) {
      if (!a_is.irregular) by_fit(a_is, b_is.chain, b_, false);
      if (!b_is.irregular) by_fit(b_is, a_is.chain, a_, true);
    }
    by_whole_plane(b_is);
    if (bent_) tell(*bent_);
    best_.length = best_length_;
    return std::move(best_);
  }

 private:
  /// False for large planes not stored as bands, which would take too long to be read often.
  static bool is_searchable(const Plane& plane) {
    constexpr Index kManyCells = Index{1} << 26;
    return slabs_of(plane) || plane.queries() * plane.keys() <= kManyCells;
  }

  Index shift() const { return extent_.keys - extent_.queries; }

  void by_edit(bool searchable) {
    Regions regions;
    regions.residue = found_.only_a + found_.only_b;
    // If cells are open in only one of the planes, they may be a region that was opened or closed;
    // this is tried even for planes that are too large for other searches.
    const bool one_sided =
        (found_.only_a == 0 || found_.only_b == 0) && !a_->has_row_index() && !b_->has_row_index();
    if (searchable || one_sided) regions = regions_between(a_, b_);
    best_length_ = regions.bits + regions.residue * description_.cell();
    const bool many = regions.residue > Index{Residue::kListed};
    best_.wording = {!regions.chain.empty() ? "region"
                     : many                 ? "irregular"
                                            : "cells",
                     words_of({}, regions.chain)};
    best_.edit = regions.chain;
    name_document();
  }

  /// True if all cells of a plane are open, or all closed.
  bool is_uniform(const Plane& plane) const {
    const Index open = plane.count();
    return open == 0 || open == extent_.queries * extent_.keys;
  }
  Step every_cell(const Plane& plane) const {
    return {step::Region{plane.count() > 0, {{0, extent_.queries}}, {}}};
  }

  /// If one plane is all open or all closed, the reason is that all cells were opened or closed,
  /// unless a shorter one is known: the chain of the other plane would explain nothing.
  void by_whole_plane(const Recognised& b_is) {
    const Index length = description_.number() / 2 + 1;
    if (length >= best_length_) return;
    if (is_uniform(*b_)) {
      const Step all = every_cell(*b_);
      best_ = {{"region", region_words_of(all)}, {all}, std::nullopt};
    } else if (is_uniform(*a_) && !b_is.irregular && b_is.chain.size() > 1) {
      Chain chain = b_is.chain;
      chain.push_back(every_cell(*a_));
      bent_ = Bent{b_is.chain, {chain, matched(b_is.chain, chain), 0, 0}, {}, true};
      best_length_ = length;
      return;
    } else {
      return;
    }
    bent_.reset();
    best_length_ = length;
  }
  std::string region_words_of(const Step& step) const {
    const auto& rule = step.as<step::Region>();
    const bool all = rule.k.empty() && rule.q == std::vector<Range>{{0, extent_.queries}};
    return all ? fmt::format("every cell {}", rule.open ? "open" : "closed")
               : step_words(step, shift());
  }

  /// Calls a region of rows (or columns) a document if these tokens see only each other, and no
  /// others see them.
  void name_document() {
    if (best_.edit.size() != 1 || extent_.queries != extent_.keys) return;
    const auto& rule = best_.edit.front().as<step::Region>();
    const auto& lines = rule.k.empty() ? rule.q : rule.k;
    if ((!rule.q.empty() && !rule.k.empty()) || lines.size() != 1) return;
    const Range at = lines.front(), all{0, extent_.queries};
    const Plane &fuller = rule.open ? *b_ : *a_, &other = rule.open ? *a_ : *b_;
    const Index inside = fuller.count(at, at);
    if (rule.open && other.count(at, at) > 0) return;
    if (inside == 0 || fuller.count(at, all) != inside || fuller.count(all, at) != inside) return;
    best_.wording = {"document", fmt::format("the document of {} {}", range_words(at, "token"),
                                             rule.open ? "added" : "missing")};
  }

  /// If B only closes cells of A, tries causal, window and padding steps that close them.
  void by_rule_on_top() {
    const auto span = recognition::diagonals(*b_);
    if (found_.only_b > 0 || !span) return;
    const recognition::Hull hull = recognition::hull_of(*b_);
    Chain steps{recognition::causal(extent_, span->high),
                recognition::window(extent_, span->low, std::nullopt),
                recognition::window(extent_, span->low, span->high),
                recognition::pad(hull.k.end, false, false),
                recognition::pad(extent_.keys - hull.k.begin, true, false)};
    for (Step& step : steps) {
      const PlanePtr kept = plane_of({step}, extent_);
      const Index left = differing_cells(combine(Op::kAnd, a_, kept), b_);
      const Index length = description_.of(step) + left * description_.cell();
      if (length >= best_length_) continue;
      best_length_ = length;
      best_ = {{"step", step_words(step, shift()) + " added"}, {step}, std::nullopt};
    }
  }

  /// Documents with keys that nobody sees can be written in several ways: tries B's chain with the
  /// documents of A.
  void by_documents(const Recognised& a_is, const Recognised& b_is) {
    Chain chain = b_is.chain;
    const auto ragged_in = [](auto& some) {
      return std::ranges::find_if(
          some, [](const Step& step) { return documents_in(step) && chain_of(step); });
    };
    const auto from = ragged_in(a_is.chain);
    const auto to = ragged_in(chain);
    if (from == a_is.chain.end() || to == chain.end()) return;
    const Chain inside = *chain_of(*to);
    *to = *from;
    *info_of(*to).chain(*to) = inside;
    const PlanePtr given = plane_of(chain, extent_);
    if (!given) return;
    Fitted other{chain, matched(a_is.chain, chain), 0, differing_cells(given, b_)};
    by_chains(a_is.chain, other, a_is.residue.cells);
  }

  void by_fit(const Recognised& from_is, const Chain& other, const PlanePtr& target,
              bool reversed) {
    recognition::ChainTrials tried(target);
    const Fit fit{
        tried,
        [&](const Fitted& one) { return bits_of(changes_between(from_is.chain, one), reversed); },
        {other},
        recognition::affordable_trials(*target)};
    constexpr std::size_t kMost = 24;
    std::vector<Fitted> found = recognition::fitted(fit, from_is.chain);
    if (found.size() > kMost) found.resize(kMost);
    for (Fitted& one : found) {
      if (extent_.queries == 1) {
        for (Step& step : one.chain) {
          const auto same = recognition::as_padding(step, extent_.keys);
          if (same && same->size() == 1) step = same->front();
        }
      }
      const Regions regions = regions_between(plane_of(one.chain, extent_), target);
      by_chains(from_is.chain, one, from_is.residue.cells, regions, reversed);
    }
  }

  /// Takes these chains as the reason if that is the shortest so far. `b` is derived from `a`; with
  /// `reversed`, `a` is the chain of B.
  void by_chains(const Chain& a, const Fitted& b, Index residue_a, const Regions& regions = {},
                 bool reversed = false) {
    std::vector<StepChange> changes = changes_between(a, b);
    if (reversed) {
      for (StepChange& change : changes) std::swap(change.a, change.b);
    }
    const Index left = regions.chain.empty() ? b.residue : regions.residue;
    if (changes.empty() && regions.chain.empty()) return;
    // A is given, so if its chain is longer than necessary, the extra bits count as part of the
    // claim. A step that A need not have counts a little more, as it says nothing about A.
    constexpr Index kDetour = 4;
    const Index detour = reversed ? description_.of(b.chain) + regions.bits - plainest_a_
                                  : description_.of(a) - plainest_a_;
    const bool idle_step = detour > 0 && regions.chain.empty();
    const Index length = std::max<Index>(detour, 0) + (idle_step ? kDetour : 0) +
                         bits_of(changes, false) + (reversed ? 0 : regions.bits) +
                         (residue_a + left) * description_.cell();
    if (length >= best_length_) return;
    best_length_ = length;
    bent_ = Bent{a, b, regions.chain, reversed};
  }

  /// Stores the two chains, and words for what differs between them, next to the edit.
  void tell(const Bent& bent) {
    std::vector<StepChange> changes = changes_between(bent.straight, bent.bent);
    if (bent.reversed) {
      for (StepChange& change : changes) std::swap(change.a, change.b);
    }
    Chain other = bent.bent.chain;
    other.insert(other.end(), bent.regions.begin(), bent.regions.end());
    if (changes.size() + bent.regions.size() > kFewChanges) {
      const PlanePtr &own = bent.reversed ? b_ : a_, &derived = bent.reversed ? a_ : b_;
      const Index left = differing_cells(plane_of(bent.straight, extent_), own) +
                         differing_cells(plane_of(other, extent_), derived);
      // These steps were fitted to the cells, and still leave too many of them wrong.
      if (left > kFewCells && left * kMostShare > found_.only_a + found_.only_b) return;
    }
    Wording wording{kind_of(changes, !bent.regions.empty()), words_of(changes, {})};
    const Chain &in_a = bent.reversed ? bent.bent.chain : bent.straight,
                &in_b = bent.reversed ? bent.straight : bent.bent.chain;
    if (const auto moved = positions_change(in_a, in_b)) wording = {moved->kind, moved->words};
    for (const Step& region : bent.regions) {
      add_words(wording.words, bent.reversed ? words_of_missing(region, bent.straight)
                                             : step_words(region, shift()));
    }
    best_.chains = bent.reversed ? ChainPair{std::move(wording), std::move(other), bent.straight}
                                 : ChainPair{std::move(wording), bent.straight, std::move(other)};
  }

  /// Words for a region that only A has. They say that B has the opposite state there, if no cell
  /// of the region has the region's own state in B's chain.
  std::string words_of_missing(const Step& region, const Chain& chain) const {
    Step opposite = region;
    auto& rule = opposite.as<step::Region>();
    rule.open = !rule.open;
    const PlanePtr b = plane_of(chain, extent_);
    const PlanePtr changed = maskctl::apply(Mask(b), opposite).plane(0, 0);
    return differing_cells(changed, b) == 0 ? step_words(opposite, shift())
                                            : words_of_lacking(region);
  }
  /// "opening of queries 0-3, keys 0-3 missing": B's other steps may open some of these cells too.
  std::string words_of_lacking(const Step& region) const {
    return missing_region_words(region_words_of(region), region.as<step::Region>().open);
  }
  static void add_words(std::string& words, const std::string& more) {
    words += (words.empty() ? "" : " and ") + more;
  }

  Reason reason_of(const StepChange& change) const {
    if (change.a && change.b) {
      if (change.a->is<step::Region>() && change.b->is<step::Region>()) {
        return {
            "region",
            fmt::format("{} instead of {}", region_words_of(*change.b), region_words_of(*change.a)),
            1};
      }
      return step_change(*change.a, *change.b, extent_.queries, extent_.keys);
    }
    const Step& step = change.a ? *change.a : *change.b;
    if (step.is<step::Region>()) {
      return {"region", change.a ? words_of_lacking(step) : region_words_of(step), 1};
    }
    return {"step", change.a ? missing_words(step, shift()) : added_words(step, shift()), 1};
  }

  /// The bits of these changes; a changed number costs its new value and its position.
  Index bits_of(const std::vector<StepChange>& changes, bool swapped) const {
    Index bits = 0;
    for (const StepChange& given : changes) {
      const StepChange change = swapped ? StepChange{given.b, given.a} : given;
      if (change.a && change.b) {
        const Index moved = moved_numbers(*change.a, *change.b, extent_.queries, extent_.keys) *
                            (description_.number() + 2);
        bits += std::min(moved, description_.of(*change.b) + 2);
      } else {
        // A removed step costs only the bits of its position.
        bits += change.b ? 2 + description_.of(*change.b) : description_.number() / 2;
      }
    }
    return bits;
  }

  std::string kind_of(const std::vector<StepChange>& changes, bool regions) const {
    std::string kind = regions ? "region" : "";
    for (const StepChange& change : changes) {
      const Reason reason = reason_of(change);
      if (reason.changes == 0) continue;
      kind = kind.empty() || kind == reason.kind ? reason.kind : "other";
    }
    return kind;
  }

  std::string words_of(const std::vector<StepChange>& changes, const Chain& regions) const {
    std::vector<std::string> parts;
    for (const StepChange& change : changes) {
      const Reason reason = reason_of(change);
      if (reason.changes > 0) parts.push_back(reason.words);
    }
    for (const Step& region : regions) parts.push_back(step_words(region, shift()));
    std::string out;
    for (auto part = parts.begin(); part != parts.end(); ++part) {
      if (std::find(parts.begin(), part, *part) != part) continue;
      const auto steps = std::count(part, parts.end(), *part);
      add_words(out, *part + (steps > 1 ? fmt::format(" in {} steps", steps) : ""));
    }
    return out;
  }

  PlanePtr a_, b_;
  PlaneDiff found_;
  Extent extent_;
  Description description_;
  std::optional<Bent> bent_;
  PairCause best_;
  Index best_length_ = -1, plainest_a_ = 0;
};

}  // namespace

PairCause explain_pair(const PlanePtr& a, const PlanePtr& b, const PlaneDiff& found,
                       const Recognised& a_is, const Recognised& b_is) {
  return Pair(a, b, found).run(a_is, b_is);
}

}  // namespace maskctl
