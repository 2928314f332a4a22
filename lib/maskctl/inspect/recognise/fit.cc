#include "maskctl/inspect/recognise/fit.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/inspect/diff/change.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/edges.h"
#include "maskctl/inspect/recognise/forms.h"
#include "maskctl/inspect/recognise/ragged.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/global.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/mask/steps/within.h"

namespace maskctl::recognition {
namespace {

constexpr std::size_t kEdges = 6, kWidth = 3;
constexpr int kMostEdits = 8;
constexpr Index kLongArray = 1 << 15;
constexpr Index kLeastWeight = 16, kWeightOfATrial = 1 << 11;  // in the unit of weight_of()

bool opens(const Step& step) {
  return step.is<step::Prefix>() || step.is<step::Sinks>() || step.is<step::Global>();
}

class FitSearch {
 public:
  FitSearch(const Fit& fit)
      : fit_(fit),
        target_(*fit.tried.target()),
        extent_{target_.queries(), target_.keys()},
        description_(extent_),
        left_(fit.trials) {
    for (const Chain& hint : fit.hints) {
      for (const Step& step : hint) {
        if (!is_bulky({step})) hints_.push_back(step);
      }
    }
  }

  std::vector<Fitted> run(const Chain& start) {
    if (is_bulky(start)) left_ = 1;  // a chain of very long arrays is measured but not varied
    Fitted first{start, {}, 0, 0};
    for (std::size_t i = 0; i < start.size(); ++i) first.from.push_back(static_cast<Index>(i));
    first.bits = fit_.bits(first);
    if (!measure(first, [&] { return plane_of(start, extent_); })) return {};
    found_.push_back(first);
    std::vector<Fitted> states{first};
    for (int edits = 0; edits < kMostEdits && !states.empty() && left_ > 0; ++edits) {
      states = edited(states);
      found_.insert(found_.end(), states.begin(), states.end());
    }
    std::ranges::stable_sort(found_, {}, [this](const Fitted& one) { return length(one); });
    return std::move(found_);
  }

 private:
  /// True if the chain has arrays so long that applying it is costly.
  bool is_bulky(const Chain& chain) const {
    return std::max(extent_.queries, extent_.keys) > kLongArray && has_arrays(chain);
  }
  Index length(const Fitted& one) const { return one.bits + one.residue * description_.cell(); }

  /// Counts the residue of a chain with its bits; false if a step does not fit.
  bool measure(Fitted& one, const std::function<PlanePtr()>& made) {
    --left_;
    const ChainTrials::Trial trial = fit_.tried.of(one.chain, one.bits, made);
    if (trial.residue < 0) return false;
    left_ -= (kLeastWeight + trial.weight) / kWeightOfATrial;
    one.residue = trial.residue;
    return true;
  }

  std::vector<Fitted> edited(const std::vector<Fitted>& states) {
    std::vector<Fitted> better;
    for (const Fitted& state : states) {
      if (state.residue == 0) continue;
      parent_ = &state;
      next_.clear();
      edit(state);
      std::ranges::move(next_, std::back_inserter(better));
    }
    std::ranges::stable_sort(better, {}, [this](const Fitted& one) { return length(one); });
    std::vector<Fitted> kept;
    for (Fitted& one : better) {
      const bool is_new =
          std::ranges::none_of(kept, [&](const Fitted& other) { return other.chain == one.chain; });
      if (is_new) kept.push_back(std::move(one));
      if (kept.size() == kWidth) break;
    }
    return kept;
  }

  void edit(const Fitted& state) {
    made_ = {Mask(full_plane(extent_.queries, extent_.keys))};
    for (const Step& step : state.chain) made_.push_back(maskctl::apply(made_.back(), step));
    const PlanePtr plane = made_.back().plane(0, 0);
    Edges edges = edges_of(*combine(Op::kXor, plane, fit_.tried.target()), kEdges);
    const Edges whole = edges_of(target_, kEdges);
    for (const auto& [to, from] :
         {std::pair(&edges.diagonals, &whole.diagonals), std::pair(&edges.keys, &whole.keys)}) {
      std::ranges::copy_if(*from, std::back_inserter(*to),
                           [to](Index edge) { return std::ranges::find(*to, edge) == to->end(); });
    }
    for (std::size_t i = 0; i < state.chain.size(); ++i) {
      for (Step& step : forms_of(state.chain[i], extent_, edges))
        replace(state, i, std::move(step));
      if (const auto* rule = state.chain[i].get_if<step::Within>()) bend(state, i, *rule);
      take_over(state, i);
    }
    for (const Step& step : hints_) insert(state, step);
    const bool bent = !next_.empty();
    for (std::size_t i = 0; i < state.chain.size(); ++i) remove(state, i);
    if (bent) return;  // one of these variations helps, so no new steps are tried
    for (const Step& step : new_steps(extent_, edges)) insert(state, step);
  }

