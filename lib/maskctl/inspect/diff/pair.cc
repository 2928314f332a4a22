// A is described by its rule. B is described from A in each of these ways: with numbers of the rule
// moved and steps added or removed; with rows, columns and rectangles opened or closed; by a rule
// on top of A, whatever A is; and cell by cell for the rest. The shortest description is the cause.
#include "maskctl/inspect/diff/pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "maskctl/base/ranges.h"
#include "maskctl/inspect/diff/change.h"
#include "maskctl/inspect/diff/own_documents.h"
#include "maskctl/inspect/diff/reading.h"
#include "maskctl/inspect/diff/step_changes.h"
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

  PairCause run(const Recognised& a_is, Recognised b_is) {
    b_is.chain = with_numbers_of(a_is.chain, std::move(b_is.chain), extent_);
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
    if (searchable && !large) {
      by_merged_documents(a_is, b_, false);
      by_merged_documents(b_is, a_, true);
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
  /// unless a shorter one is known, or few cells differ: the chain of the other plane would explain
  /// nothing.
  void by_whole_plane(const Recognised& b_is) {
    const Index length = description_.number() / 2 + 1;
    if (length >= best_length_) return;
    if (is_uniform(*b_)) {
      const Step all = every_cell(*b_);
      best_ = {{"region", region_words_of(all)}, {all}, std::nullopt};
    } else if (is_uniform(*a_) && found_.only_a + found_.only_b > kFewCells && !b_is.irregular &&
               b_is.chain.size() > 1) {
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

  /// Documents that are one in the other plane, where that has a shorter description of its own.
  void by_merged_documents(const Recognised& from_is, const PlanePtr& target, bool reversed) {
    if (from_is.irregular) return;
    for (Chain& merged : with_merged_documents(from_is.chain)) {
      const PlanePtr made = plane_of(merged, extent_);
      if (!made) continue;  // a list has one number for each document
      const Index left = differing_cells(made, target);
      std::vector<Index> from(merged.size());
      std::iota(from.begin(), from.end(), Index{0});
      by_chains(from_is.chain, {std::move(merged), std::move(from), 0, left}, from_is.residue.cells,
                {}, reversed);
    }
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
      one.chain = with_numbers_of(from_is.chain, std::move(one.chain), extent_);
      const Regions regions = regions_between(plane_of(one.chain, extent_), target);
      by_chains(from_is.chain, one, from_is.residue.cells, regions, reversed);
    }
  }

  /// Takes these chains as the reason if that is the shortest so far. `b` is derived from `a`; with
  /// `reversed`, `a` is the chain of B.
  void by_chains(const Chain& a, const Fitted& b, Index residue_a, const Regions& regions = {},
                 bool reversed = false) {
    std::vector<StepChange> changes = changes_of(a, b, reversed);
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
    Bent bent{a, b, regions.chain, reversed};
    if (!reads_true(bent)) return;
    best_length_ = length;
    bent_ = std::move(bent);
  }

  static std::vector<StepChange> changes_of(const Chain& straight, const Fitted& bent,
                                            bool reversed) {
    std::vector<StepChange> out = changes_between(straight, bent);
    for (StepChange& change : out) {
      if (reversed) std::swap(change.a, change.b);
    }
    return with_replaced(std::move(out), reversed ? bent.chain : straight,
                         reversed ? straight : bent.chain);
  }
  /// The chains of A and of B, in this order, the regions among them.
  static std::pair<Chain, Chain> chains_of(const Bent& bent) {
    Chain other = bent.bent.chain;
    other.insert(other.end(), bent.regions.begin(), bent.regions.end());
    return bent.reversed ? std::pair(std::move(other), bent.straight)
                         : std::pair(bent.straight, std::move(other));
  }
  /// How a step reads that only A has (`missing`), or only B.
  Reading reading(const std::pair<Chain, Chain>& chains, const Step& step, bool missing) const {
    const Chain& chain = missing ? chains.first : chains.second;
    const auto at = std::ranges::find(chain, step);
    return reading_of({chain, static_cast<std::size_t>(at - chain.begin()), missing}, a_, b_);
  }
  /// Whether what is said of each step that is added or missing is true as it reads.
  bool reads_true(const Bent& bent) const {
    const std::pair chains = chains_of(bent);
    if (positions_change(chains.first, chains.second)) return true;
    if (idle_in_one(chains.first, chains.second, extent_.queries, extent_.keys)) return false;
    for (const StepChange& change : changes_of(bent.straight, bent.bent, bent.reversed)) {
      if (change.a && change.b) continue;
      if (!reading(chains, change.a ? *change.a : *change.b, change.a != nullptr).is_true) {
        return false;
      }
    }
    return std::ranges::all_of(bent.regions, [&](const Step& region) {
      if (bent.reversed && is_opposite(region, bent.straight)) return true;
      return reading(chains, region, bent.reversed).is_true;
    });
  }

  /// Stores the two chains, and words for what differs between them, next to the edit.
  void tell(const Bent& bent) {
    std::vector<StepChange> changes = changes_of(bent.straight, bent.bent, bent.reversed);
    std::pair chains = chains_of(bent);
    if (changes.size() + bent.regions.size() > kFewChanges) {
      const Index left = differing_cells(plane_of(chains.first, extent_), a_) +
                         differing_cells(plane_of(chains.second, extent_), b_);
      // These steps were fitted to the cells, and still leave too many of them wrong.
      if (left > kFewCells && left * kMostShare > found_.only_a + found_.only_b) return;
    }
    for (StepChange& change : changes) {
      if (change.a && change.b) continue;
      change.before = reading(chains, change.a ? *change.a : *change.b, change.a != nullptr).before;
    }
    Wording wording{kind_of(changes, !bent.regions.empty()), words_of(changes, {})};
    const Chain &in_a = bent.reversed ? bent.bent.chain : bent.straight,
                &in_b = bent.reversed ? bent.straight : bent.bent.chain;
    if (const auto moved = positions_change(in_a, in_b)) wording = {moved->kind, moved->words};
    for (const Step& region : bent.regions) {
      add_words(wording.words, bent.reversed ? words_of_missing(region, bent.straight)
                                             : step_words(region, shift()));
    }
    best_.chains = ChainPair{std::move(wording), std::move(chains.first), std::move(chains.second)};
  }

  static Step opposite_of(Step region) {
    auto& rule = region.as<step::Region>();
    rule.open = !rule.open;
    return region;
  }
  /// Whether no cell of a region has the region's own state in what the chain makes.
  bool is_opposite(const Step& region, const Chain& chain) const {
    const PlanePtr made = plane_of(chain, extent_);
    return differing_cells(maskctl::apply(Mask(made), opposite_of(region)).plane(0, 0), made) == 0;
  }
  /// Words for a region that only A has: B, which the chain makes, has the opposite state there, or
  /// lacks the region.
  std::string words_of_missing(const Step& region, const Chain& chain) const {
    return is_opposite(region, chain) ? step_words(opposite_of(region), shift())
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
      if (are_comparable(*change.a, *change.b)) {
        return step_change(*change.a, *change.b, extent_.queries, extent_.keys);
      }
      return {"step",
              fmt::format("{} instead of {}", step_words(*change.b, shift()),
                          step_words(*change.a, shift())),
              1};
    }
    const Step& step = change.a ? *change.a : *change.b;
    if (step.is<step::Region>()) {
      return {"region", change.a ? words_of_lacking(step) : region_words_of(step), 1};
    }
    std::string words = change.a ? missing_words(step, shift()) : added_words(step, shift());
    if (change.before) words += " before " + step_words(*change.before, shift());
    return {"step", std::move(words), 1};
  }

  /// The bits of these changes; a changed number costs its new value and its position.
  Index bits_of(const std::vector<StepChange>& changes, bool swapped) const {
    Index bits = 0;
    for (const StepChange& given : changes) {
      const StepChange change = swapped ? StepChange{given.b, given.a} : given;
      if (change.a && change.b && are_comparable(*change.a, *change.b)) {
        const Index moved = moved_numbers(*change.a, *change.b, extent_.queries, extent_.keys) *
                            (description_.number() + 2);
        bits += std::min(moved, description_.of(*change.b) + 2);
      } else {
        // A removed step costs only the bits of its position.
        if (change.b) bits += 2 + description_.of(*change.b);
        if (change.a) bits += description_.number() / 2;
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
