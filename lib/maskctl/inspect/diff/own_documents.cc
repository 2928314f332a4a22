#include "maskctl/inspect/diff/own_documents.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "maskctl/inspect/recognise/fit.h"
#include "maskctl/mask/steps/field.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/mask/steps/within.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

constexpr std::size_t kMostTried = 64;  // documents

/// The only step inside the documents of a step, if that is a window; null for other steps.
const step::Window* window_in(const Step& step) {
  const Chain* inside = chain_of(step);
  return inside && inside->size() == 1 ? inside->front().get_if<step::Window>() : nullptr;
}

/// The keys before a query's own in a window, inside documents or of the whole mask.
std::optional<Index> width_in(const Step& step) {
  const step::Window* window = step.get_if<step::Window>();
  if (!window) window = window_in(step);
  return window ? window->left : std::nullopt;
}

/// Joins lengths first to first + count - 1.
void merge(std::vector<Index>& lengths, std::size_t first, std::size_t count) {
  const auto begin = lengths.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = begin + static_cast<std::ptrdiff_t>(count);
  *begin = std::accumulate(begin, end, Index{0});
  lengths.erase(begin + 1, end);
}

}  // namespace

Chain with_numbers_of(const Chain& a, Chain b, const recognition::Extent& extent) {
  for (Step& step : b) {
    const step::Window* found = window_in(step);
    const auto was =
        std::ranges::find_if(a, [](const Step& other) { return width_in(other).has_value(); });
    if (!found || was == a.end() || found->lefts.empty() || !found->rights.empty()) continue;
    std::vector<Index> lefts = as_int64(found->lefts.array, "lefts");
    if (lefts.size() > kMostTried) continue;
    const PlanePtr made = recognition::plane_of(b, extent);
    auto& window = info_of(step).chain(step)->front().as<step::Window>();
    for (Index& left : lefts) {
      const Index own = std::exchange(left, *width_in(*was));
      window.lefts = fields::numbers(lefts);
      if (differing_cells(recognition::plane_of(b, extent), made) != 0) left = own;
    }
    window.lefts = fields::numbers(lefts);
  }
  return b;
}

std::vector<Chain> with_merged_documents(const Chain& chain) {
  std::vector<Chain> out;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const auto* given = chain[i].get_if<step::Within>();
    if (!given || given->lengths.size() < 2 || given->lengths.size() > kMostTried) continue;
    const std::size_t all = given->lengths.size();
    const auto add = [&](std::size_t first, std::size_t count) {
      step::Within merged = *given;
      merge(merged.lengths, first, count);
      if (!merged.kv_lengths.empty()) merge(merged.kv_lengths, first, count);
      out.push_back(chain);
      out.back()[i] = Step(std::move(merged));
    };
    for (std::size_t first = 0; first + 1 < all; ++first) add(first, 2);
    if (all > 2) add(0, all);
  }
  return out;
}

}  // namespace maskctl