  /// Tries other steps inside the documents: the same with the other alignment, and bands that the
  /// plane shows.
  void bend(const Fitted& state, std::size_t i, step::Within rule) {
    std::vector<Chain> insides = bands_inside(target_, rule);
    insides.push_back(realigned(rule.chain));
    for (Chain& inside : insides) {
      rule.chain = std::move(inside);
      replace(state, i, {rule});
    }
  }
  static Chain realigned(Chain chain) {
    const auto exchange = [](Align& align) {
      if (align == Align::kUnset) return;
      align = align == Align::kTopLeft ? Align::kBottomRight : Align::kTopLeft;
    };
    for (Step& step : chain) {
      if (auto* causal = step.get_if<step::Causal>()) exchange(causal->align);
      if (auto* window = step.get_if<step::Window>()) exchange(window->align);
    }
    return chain;
  }

  void replace(const Fitted& state, std::size_t i, Step step) {
    if (left_ <= 0) return;
    Fitted next{state.chain, state.from, 0, 0};
    next.chain[i] = std::move(step);
    consider(std::move(next), i);
  }
  void remove(const Fitted& state, std::size_t i) {
    if (left_ <= 0) return;
    Fitted next{state.chain, state.from, 0, 0};
    next.chain.erase(next.chain.begin() + static_cast<std::ptrdiff_t>(i));
    next.from.erase(next.from.begin() + static_cast<std::ptrdiff_t>(i));
    consider(std::move(next), i);
  }
  void take_over(const Fitted& state, std::size_t i) {
    for (const Step& step : hints_) {
      if (are_comparable(step, state.chain[i]) && !(step == state.chain[i]))
        replace(state, i, step);
      const auto* own = state.chain[i].get_if<step::Within>();
      const auto* other = step.get_if<step::Within>();
      if (own && other) take_over(state, i, *own, *other);
    }
  }
  /// Tries `own` with only the documents of `other`, and with only the chain inside them.
  void take_over(const Fitted& state, std::size_t i, const step::Within& own,
                 const step::Within& other) {
    step::Within documents = other, inside = own;
    documents.chain = own.chain;
    inside.chain = other.chain;
    if (documents == own || inside == own) return;  // `other` differs in one of the two only
    replace(state, i, {std::move(documents)});
    replace(state, i, {std::move(inside)});
  }
  /// Never inserts a step right after a step of the same kind: closing steps commute, and so do
  /// opening steps, so another position gives the same mask.
  void insert(const Fitted& state, const Step& step) {
    for (std::size_t i = 0; i <= state.chain.size() && left_ > 0; ++i) {
      const bool same_before = i > 0 && opens(state.chain[i - 1]) == opens(step);
      if (same_before) continue;
      Fitted next{state.chain, state.from, 0, 0};
      next.chain.insert(next.chain.begin() + static_cast<std::ptrdiff_t>(i), step);
      next.from.insert(next.from.begin() + static_cast<std::ptrdiff_t>(i), -1);
      consider(std::move(next), i);
    }
  }

  /// `same`: how many of the first steps are the parent's.
  void consider(Fitted next, std::size_t same) {
    if (next.chain == parent_->chain) return;
    next.bits = fit_.bits(next);
    if (next.bits >= length(*parent_)) return;
    const auto made = [&] { return plane_of(made_[same], std::span(next.chain).subspan(same)); };
    if (measure(next, made) && length(next) < length(*parent_)) next_.push_back(std::move(next));
  }

  const Fit& fit_;
  const Plane& target_;
  Extent extent_;
  Description description_;
  Index left_;
  Chain hints_;  // the steps of all Fit::hints
  const Fitted* parent_ = nullptr;
  std::vector<Mask> made_;  // by each number of the parent's first steps
  std::vector<Fitted> next_, found_;
};

}  // namespace

ChainTrials::Trial ChainTrials::of(const Chain& chain, Index bits,
                                   const std::function<PlanePtr()>& made) {
  constexpr Index kSmallCells = Index{1} << 14;
  std::vector<std::pair<Chain, Trial>>& same_bits = known_[bits];
  for (const auto& [known, trial] : same_bits) {
    if (known == chain) return trial;
  }
  Trial out;
  if (const PlanePtr plane = made()) out = {off_(plane), weight_of(*plane)};
  // Arrays of large planes would take too much memory.
  const bool small = target_->queries() * target_->keys() <= kSmallCells;
  if (small || !has_arrays(chain)) same_bits.emplace_back(chain, out);
  return out;
}

std::vector<Fitted> fitted(const Fit& fit, const Chain& start) { return FitSearch(fit).run(start); }

PlanePtr plane_of(const Mask& from, std::span<const Step> chain) {
  try {
    return maskctl::apply(from, chain).plane(0, 0);
  } catch (const Error& error) {
    if (error.code() == Errc::kCancelled) throw;  // not because the chain does not fit
    return nullptr;
  }
}

PlanePtr plane_of(const Chain& chain, const Extent& extent) {
  return plane_of(Mask(full_plane(extent.queries, extent.keys)), chain);
}

Index affordable_trials(const Plane& plane) {
  constexpr Index kLargeCells = Index{1} << 24;
  const Index work = Index{1} << (plane.queries() * plane.keys() > kLargeCells ? 20 : 22);
  return std::clamp<Index>(work / (kLeastWeight + weight_of(plane)), 12, 2000);
}

}  // namespace maskctl::recognition
