#include "maskctl/phases/shared_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "maskctl/base/error.h"

namespace maskctl {

std::vector<SharedOrder> shared_orders(std::span<const MaskOfLayers> masks) {
  std::vector<SharedOrder> out;
  if (masks.empty()) return out;
  for (std::size_t way = 0; way < masks.front().balance.size(); ++way) {
    const Balance& first = masks.front().balance[way];
    SharedOrder& order = out.emplace_back();
    order.split = first.split;
    double most = 0, mean = 0;
    for (const MaskOfLayers& mask : masks) {
      const Balance& balance = mask.balance[way];
      if (balance.pairs.size() != first.pairs.size()) {
        throw Error(Errc::kInvalidArgument,
                    fmt::format("masks over {} and {} ranks: expected as many for each",
                                first.pairs.size(), balance.pairs.size()));
      }
      order.each.push_back(balance.imbalance);
      double sum = 0;
      for (const Index pairs : balance.pairs) sum += static_cast<double>(pairs);
      const auto layers = static_cast<double>(mask.layers);
      most += layers * static_cast<double>(*std::ranges::max_element(balance.pairs));
      mean += layers * sum / static_cast<double>(balance.pairs.size());
    }
    if (mean > 0) order.all = most / mean;
  }
  std::ranges::stable_sort(out, {}, [](const SharedOrder& order) {
    return order.all.value_or(std::numeric_limits<double>::infinity());
  });
  return out;
}

}  // namespace maskctl
