// Keys sorted by rank and by digits, against std::sort.
#include "maskctl/mask/arrays/sorted_keys.h"

#include <algorithm>
#include <limits>
#include <random>

#include "support/catch_compat.h"
#include "support/rounds.h"

namespace maskctl {
namespace {

TEST_CASE("sorted keys: a thousand lists of any length are those of std::sort") {
  std::mt19937 random(11);
  KeySorter sort;
  for (int round = 0; round < test::rounds(1000); ++round) {
    const std::size_t size = random() % (round % 4 == 0 ? 700 : 140);
    const auto most =
        static_cast<std::int32_t>(round % 3 == 0 ? 5 : random() >> (1 + random() % 30));
    std::vector<std::int32_t> keys(size);
    for (auto& key : keys) {
      key = static_cast<std::int32_t>(random() % (static_cast<unsigned>(most) + 1));
    }
    std::vector<std::int32_t> want = keys;
    std::ranges::sort(want);
    sort(keys);
    INFO("round " << round << ", " << size << " keys up to " << most);
    REQUIRE(keys == want);
  }
}

TEST_CASE("sorted keys: nothing, and the greatest number beside the padding of ranks") {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  KeySorter sort;
  std::vector<std::int32_t> none, great{kMost, 0, kMost, 3};
  sort(none);
  sort(great);
  CHECK(none.empty());
  CHECK(great == std::vector<std::int32_t>{0, 3, kMost, kMost});
}

}  // namespace
}  // namespace maskctl
