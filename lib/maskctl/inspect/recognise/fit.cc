#include "maskctl/inspect/recognise/fit.h"

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/inspect/diff/change.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/edges.h"
#include "maskctl/inspect/recognise/ragged.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/block.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/dilated.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/global.h"
#include "maskctl/mask/steps/not.h"
#include "maskctl/mask/steps/pad.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/mask/steps/within.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::recognition {
namespace {

constexpr std::size_t kEdges = 6, kWidth = 3;
constexpr int kMostEdits = 8;
constexpr Index kLongArray = 1 << 15;
constexpr Index kLeastWeight = 16, kWeightOfATrial = 1 << 11;  // in the unit of weight_of()

bool opens(const Step& step) {
  return step.is<step::Prefix>() || step.is<step::Sinks>() || step.is<step::Global>();
}

NamedArray one_number(Index value) {
  NamedArray out{Tensor(DType::kInt64, {1}), ""};
  out.array.as<std::int64_t>().front() = value;
  return out;
}

void join(std::vector<Index>& values, const std::vector<Index>& more) {
  for (const Index value : more) {
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
  }
}

/// Finds variations of one step: its numbers are moved by a little, or to edges of the plane, which
/// are the keys and diagonals at which runs of open keys begin or end.
class Forms {
 public:
  Forms(const Extent& extent, const Edges& edges) : extent_(extent), edges_(edges) {}

  std::vector<Step> of(const Step& step) {
    out_.clear();
    if (const auto limits = limits_of(step, extent_.keys - extent_.queries)) {
      add(*limits);
    } else {
      // Steps of other rules are left as they are.
      visit_rule<step::Chunk, step::DocumentLengths, step::Pad, step::Dilated, step::Prefix,
                 step::Sinks, step::Global, step::Block>(step,
                                                         [this](const auto& rule) { add(rule); });
    }
    return std::move(out_);
  }

  /// Returns steps that the chain may lack, with numbers at edges of the plane (keys and diagonals
  /// at which runs of open keys begin or end); those at the most frequent edges come first.
  std::vector<Step> new_steps() {
    out_.clear();
    for (std::size_t i = 0; i < std::max(edges_.keys.size(), edges_.diagonals.size()); ++i) {
      if (i < edges_.keys.size()) add_at_key(edges_.keys[i]);
      if (i < edges_.diagonals.size()) {
        out_.push_back(causal(extent_, edges_.diagonals[i] - 1));
        out_.push_back(window(extent_, edges_.diagonals[i], std::nullopt));
      }
    }
    out_.push_back({step::Not{}});
    return std::move(out_);
  }

 private:
  void add_at_key(Index edge) {
    if (edge <= 0 || edge >= extent_.keys) return;
    out_.push_back({step::Prefix{edge}});
    add_chunk(edge, 0);
    for (const bool both : {false, true}) {
      if (both && !extent_.square()) continue;
      out_.push_back(pad(edge, false, both));
      out_.push_back(pad(extent_.keys - edge, true, both));
    }
    if (extent_.square()) out_.push_back({step::DocumentLengths{{edge, extent_.keys - edge}}});
    const Index next = next_edge(edge);
    if (next <= extent_.keys) out_.push_back({step::Global{{{edge, next}}}});
  }

  /// The next higher key at which runs of open keys begin or end; K + 1 if there is none.
  Index next_edge(Index edge) const {
    Index next = extent_.keys + 1;
    for (const Index other : edges_.keys) {
      if (other > edge) next = std::min(next, other);
    }
    return next;
  }

  void add_band(std::optional<Index> low, std::optional<Index> high, bool is_causal) {
    if (low && high && *low > *high) return;
    out_.push_back(is_causal ? causal(extent_, *high) : window(extent_, low, high));
  }

  void add(const Limits& limits) {
    const Index shift = extent_.keys - extent_.queries;
    const auto moved = [](const std::optional<Index>& side, Index by) {
      return side ? std::optional(*side + by) : std::nullopt;
    };
    std::vector<Index> moves{shift, -shift, 1, -1};
    for (const Index edge : edges_.diagonals) {
      if (limits.low) {
        add_band(edge, limits.high, false);
        join(moves, {edge - *limits.low});
      }
      if (limits.high) {
        add_band(limits.low, edge - 1, limits.causal);
        join(moves, {edge - 1 - *limits.high});
      }
    }
    for (const Index by : moves) {
      if (by != 0) add_band(moved(limits.low, by), moved(limits.high, by), limits.causal);
    }
    if (limits.low && limits.high) {
      for (const Index low : edges_.diagonals) {
        for (const Index high : edges_.diagonals) add_band(low, high - 1, false);
      }
      add_band(limits.low, std::nullopt, false);
      add_band(std::nullopt, limits.high, false);
    }
  }

