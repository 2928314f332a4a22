// Draws masks whose cells are read in rows of another length, and asks check().
#include <fmt/format.h>

#include <array>
#include <random>

#include "inspect/claims/claims.h"
#include "inspect/sentences/draws_asked.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/pipeline/load.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

TEST_CASE("check: cells of exchanged extents are found, and what is said of them is true",
          "[claims]") {
  std::mt19937_64 random(5 + first_draw());
  const auto pick = [&](Index low, Index high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  Index found = 0;
  const Index all = draws_asked(300);
  for (Index i = 0; i < all; ++i) {
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
