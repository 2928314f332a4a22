// Reads the grid, window, dilation, stride and causal dimensions of a neighbourhood off its rows.
#include <algorithm>
#include <optional>

#include "maskctl/mask/steps/neighbourhood.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::step {
namespace {

/// The coordinates of the keys of a row in one dimension of a grid, each once, ascending: that of
/// key k is k / inner mod extent.
std::vector<Index> seen_along(const SampledRows::Row& row, Index inner, Index extent) {
  std::vector<Index> out;
  for (const Run& run : row.runs) {
    for (Index key = run.begin; key < run.end; ++key) {
      const Index at = key / inner % extent;
      if (out.empty() || out.back() != at) out.push_back(at);
    }
  }
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

constexpr Index kBeside = 64;      // tokens on either side that are looked at
constexpr Index kMostKeys = 1024;  // of a token, so that reading a row is cheap

/// What the tokens on a line through the grid show of one dimension.
struct Shown {
  Index window = 0, dilation = 1;
  bool causal = false;
  std::vector<Index> strides;  // those that are possible
};

/// Nothing where the keys of a token are no steps of one size. `mine` are those of the token at
/// `at`, `beside(other)` those of another.
template <typename Beside>
std::optional<Shown> shown(Index extent, Index at, const std::vector<Index>& mine,
                           const Beside& beside) {
  Shown out;
  out.dilation = mine.size() > 1 ? mine[1] - mine[0] : 1;
  out.causal = mine.back() == at;
  if ((at - mine.front()) % out.dilation != 0) return std::nullopt;
  Index shared = 0, inside = 0, ends_here = 0, last = -1;
  const Index before = std::min(at / out.dilation, kBeside) * out.dilation;
  const Index end = std::min(extent, at + (kBeside + 1) * out.dilation);
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
    if (keys.back() + out.dilation < extent) inside = std::max(inside, shared);
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
  const auto place = [ahead](Index extent) { return std::max<Index>(extent / 2 - ahead, 0); };
  Index middle = 0;
  for (const Index extent : shape) middle = middle * extent + place(extent);
  const auto row = rows.row(middle);
  const Index keys = row.keys();
  if (keys == 0 || keys > kMostKeys) return {};
  std::vector<std::vector<Index>> seen(shape.size());
  Index inner = 1, product = 1;
  for (std::size_t i = shape.size(); i-- > 0; inner *= shape[i]) {
    seen[i] = seen_along(row, inner, shape[i]);
    product *= std::ssize(seen[i]);
    if (product > keys) return {};
  }
  if (product != keys) return {};
  std::vector<Neighbourhood> out{{.shape = shape}};
  inner = 1;
  for (std::size_t i = shape.size(); i-- > 0; inner *= shape[i]) {
    const Index at = place(shape[i]);
    const auto line = shown(shape[i], at, seen[i], [&](Index other) -> std::vector<Index> {
      const auto beside = rows.row(middle + (other - at) * inner);
      if (beside.keys() > kMostKeys) return {};
      return seen_along(beside, inner, shape[i]);
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

/// Whether the rule fits its grid and gives most of the sampled rows.
bool gives_most(const Neighbourhood& rule, const SampledRows& rows) {
  const std::vector<Axis> axes = axes_of(rule, rows.keys());
  const bool fits = std::ranges::all_of(axes, [](const Axis& axis) {
    return axis.window >= 1 && axis.stride <= axis.window &&
           axis.window * axis.dilation <= axis.extent;
  });
  return fits && rows.agree_with(*neighbourhood_plane(rows.keys(), axes));
}

/// Whether a dimension by itself is a rule with a shorter name: causal without stride is a window,
/// a window that is shared by as many queries chunks, and one that reaches everywhere dilated. Few
/// windows that are shared are rectangles.
bool is_plainer(const Axis& axis) {
  constexpr Index kFewWindows = 4;
  if (axis.causal && axis.stride == 1) return true;
  if (axis.stride > 1 && axis.extent < kFewWindows * axis.stride) return true;
  return (axis.dilation == 1 && axis.stride == axis.window) ||
         (axis.window + 1) * axis.dilation > axis.extent;
}

/// Whether a plainer rule makes the same cells: where all dimensions but one are seen whole, or the
/// token's own place alone, the grid is a line of blocks.
bool is_plainer(const Neighbourhood& rule, Index tokens) {
  Index cut = 0, whole = 0;
  bool plain = true;
  for (const Axis& axis : axes_of(rule, tokens)) {
    whole += axis.window * axis.dilation == axis.extent;
    if (axis.window == 1 || axis.window * axis.dilation == axis.extent) continue;
    ++cut;
    plain = plain && is_plainer(axis);
  }
  return cut == 0 || (cut == 1 && (plain || whole > 0));
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
  constexpr Index kMostTokens = Index{1} << 20;
  const Index tokens = rows.keys();
  if (tokens != rows.queries() || tokens < 4 || tokens > kMostTokens) return {};
  if (rows.row(tokens / 2).keys() == tokens) return {};
  std::vector<std::vector<Index>> shapes = grids_of(tokens);
  shapes.insert(shapes.begin(), {tokens});
  std::vector<Chain> out;
  for (const std::vector<Index>& shape : shapes) {
    const auto guess = first_that_gives(shape, rows);
    if (!guess || is_plainer(*guess, tokens)) continue;
    Neighbourhood rule = shortened(*guess);
    const bool line = shape.size() == 1;
    if (line) rule.shape.clear();
    out.push_back({Step(std::move(rule))});
    if (line) break;
  }
  return out;
}

}  // namespace maskctl::step
