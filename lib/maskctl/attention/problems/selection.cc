#include "maskctl/attention/problems/selection.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace maskctl::attention {
namespace {

/// Writes the numbers of the `count` most important blocks, in descending order; of equal ones the
/// lower number wins.
void choose(const std::vector<double>& importance, Index count, std::int32_t* out) {
  std::vector<std::int32_t> order(importance.size());
  std::iota(order.begin(), order.end(), 0);
  const auto kept = order.begin() + std::min<Index>(count, static_cast<Index>(order.size()));
  std::partial_sort(order.begin(), kept, order.end(), [&](std::int32_t a, std::int32_t b) {
    const double x = importance[as_size(a)], y = importance[as_size(b)];
    return x > y || (x == y && a < b);
  });
  std::sort(order.begin(), kept, std::greater<>());
  std::copy(order.begin(), kept, out);
}

}  // namespace

void select_blocks(const SelectionProblem& problem, const TokenTask& task, Ranking& ranking,
                   const MutableTensorView& selected) {
  const BlockProblem& c = *problem.blocks;
  const auto& [n, u, tokens] = task;
  const TokenSequence& s = c.sequences[n];
  std::int32_t* const out = selected.as<std::int32_t>().data();
  for (Index t = tokens.begin; t < tokens.end; ++t) {
    const Index token = s.batch * c.d.queries + s.tokens.begin + t;
    const BlockChoices from{token * c.d.q_heads + u * c.d.group(), u,
                            s.batch * problem.mean_keys.extent(1) + (*problem.first_blocks)[n],
                            (t + 1) / c.block_size, t / c.block_size};
    std::vector<double> importance(as_size(from.own + 1));
    if (from.seen > 0) ranking.add_weights(from, importance);
    importance.back() = static_cast<double>(c.d.group());
    choose(importance, c.count, out + (token * c.d.kv_heads + u) * c.count);
  }
}

}  // namespace maskctl::attention
