// Draws masks whose cells are read in rows of another length, and asks check().
#include <fmt/format.h>

#include <array>
#include <random>

#include "inspect/claims/claims.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/pipeline/load.h"
#include "support/catch_compat.h"
#include "support/rounds.h"

namespace maskctl::test {
namespace {

TEST_CASE("check: cells of exchanged extents are found, and what is said of them is true",
          "[claims]") {
  std::mt19937 random(5);
  const auto pick = [&](Index low, Index high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  int found = 0;
  const int all = rounds(300);
  for (int i = 0; i < all; ++i) {
    const Index queries = pick(8, 24), keys = queries + pick(1, 16);
    const std::string chain = std::array{
        std::string("causal:align=bottom-right"), std::string("causal:align=top-left"),
        fmt::format("causal:align=bottom-right | window:keys={},align=bottom-right", pick(2, 6)),
        fmt::format("window:both={},align=bottom-right", pick(1, 4))}[as_size(pick(0, 3))];
    const Mask mask =
        maskctl::apply(full_mask(1, 1, queries, keys), load_chain(std::array{chain}, {}));
    Tensor cells(DType::kBool, {1, 1, keys, queries});
    const PlainCells plain(mask);
    for (Index cell = 0; cell < queries * keys; ++cell) {
      cells.as<std::uint8_t>()[as_size(cell)] = plain.open(0, 0, cell / keys, cell % keys);
    }
    const CheckedMask question{.start = mask_from_dense(cells)};
    const CheckResult result = check(question);
    for (const Finding& finding : result.findings) {
      INFO(chain << ", " << queries << "x" << keys << ": " << finding.message);
      CHECK(holds({question, result, finding, PlainCells(*result.mask)}));
      found += finding.rule->key == FindingId::kExtentsExchanged;
    }
  }
  CHECK(found > all / 2);
}

}  // namespace
}  // namespace maskctl::test
