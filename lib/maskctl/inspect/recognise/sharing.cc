#include "maskctl/inspect/recognise/sharing.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "maskctl/inspect/recognise/description.h"
#include "maskctl/inspect/recognise/fit.h"
#include "maskctl/inspect/recognise/regions.h"
#include "maskctl/inspect/recognise/scopes.h"
#include "maskctl/mask/arrays/nearest.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/pad.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/tree_rows.h"
#include "maskctl/mask/steps/window.h"

namespace maskctl::recognition {
namespace {

constexpr std::size_t kMostPlanes = 32;

/// Describes planes by the chain of another plane and regions that differ, if that makes the
/// description of the mask shorter: the other chain is part of it anyway.
class Borrowing {
 public:
  Borrowing(const Planes& planes, Index batch, Index heads, std::vector<PlaneChain>& found)
      : planes_(planes),
        batch_(batch),
        heads_(heads),
        extent_{planes.distinct.front()->queries(), planes.distinct.front()->keys()},
        description_(extent_),
        found_(found) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      left_.push_back(differing_cells(plane_of(found[i].chain, extent_), planes.distinct[i]));
    }
  }

  void run() {
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const bool has_regions = std::ranges::any_of(
          found_[i].chain, [](const Step& step) { return step.is<step::Region>(); });
      if (left_[i] > 0 || has_regions) take_rule_of_head(i);
    }
    Index length = total();
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (left_[i] > 0 && !found_[i].irregular) length = renumber(i, length);
    }
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (left_[i] > 0 || is_tree(found_[i].chain)) length = recombine(i, length);
    }
    for (const std::size_t borrower : longest_first()) {
      if (lent_.contains(borrower) || has_rule_of_head(borrower)) continue;
      const auto before = std::pair(found_[borrower], left_[borrower]);
      const std::optional<std::size_t> lender = borrow(borrower);
      if (!lender) continue;
      if (const Index with = total(); with < length) {
        length = with;
        borrowed_.insert(borrower);
        lent_.insert(*lender);
      } else {
        std::tie(found_[borrower], left_[borrower]) = before;
      }
    }
  }

 private:
  Index total() const {
    std::vector<Chain> chains;
    for (const PlaneChain& one : found_) chains.push_back(one.chain);
    const Chain all = scoped(std::move(chains), planes_.of, batch_, heads_, extent_);
    Index bits = description_.of(all);
    for (const Index left : left_) {
      if (left > 0) bits += left * description_.cell() + description_.cell() / 2;
    }
    return bits;
  }
  Index length_of(std::size_t i) const {
    return description_.of(found_[i].chain) + left_[i] * description_.cell();
  }
  std::vector<std::size_t> longest_first() const {
    std::vector<std::size_t> order(found_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater<>(),
                             [this](std::size_t i) { return length_of(i); });
    return order;
  }

  static bool is_tree(const Chain& chain) {
    return std::ranges::any_of(chain, [](const Step& step) { return step.is<step::Tree>(); });
  }
  static bool is_of_batch(const Step& step) {
    return step.is<step::Pad>() || step.is<step::Tree>() || documents_in(step).has_value();
  }
  /// The steps of a chain except documents, padding and trees, which belong to a batch entry and
  /// not to a head.
  static Chain of_head(const Chain& chain) {
    Chain out;
    std::ranges::copy_if(chain, std::back_inserter(out), std::not_fn(is_of_batch));
    return out;
  }

  /// The other planes of the heads (or batch entries) that have plane i. Leaves out planes that
  /// their own chains do not make exactly.
  std::set<std::size_t> planes_beside(std::size_t i, bool of_heads) const {
    std::set<std::size_t> out;
    const auto heads = as_size(heads_);
    for (std::size_t at = 0; at < planes_.of.size(); ++at) {
      if (planes_.of[at] != i) continue;
      for (std::size_t other = 0; other < planes_.of.size(); ++other) {
        const bool beside = of_heads ? other % heads == at % heads : other / heads == at / heads;
        const std::size_t plane = planes_.of[other];
        if (beside && plane != i && left_[plane] == 0) out.insert(plane);
      }
    }
    return out;
  }

  /// Gives plane i the steps that its head has in another batch entry, beside its own documents and
  /// padding, if they make it exactly: a window may close one or two cells of short documents only.
  void take_rule_of_head(std::size_t i) {
    for (const std::size_t other : planes_beside(i, true)) {
      Chain chain = joined(found_[other].chain, found_[i].chain);
      if (differing_cells(plane_of(chain, extent_), planes_.distinct[i]) > 0) continue;
      found_[i] = {std::move(chain), false};
      left_[i] = 0;
      return;
    }
  }
  /// The steps of a head from one chain, and then those of a batch entry from another.
  static Chain joined(const Chain& head, const Chain& entry) {
    Chain out = of_head(head);
    std::ranges::copy_if(entry, std::back_inserter(out), is_of_batch);
    return out;
  }

  /// The tree of a plane whose head has a window in another batch entry, by that window.
  std::optional<step::Tree> tree_below(const Chain& head, const Plane& plane) const {
    step::Sight sight;
    for (const Step& step : head) {
      if (const auto* window = step.get_if<step::Window>(); window && !window->is_per_batch()) {
        sight.left = std::min(sight.left, window->left.value_or(kUnbounded));
      }
      if (const auto* sinks = step.get_if<step::Sinks>()) sight.sinks = sinks->n;
    }
    if (!extent_.square() || !is_tree(head) || sight.left == kUnbounded) return std::nullopt;
    const auto read = step::parents_of_rows(plane, sight);
    return read ? step::forking_tree(read->parents) : std::nullopt;
  }

  /// Gives plane i the documents, padding or tree of another head of its batch entry, beside its
  /// own steps or those that its head has in another entry, if that shortens the description of the
  /// mask, which has them anyway: single cells may have hidden them. Returns its length.
  Index recombine(std::size_t i, Index length) {
    constexpr std::size_t kMostTried = 3;
    const std::set<std::size_t> heads = planes_beside(i, true), entries = planes_beside(i, false);
    struct Combined {
      Chain chain;
      Index left = 0;
      std::array<std::size_t, 2> lenders{};
    };
    std::vector<Combined> all;
    const auto consider_chain = [&](Chain chain, std::size_t head, std::size_t entry) {
      const auto is_it = [&](const Combined& one) { return one.chain == chain; };
      if (chain == found_[i].chain || std::ranges::any_of(all, is_it)) return;
      const PlanePtr made = plane_of(chain, extent_);
      if (!made) return;
      const Index left = differing_cells(made, planes_.distinct[i]);
      if (left_[i] == 0 ? left > 0 : 4 * left > planes_.distinct[i]->count()) return;
      all.push_back({std::move(chain), left, {head, entry}});
    };
    const auto consider = [&](std::size_t head, std::size_t entry) {
      consider_chain(joined(found_[head].chain, found_[entry].chain), head, entry);
    };
    for (const std::size_t entry : entries) {
      consider(i, entry);
      for (const std::size_t head : heads) consider(head, entry);
    }
    for (const std::size_t head : heads) {
      consider(head, i);
      if (auto tree = tree_below(found_[head].chain, *planes_.distinct[i])) {
        Chain chain = of_head(found_[head].chain);
        chain.push_back({*std::move(tree)});
        consider_chain(std::move(chain), head, i);
      }
    }
    std::ranges::stable_sort(all, {}, &Combined::left);
    for (const Combined& one : std::span(all).first(std::min(all.size(), kMostTried))) {
      const auto before = std::pair(found_[i], left_[i]);
      std::tie(found_[i], left_[i]) = std::pair(PlaneChain{one.chain, false}, one.left);
      if (const Index with = total(); with < length) {
        for (const std::size_t lender : one.lenders) {
          if (lender != i) lent_.insert(lender);
        }
        return with;
      }
      std::tie(found_[i], left_[i]) = before;
    }
    return length;
  }
  /// Whether the chain of plane i makes it exactly, by steps that its head has in another batch
  /// entry too.
  bool has_rule_of_head(std::size_t i) const {
    if (left_[i] > 0) return false;
    return std::ranges::any_of(planes_beside(i, true), [&](std::size_t other) {
      return of_head(found_[other].chain) == of_head(found_[i].chain);
    });
  }

  /// Tries to give plane i the steps of another plane with other numbers: such numbers cost little
  /// in a list of one per batch. Accepts only exact chains. Returns the new length of the
  /// description.
  Index renumber(std::size_t i, Index length) {
    constexpr Index kTrials = 200;
    ChainTrials tried(planes_.distinct[i]);
    const Fit fit{tried,
                  [this](const Fitted& one) { return description_.of(one.chain); },
                  {},
                  std::min(kTrials, affordable_trials(*planes_.distinct[i]))};
    for (std::size_t other = 0; other < found_.size(); ++other) {
      if (left_[other] > 0) continue;
      std::vector<Fitted> varied = fitted(fit, found_[other].chain);
      const auto exact = std::ranges::find(varied, 0, &Fitted::residue);
      if (exact == varied.end()) continue;
      const auto before = std::pair(found_[i], left_[i]);
      std::tie(found_[i], left_[i]) = std::pair(PlaneChain{exact->chain, false}, Index{0});
      if (const Index with = total(); with < length) return with;
      std::tie(found_[i], left_[i]) = before;
    }
    return length;
  }

  /// Gives plane `borrower` the chain of the other plane that leaves the least to describe,
  /// followed by the regions in which the two differ. Returns the other plane, whose own chain must
  /// then stay as it is.
  std::optional<std::size_t> borrow(std::size_t borrower) {
    std::optional<std::size_t> lender;
    Index best = 0;
    const PlanePtr& plane = planes_.distinct[borrower];
    const std::size_t steps = left_[borrower] == 0 ? found_[borrower].chain.size() : kMostPlanes;
    for (std::size_t other = 0; other < found_.size(); ++other) {
      if (other == borrower || borrowed_.contains(other) || found_[other].irregular) continue;
      const Chain& chain = found_[other].chain;
      const Regions regions = regions_between(plane_of(chain, extent_), plane);
      const Index length = regions.bits + regions.residue * description_.cell();
      // A window that hides hardly anything in one head leaves no odd cells in another.
      if (length > 0 && steps < chain.size()) continue;
      if ((lender && length >= best) || regions.chain.size() > kMostRegions) continue;
      best = length;
      lender = other;
      found_[borrower] = {chain, false};
      Chain& own = found_[borrower].chain;
      own.insert(own.end(), regions.chain.begin(), regions.chain.end());
      left_[borrower] = regions.residue;
    }
    return lender;
  }

  const Planes& planes_;
  Index batch_, heads_;
  Extent extent_;
  Description description_;
  std::vector<PlaneChain>& found_;
  std::vector<Index> left_;  // per plane, the cells that its chain gets wrong
  std::set<std::size_t> lent_, borrowed_;
};

