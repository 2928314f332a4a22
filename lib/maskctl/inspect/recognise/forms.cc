#include "maskctl/inspect/recognise/forms.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "maskctl/inspect/diff/change.h"
#include "maskctl/inspect/recognise/steps.h"
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
#include "maskctl/tensor/convert.h"

namespace maskctl::recognition {
namespace {

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
    add_documents(std::move(rule));
  }
  /// A step without documents has no text, so it is left out.
  void add_documents(step::DocumentLengths rule) {
    if (!rule.lengths.empty()) out_.push_back({std::move(rule)});
  }
  /// Adds the documents with one of them a token longer or shorter, or removed; all later ones
  /// move.
  void add_tails(const step::DocumentLengths& rule) {
    constexpr std::size_t kMostDocuments = 24;
    if (rule.lengths.size() > kMostDocuments) return;
    for (std::size_t i = 0; i < rule.lengths.size(); ++i) {
      step::DocumentLengths copy = rule;
      copy.lengths.erase(copy.lengths.begin() + static_cast<std::ptrdiff_t>(i));
      add_documents(copy);
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

}  // namespace

std::vector<Step> forms_of(const Step& step, const Extent& extent, const Edges& edges) {
  return Forms(extent, edges).of(step);
}

std::vector<Step> new_steps(const Extent& extent, const Edges& edges) {
  return Forms(extent, edges).new_steps();
}

}  // namespace maskctl::recognition
