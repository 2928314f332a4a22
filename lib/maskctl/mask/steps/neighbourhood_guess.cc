// Reads the grid, window, dilation, stride and causal dimensions of a neighbourhood off its rows.
#include <optional>
#include <set>

#include "maskctl/mask/steps/neighbourhood.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::step {
namespace {

/// The coordinates that differ among the keys of a row, per dimension of this grid, ascending.
std::vector<std::vector<Index>> seen_in(std::span<const Axis> axes, const SampledRows::Row& row) {
  std::vector<std::set<Index>> sets(axes.size());
  for (const Run& run : row.runs) {
    for (Index key = run.begin; key < run.end; ++key) {
      const auto at = coordinates(axes, key);
      for (std::size_t i = 0; i < axes.size(); ++i) sets[i].insert(at[i]);
    }
  }
  std::vector<std::vector<Index>> out;
  for (const auto& set : sets) out.emplace_back(set.begin(), set.end());
  return out;
}

Index product_of_sizes(const std::vector<std::vector<Index>>& seen) {
  Index out = 1;
  for (const auto& one : seen) out *= std::ssize(one);
  return out;
}

constexpr Index kBeside = 64;  // tokens on either side that are looked at

/// What the tokens on a line through the grid show of one dimension.
struct Shown {
  Index window = 0, dilation = 1;
  bool causal = false;
  std::vector<Index> strides;  // those that are possible
};

/// Nothing where the keys of a token are no steps of one size. `mine` are those of the token at
/// `at`, `beside(other)` those of another.
template <typename Beside>
std::optional<Shown> shown(const Axis& axis, Index at, const std::vector<Index>& mine,
                           const Beside& beside) {
  Shown out;
  out.dilation = mine.size() > 1 ? mine[1] - mine[0] : 1;
  out.causal = mine.back() == at;
  if ((at - mine.front()) % out.dilation != 0) return std::nullopt;
  Index shared = 0, inside = 0, ends_here = 0, last = -1;
  const Index before = std::min(at / out.dilation, kBeside) * out.dilation;
  const Index end = std::min(axis.extent, at + (kBeside + 1) * out.dilation);
  for (Index other = at - before; other < end; other += out.dilation) {
    const std::vector<Index> keys = beside(other);
    if (keys.empty()) return std::nullopt;
    out.causal = out.causal && keys.back() == other;
    out.window = std::max(out.window, std::ssize(keys));
    shared = keys.front() == last ? shared + 1 : 1;
    last = keys.front();
    // Windows at the borders are shared anyway: at the first key, and without causal at the last.
    if (last < out.dilation) continue;
    ends_here = std::max(ends_here, shared);
    if (keys.back() + out.dilation < axis.extent) inside = std::max(inside, shared);
  }
  const Index longest = out.causal ? ends_here : inside;
  if (longest > 0) {
    out.strides = {longest};
  } else {
    for (Index stride = 1; stride <= out.window; ++stride) out.strides.push_back(stride);
  }
  return out;
}

/// The neighbourhoods in a grid of this shape that the rows of one token and of those beside it
/// allow: the middle one, or one a few places before it in each dimension.
std::vector<Neighbourhood> in_grid(const std::vector<Index>& shape, const SampledRows& rows,
                                   Index ahead) {
  constexpr std::size_t kMostGuesses = 64;
  std::vector<Axis> axes;
  for (const Index extent : shape) axes.push_back({.extent = extent, .window = 1});
  Index middle = 0;
  const auto place = [ahead](const Axis& axis) {
    return std::max<Index>(axis.extent / 2 - ahead, 0);
  };
  for (const Axis& axis : axes) middle = middle * axis.extent + place(axis);
  const auto row = rows.row(middle);
  const Index keys = row.keys();
  const auto seen = seen_in(axes, row);
  if (keys == 0 || product_of_sizes(seen) != keys) return {};
  std::vector<Neighbourhood> out{{.shape = shape}};
  Index inner = 1;
  for (std::size_t i = axes.size(); i-- > 0; inner *= axes[i].extent) {
    const Index at = place(axes[i]);
    const auto line = shown(axes[i], at, seen[i], [&](Index other) {
      return seen_in(axes, rows.row(middle + (other - at) * inner))[i];
    });
    if (!line || out.size() * line->strides.size() > kMostGuesses) return {};
    std::vector<Neighbourhood> longer;
    for (const Neighbourhood& one : out) {
      for (const Index stride : line->strides) {
        longer.push_back(one);
        Neighbourhood& rule = longer.back();
        rule.window.insert(rule.window.begin(), line->window);
        rule.dilation.insert(rule.dilation.begin(), line->dilation);
        rule.stride.insert(rule.stride.begin(), stride);
        rule.causal.insert(rule.causal.begin(), line->causal);
      }
    }
    out = std::move(longer);
  }
  return out;
}

/// The rule without lists that say nothing.
Neighbourhood shortened(Neighbourhood rule) {
  const auto drop = [](std::vector<Index>& list, Index number) {
    if (std::ranges::count(list, number) == std::ssize(list)) list.clear();
  };
  drop(rule.dilation, 1);
  drop(rule.stride, 1);
  drop(rule.causal, 0);
  return rule;
}

/// Whether the rule fits its grid and gives nine in ten of the sampled rows.
bool gives_most(const Neighbourhood& rule, const SampledRows& rows) {
  const std::vector<Axis> axes = axes_of(rule, rows.keys());
  for (const Axis& axis : axes) {
    if (axis.window < 1 || axis.window * axis.dilation > axis.extent) return false;
  }
  const PlanePtr plane = neighbourhood_plane(rows.keys(), axes);
  const Index every = std::max<Index>(1, rows.size() / 64);
  Index tried = 0, wrong = 0;
  for (Index i = 0; i < rows.size(); i += every, ++tried) {
    plane->rows({rows[i].query, rows[i].query + 1}, [&](Range, const Keys& keys) {
      wrong += !std::ranges::equal(keys.runs, rows[i].runs);
    });
  }
  return wrong * 10 <= tried;
}

/// Whether a rule of one dimension is one that has a shorter name: causal without stride is a
/// window, a window that is shared by as many queries chunks, and one that reaches everywhere
/// dilated. Few windows that are shared are rectangles.
bool is_plainer(const Neighbourhood& rule, Index tokens) {
  constexpr Index kFewWindows = 4;
  const Index window = rule.window[0], dilation = rule.dilation[0], stride = rule.stride[0];
  if (rule.causal[0] != 0 && stride == 1) return true;
  if (stride > 1 && tokens < kFewWindows * stride) return true;
  return (dilation == 1 && stride == window) || (window + 1) * dilation > tokens;
}

/// Whether all dimensions but one are seen whole: such a grid is a line of blocks.
bool is_of_blocks(const Neighbourhood& rule) {
  Index cut = 0;
  for (std::size_t i = 0; i < rule.shape.size(); ++i) {
    cut += rule.window[i] * rule.dilation[i] < rule.shape[i];
  }
  return rule.shape.size() > 1 && cut < 2;
}

/// A single odd cell is in the lines of at most one of two tokens.
std::optional<Neighbourhood> first_that_gives(const std::vector<Index>& shape,
                                              const SampledRows& rows) {
  for (const Index ahead : {0, 1}) {
    for (Neighbourhood& guess : in_grid(shape, rows, ahead)) {
      if (gives_most(guess, rows)) return std::move(guess);
    }
  }
  return std::nullopt;
}

/// Ways to write `tokens` as a product of two or three numbers greater than 1.
std::vector<std::vector<Index>> grids_of(Index tokens) {
  std::vector<std::vector<Index>> out;
  const auto divisors = [](Index n) {
    std::vector<Index> found;
    for (Index d = 2; d * d <= n; ++d) {
      if (n % d != 0) continue;
      found.push_back(d);
      if (d != n / d) found.push_back(n / d);
    }
    return found;
  };
  for (const Index rows : divisors(tokens)) out.push_back({rows, tokens / rows});
  const std::size_t pairs = out.size();
  for (std::size_t i = 0; i < pairs; ++i) {
    const Index first = out[i][0], rest = out[i][1];
    for (const Index second : divisors(rest)) out.push_back({first, second, rest / second});
  }
  return out;
}

}  // namespace

std::vector<Chain> guesses(const Neighbourhood*, const SampledRows& rows) {
  constexpr Index kMostTokens = Index{1} << 20, kMostKeys = 1024;
  const Index tokens = rows.keys();
  if (tokens != rows.queries() || tokens < 4 || tokens > kMostTokens) return {};
  if (const Index keys = rows.row(tokens / 2).keys(); keys > kMostKeys || keys == tokens) return {};
  std::vector<std::vector<Index>> shapes = grids_of(tokens);
  shapes.insert(shapes.begin(), {tokens});
  std::vector<Chain> out;
  for (const std::vector<Index>& shape : shapes) {
    const auto guess = first_that_gives(shape, rows);
    if (!guess || is_of_blocks(*guess)) continue;
    Neighbourhood rule = shortened(*guess);
    if (std::ranges::count(rule.window, 1) == std::ssize(rule.window)) continue;
    const bool line = shape.size() == 1;
    if (line && is_plainer(*guess, tokens)) continue;
    if (line) rule.shape.clear();
    out.push_back({Step(std::move(rule))});
    if (line) break;
  }
  return out;
}

}  // namespace maskctl::step