  /// Skips sizes that make so many chunks that applying the step would take too long.
  void add_chunk(Index size, Index offset) {
    constexpr Index kMostChunks = 1 << 13;
    if (size > 0 && extent_.keys / size <= kMostChunks) out_.push_back({step::Chunk{size, offset}});
  }
  void add(const step::Chunk& rule) {
    if (!rule.sizes.empty() || !rule.offsets.empty()) return;
    std::vector<Index> sizes{rule.size + 1, rule.size - 1, rule.size * 2, rule.size / 2};
    std::vector<Index> offsets{0, rule.offset + 1, rule.offset - 1, -rule.offset};
    for (const Index a : edges_.keys) {
      join(sizes, {a});
      for (const Index b : edges_.keys) join(sizes, {b - a});
    }
    for (const Index edge : edges_.diagonals) {
      join(offsets, {edge, rule.offset + edge % rule.size});
    }
    for (const Index size : sizes) {
      if (size != rule.size) add_chunk(size, rule.offset);
    }
    for (const Index offset : offsets) {
      if (offset != rule.offset) out_.push_back({step::Chunk{rule.size, offset}});
    }
    for (const Index edge : edges_.keys) {
      const Index origin = edge % rule.size;
      if (origin != 0) {
        out_.push_back({step::Chunk{rule.size, rule.offset, rule.align, one_number(origin)}});
      }
    }
  }

  void add(const step::DocumentLengths& rule) {
    std::vector<Index> borders{0};
    for (const Index length : rule.lengths) borders.push_back(borders.back() + length);
    for (std::size_t i = 1; i < borders.size(); ++i) {
      for (const Index edge : edges_.keys) {
        if (edge > borders[i - 1] && edge < borders[i]) add_borders(borders, i, {edge}, false);
        const Index past = i + 1 < borders.size() ? borders[i + 1] : extent_.keys + 1;
        if (edge > borders[i - 1] && edge < past) add_borders(borders, i, {edge}, true);
      }
      if (near(borders[i])) add_borders(borders, i, {}, true);
    }
    add_tails(rule);
  }
  void add_borders(std::vector<Index> borders, std::size_t i, const std::vector<Index>& in,
                   bool replace) {
    const auto at = borders.begin() + static_cast<std::ptrdiff_t>(i);
    const auto begin = replace ? borders.erase(at) : at;
    borders.insert(begin, in.begin(), in.end());
    step::DocumentLengths rule;
    for (std::size_t j = 1; j < borders.size(); ++j) {
      rule.lengths.push_back(borders[j] - borders[j - 1]);
    }
    out_.push_back({std::move(rule)});
  }
  /// Adds the documents with one of them a token longer or shorter, or removed; all later ones
  /// move.
  void add_tails(const step::DocumentLengths& rule) {
    constexpr std::size_t kMostDocuments = 24;
    if (rule.lengths.size() > kMostDocuments) return;
    for (std::size_t i = 0; i < rule.lengths.size(); ++i) {
      step::DocumentLengths copy = rule;
      copy.lengths.erase(copy.lengths.begin() + static_cast<std::ptrdiff_t>(i));
      out_.push_back({copy});
      for (const Index by : {Index{1}, Index{-1}}) {
        copy = rule;
        copy.lengths[i] += by;
        if (copy.lengths[i] > 0) out_.push_back({copy});
      }
    }
  }
  /// True if runs of open keys begin or end at the border between two documents.
  bool near(Index border) const {
    return std::ranges::find(edges_.keys, border) != edges_.keys.end();
  }

  void add(const step::Pad& rule) {
    if (!rule.is_lengths || rule.valid.array.elements() != 1) return;
    const Index length = as_int64(rule.valid.array, "lengths").front();
    std::vector<Index> lengths{length};
    for (const Index edge : edges_.keys) join(lengths, {rule.left ? extent_.keys - edge : edge});
    for (const Index other : lengths) {
      for (const bool left : {false, true}) {
        for (const bool both : {false, true}) {
          if (both && !extent_.square()) continue;
          if (other == length && left == rule.left && both == rule.both) continue;
          step::Pad copy = rule;
          copy.valid = one_number(other);
          copy.left = left;
          copy.both = both;
          if (other >= 0 && other <= extent_.keys) out_.push_back({std::move(copy)});
        }
      }
    }
  }
  void add(const step::Dilated& rule) {
    if (!rule.strides.empty()) return;
    for (const Index by : {Index{1}, Index{-1}}) out_.push_back({step::Dilated{rule.stride + by}});
  }
  template <typename Rule>
  void add_first_keys(const Rule& rule) {
    std::vector<Index> counts{rule.n + 1, rule.n - 1};
    join(counts, edges_.keys);
    for (const Index n : counts) {
      if (n > 0 && n <= extent_.keys && n != rule.n) out_.push_back({Rule{n}});
    }
  }
  void add(const step::Prefix& rule) { add_first_keys(rule); }
  void add(const step::Sinks& rule) { add_first_keys(rule); }
  void add(const step::Global& rule) {
    const auto with = [&](std::size_t i, const std::vector<Range>& ranges) {
      step::Global copy = rule;
      const auto at = copy.tokens.begin() + static_cast<std::ptrdiff_t>(i);
      if (i < copy.tokens.size()) copy.tokens.erase(at);
      copy.tokens.insert(copy.tokens.begin() + static_cast<std::ptrdiff_t>(i), ranges.begin(),
                         ranges.end());
      std::ranges::sort(copy.tokens, {}, &Range::begin);
      if (!copy.tokens.empty()) out_.push_back({std::move(copy)});
    };
    const Index last = std::max(extent_.queries, extent_.keys);
    for (std::size_t i = 0; i < rule.tokens.size(); ++i) {
      const Range range = rule.tokens[i];
      with(i, {});
      for (const Index edge : edges_.keys) {
        const Index by = edge - range.begin;
        if (edge < range.end) with(i, {{edge, range.end}});
        if (edge > range.begin) with(i, {{range.begin, edge}});
        if (range.end + by <= last) with(i, {{edge, range.end + by}});
        if (edge > range.begin + 1 && edge < range.end) {
          with(i, {{range.begin, edge - 1}, {edge, range.end}});
        }
      }
    }
    for (const Index begin : edges_.keys) {
      for (const Index end : edges_.keys) {
        if (begin < end && end <= last) with(rule.tokens.size(), {{begin, end}});
      }
    }
  }
  void add(const step::Block& rule) {
    for (const Index by : {Index{1}, Index{-1}}) {
      step::Block copy = rule;
      copy.q_size += by;
      out_.push_back({copy});
      copy = rule;
      copy.k_size += by;
      out_.push_back({copy});
      copy.q_size += by;
      out_.push_back({copy});
    }
  }

