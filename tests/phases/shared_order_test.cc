// Orders of tokens that several masks share, against plain sums over the cells of each rank.
#include "maskctl/phases/shared_order.h"

#include <random>

#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"
#include "support/rounds.h"

namespace maskctl {
namespace {

Index rank_of(Split split, Index q, Index n, Index ranks) {
  const auto part = [&](Index parts) {
    Index out = 0;
    while ((out + 1) * n / parts <= q) ++out;
    return out;
  };
  switch (split) {
    case Split::kContiguous:
      return part(ranks);
    case Split::kZigzag:
      return std::min(part(2 * ranks), 2 * ranks - 1 - part(2 * ranks));
    case Split::kStriped:
      return q % ranks;
  }
  return 0;
}

TEST_CASE("orders that masks share take what a twin counts by cells", "[phases]") {
  std::mt19937_64 random(68);
  for (int i = 0; i < test::rounds(100); ++i) {
    const Index n = 1 + static_cast<Index>(random() % 24);
    const Index ranks = 1 + static_cast<Index>(random() % 4);
    std::vector<Index> windows, layers;
    std::vector<MaskOfLayers> masks;
    for (Index count = 1 + static_cast<Index>(random() % 3); count > 0; --count) {
      windows.push_back(1 + static_cast<Index>(random() % as_size(n)));
      layers.push_back(1 + static_cast<Index>(random() % 5));
      CostQuery query;
      query.ranks = ranks;
      const Mask mask(diagonal_band(n, n, 1 - windows.back(), 0));
      masks.push_back({mask_cost(mask, query).balance, layers.back()});
    }
    double before = 0;
    for (const SharedOrder& order : shared_orders(masks)) {
      double most = 0, mean = 0;
      for (std::size_t m = 0; m < masks.size(); ++m) {
        std::vector<double> pairs(as_size(ranks));
        double all = 0;
        for (Index q = 0; q < n; ++q) {
          for (Index k = 0; k <= q; ++k) {
            if (q - k >= windows[m]) continue;
            pairs[as_size(rank_of(order.split, q, n, ranks))] += 1;
            all += 1;
          }
        }
        const double largest = *std::max_element(pairs.begin(), pairs.end());
        CHECK(order.each[m].value() == Approx(largest / (all / static_cast<double>(ranks))));
        most += largest * static_cast<double>(layers[m]);
        mean += all / static_cast<double>(ranks) * static_cast<double>(layers[m]);
      }
      CHECK(order.all.value() == Approx(most / mean));
      CHECK(order.all.value() >= before);
      before = *order.all;
    }
  }
}

TEST_CASE("masks of other numbers of ranks share no order", "[phases]") {
  const Mask mask(diagonal_band(8, 8, -kUnbounded, 0));
  CostQuery two, four;
  two.ranks = 2;
  four.ranks = 4;
  const std::vector<MaskOfLayers> masks{{mask_cost(mask, two).balance, 1},
                                        {mask_cost(mask, four).balance, 1}};
  CHECK_THROWS_AS(shared_orders(masks), Error);
}

}  // namespace
}  // namespace maskctl
