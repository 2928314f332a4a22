// Reads the grid, window, dilation, stride and causal dimensions of a neighbourhood off its rows.
#include <algorithm>
#include <iterator>
#include <map>
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
constexpr Index kShort = 32;       // tokens of a line that shows little
constexpr Index kMostKeys = 1024;  // of a token, so that reading a row is cheap

/// What the tokens on a line through the grid show of one dimension. One of them may have an odd
/// cell.
struct Shown {
  Index dilation = 1;
  std::vector<Index> windows, strides, causal;  // those that are possible, the likely ones first
};

/// Reads one dimension off the rows of tokens on a line through the grid: `mine` are the keys of
/// the token at `at`, beside(other) those of the token at `other`. Nothing if the keys of a token
/// are not evenly spaced.
template <typename Beside>
std::optional<Shown> shown(Index extent, Index at, const std::vector<Index>& mine,
                           const Beside& beside) {
  Shown out;
  out.dilation = mine.size() > 1 ? mine[1] - mine[0] : 1;
  if ((at - mine.front()) % out.dilation != 0) return std::nullopt;
  Index shared = 0, inside = 0, ends_here = 0, last = -1, tokens = 0, causal = 0, largest = 0;
  std::map<Index, Index> sizes;  // how many tokens see so many keys
  const Index before = std::min(at / out.dilation, kBeside) * out.dilation;
  const Index end = std::min(extent, at + (kBeside + 1) * out.dilation);
  for (Index other = at - before; other < end; other += out.dilation) {
    const std::vector<Index> keys = beside(other);
    if (keys.empty()) return std::nullopt;
    ++tokens;
    causal += keys.back() == other;
    ++sizes[std::ssize(keys)];
    largest = std::max(largest, std::ssize(keys));
    shared = keys.front() == last ? shared + 1 : 1;
    last = keys.front();
    // Windows at the borders do not count, as they are shared anyway: those that begin at the first
    // key and, without causal, those that end at the last one.
    if (last < out.dilation) continue;
    ends_here = std::max(ends_here, shared);
    if (keys.back() + out.dilation < extent) inside = std::max(inside, shared);
  }
  out.causal = {causal == tokens};
  if (causal + 1 == tokens) out.causal.push_back(1);
  out.windows = {largest};
  // A size of one token may be that of an odd cell: then the largest of the others.
  if (sizes.size() > 1 && sizes.rbegin()->second == 1) {
    out.windows.push_back(std::next(sizes.rbegin())->first);
  }
  const Index longest = causal == tokens ? ends_here : inside;
  if (longest > 0) out.strides.push_back(longest);
  // On a short line, an odd cell may be in the only queries that share a window.
  for (Index stride = 1; stride <= largest && (longest == 0 || extent <= kShort); ++stride) {
    if (stride != longest) out.strides.push_back(stride);
  }
  return out;
}

/// Replaces each rule by one for each of the numbers, which is put in front of a list of the rule.
void put_first(std::vector<Index> Neighbourhood::*list, const std::vector<Index>& numbers,
               std::vector<Neighbourhood>& rules) {
  std::vector<Neighbourhood> out;
  for (const Neighbourhood& rule : rules) {
    for (const Index number : numbers) {
      out.push_back(rule);
      (out.back().*list).insert((out.back().*list).begin(), number);
    }
  }
  rules = std::move(out);
}

/// The neighbourhoods in a grid of this shape that the rows of one token and of those beside it
/// allow: the middle one, or one some places before it in each dimension.
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
    if (!line) return {};
    for (Neighbourhood& rule : out) {
      rule.dilation.insert(rule.dilation.begin(), line->dilation);
    }
    put_first(&Neighbourhood::window, line->windows, out);
    put_first(&Neighbourhood::stride, line->strides, out);
    put_first(&Neighbourhood::causal, line->causal, out);
    if (out.size() > kMostGuesses) out.resize(kMostGuesses);
  }
  return out;
}

/// The rule without lists that contain only default values.
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

/// Whether a simpler rule makes a dimension: a causal neighbourhood without stride is a window,
/// windows each shared by as many queries as they have keys are chunks, and a window that reaches
/// everywhere is a dilation. A few shared windows are rectangles.
bool is_plainer(const Axis& axis) {
  constexpr Index kFewWindows = 4;
  if (axis.causal && axis.stride == 1) return true;
  if (axis.stride > 1 && axis.extent < kFewWindows * axis.stride) return true;
  return (axis.dilation == 1 && axis.stride == axis.window) ||
         (axis.window + 1) * axis.dilation > axis.extent;
}

/// Whether a simpler rule makes the same cells: in all dimensions but one a query sees everything,
/// or only its own place, and a simpler rule makes that one.
bool is_plainer(const Neighbourhood& rule, Index tokens) {
  Index cut = 0;
  bool plain = true;
  for (const Axis& axis : axes_of(rule, tokens)) {
    if (axis.window == 1 || axis.window * axis.dilation == axis.extent) continue;
    ++cut;
    plain = plain && is_plainer(axis);
  }
  return cut == 0 || (cut == 1 && plain);
}

/// A single odd cell is in the row of at most one of two tokens.
std::optional<Neighbourhood> first_that_gives(const std::vector<Index>& shape,
                                              const SampledRows& rows) {
  for (const Index ahead : {0, 1, 2}) {
    for (Neighbourhood& guess : in_grid(shape, rows, ahead)) {
      if (gives_most(guess, rows)) return std::move(guess);
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::vector<Index>> grids_of(Index tokens, std::size_t most) {
  std::vector<std::vector<Index>> out;
  for (Index first = 2; most > 1 && first <= tokens / 2; ++first) {
    if (tokens % first != 0) continue;
    out.push_back({first, tokens / first});
    for (std::vector<Index>& rest : grids_of(tokens / first, most - 1)) {
      rest.insert(rest.begin(), first);
      out.push_back(std::move(rest));
    }
  }
  std::ranges::stable_sort(out, {}, &std::vector<Index>::size);
  return out;
}

std::vector<Chain> guesses(const Neighbourhood*, const SampledRows& rows) {
  constexpr Index kMostTokens = Index{1} << 20;
  const Index tokens = rows.keys();
  if (tokens != rows.queries() || tokens < 4 || tokens > kMostTokens) return {};
  if (rows.row(tokens / 2).keys() == tokens) return {};
  std::vector<std::vector<Index>> shapes = grids_of(tokens, 4);
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