/// Gives all planes the band (causal or window step) of one plane if it changes nothing in the
/// others, so that it is described once.
void share_band(const std::vector<PlanePtr>& planes, std::vector<PlaneChain>& found) {
  const Extent extent{planes.front()->queries(), planes.front()->keys()};
  const auto band_at = [](const Chain& chain) {
    return std::ranges::find_if(chain, keeps_diagonals);
  };
  const auto with = [&](Chain chain, const Step& band) {
    auto at = band_at(chain);
    if (at == chain.end()) {
      at = std::ranges::find_if(chain, [](const Step& step) { return step.is<step::Region>(); });
      chain.insert(at, band);
    } else {
      chain[static_cast<std::size_t>(at - chain.begin())] = band;
    }
    return chain;
  };
  for (const PlaneChain& giver : std::vector<PlaneChain>(found)) {
    const auto band = band_at(giver.chain);
    if (band == giver.chain.end()) continue;
    std::vector<PlaneChain> shared = found;
    const bool fits = std::ranges::all_of(shared, [&](PlaneChain& one) {
      Chain chain = with(one.chain, *band);
      const bool same = chain == one.chain ||
                        differing_cells(plane_of(chain, extent), plane_of(one.chain, extent)) == 0;
      one.chain = std::move(chain);
      return same;
    });
    if (!fits) continue;
    found = std::move(shared);
    return;
  }
}

}  // namespace

void share(const Planes& planes, Index batch, Index heads, std::vector<PlaneChain>& found) {
  if (planes.distinct.size() < 2 || planes.distinct.size() > kMostPlanes) return;
  const Plane& first = *planes.distinct.front();
  if (first.queries() * first.keys() > kSearchedCells) return;
  share_band(planes.distinct, found);
  Borrowing(planes, batch, heads, found).run();
  share_band(planes.distinct, found);
}

}  // namespace maskctl::recognition