  Extent extent_;
  Edges edges_;
  std::vector<Step> out_;
};

class FitSearch {
 public:
  FitSearch(const Fit& fit)
      : fit_(fit),
        extent_{fit.target->queries(), fit.target->keys()},
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
    if (!measure(first)) return {};
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

  bool measure(Fitted& one) {
    --left_;
    const PlanePtr plane = plane_of(one.chain, extent_);
    if (!plane) return false;
    left_ -= (kLeastWeight + weight_of(*plane)) / kWeightOfATrial;
    one.residue = differing_cells(plane, fit_.target);
    one.bits = fit_.bits(one);
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
    const PlanePtr plane = plane_of(state.chain, extent_);
    Edges edges = edges_of(*combine(Op::kXor, plane, fit_.target), kEdges);
    const Edges whole = edges_of(*fit_.target, kEdges);
    join(edges.diagonals, whole.diagonals);
    join(edges.keys, whole.keys);
    Forms forms(extent_, edges);
    for (std::size_t i = 0; i < state.chain.size(); ++i) {
      for (Step& step : forms.of(state.chain[i])) replace(state, i, std::move(step));
      if (const auto* rule = state.chain[i].get_if<step::Within>()) bend(state, i, *rule);
      take_over(state, i);
    }
    for (const Step& step : hints_) insert(state, step);
    const bool bent = !next_.empty();
    for (std::size_t i = 0; i < state.chain.size(); ++i) remove(state, i);
    if (bent) return;  // one of these variations helps, so no new steps are tried
    for (const Step& step : forms.new_steps()) insert(state, step);
  }

  /// Tries other steps inside the documents: the same with the other alignment, and bands that the
  /// plane shows.
  void bend(const Fitted& state, std::size_t i, step::Within rule) {
    std::vector<Chain> insides = bands_inside(*fit_.target, rule);
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
    consider(std::move(next));
  }
  void remove(const Fitted& state, std::size_t i) {
    if (left_ <= 0) return;
    Fitted next{state.chain, state.from, 0, 0};
    next.chain.erase(next.chain.begin() + static_cast<std::ptrdiff_t>(i));
    next.from.erase(next.from.begin() + static_cast<std::ptrdiff_t>(i));
    consider(std::move(next));
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
      consider(std::move(next));
    }
  }

  void consider(Fitted next) {
    if (next.chain == parent_->chain) return;
    next.bits = fit_.bits(next);
    if (next.bits >= length(*parent_)) return;
    if (measure(next) && length(next) < length(*parent_)) next_.push_back(std::move(next));
  }

  const Fit& fit_;
  Extent extent_;
  Description description_;
  Index left_;
  Chain hints_;  // the steps of all Fit::hints
  const Fitted* parent_ = nullptr;
  std::vector<Fitted> next_, found_;
};

}  // namespace

std::vector<Fitted> fitted(const Fit& fit, const Chain& start) { return FitSearch(fit).run(start); }

PlanePtr plane_of(const Chain& chain, const Extent& extent) {
  try {
    const Mask full(full_plane(extent.queries, extent.keys));
    return maskctl::apply(full, chain).plane(0, 0);
  } catch (const Error& error) {
    if (error.code() == Errc::kCancelled) throw;  // not because the chain does not fit
    return nullptr;
  }
}

Index affordable_trials(const Plane& plane) {
  constexpr Index kLargeCells = Index{1} << 24;
  const Index work = Index{1} << (plane.queries() * plane.keys() > kLargeCells ? 20 : 22);
  return std::clamp<Index>(work / (kLeastWeight + weight_of(plane)), 12, 2000);
}

}  // namespace maskctl::recognition
