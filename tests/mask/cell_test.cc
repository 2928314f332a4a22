// The text of a cell: written, and read back.
#include "maskctl/mask/cell.h"

#include <random>
#include <string>

#include "support/catch_compat.h"

namespace maskctl {
namespace {

std::optional<Cell> cell(std::string_view text) {
  const auto parts = cell_from(text);
  if (!parts || !parts->query || !parts->key) return std::nullopt;
  return Cell{parts->batch.value_or(0), parts->head.value_or(0), *parts->query, *parts->key};
}

TEST_CASE("cell: the text of a cell is read back, in each spelling", "[cell]") {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200; ++i) {
    const auto number = [&] { return static_cast<Index>(random() % (Index{1} << (i % 31 + 1))); };
    const Cell one{number(), number(), number(), number()};
    const std::string b = std::to_string(one.batch), h = std::to_string(one.head),
                      q = std::to_string(one.query), k = std::to_string(one.key);
    CHECK(cell(cell_text(one)) == one);
    CHECK(cell("b=" + b + ",h=" + h + ",q=" + q + ",k=" + k) == one);
    CHECK(cell("k=" + k + " q=" + q + " h=" + h + " b=" + b) == one);
    CHECK(cell("query " + q + ", key " + k + " (batch " + b + ", head " + h + ")") == one);
    CHECK(cell(R"({"batch": )" + b + R"(, "head": )" + h + R"(, "query": )" + q + R"(, "key": )" +
               k + "}") == one);
    CHECK(cell("[" + b + ", " + h + ", " + q + ", " + k + "]") == one);
    CHECK(cell(q + "," + k) == Cell{0, 0, one.query, one.key});
    CHECK(cell("query " + q + ", key " + k) == Cell{0, 0, one.query, one.key});
  }
}

TEST_CASE("cell: a text may name only some indices; other texts are refused", "[cell]") {
  const auto parts = cell_from("head 3");
  REQUIRE(parts);
  CHECK(parts->head == 3);
  CHECK_FALSE(parts->query);
  CHECK(cell("q=1k,k=2Ki") == Cell{0, 0, 1000, 2048});
  for (const char* text : {"", " ", ",", "q", "q=", "q=x", "q=-1,k=2", "q=1,q=2",
                           "query 1, key 2 3", "1", "1 2 3", "1 2 3 4 5", "row 1, key 2",
                           "q=1,k=2,key=3", "q 1 k", "-1 2", "1.5 2", "99999999999999999999 1"}) {
    INFO(text);
    CHECK_FALSE(cell_from(text));
  }
}

}  // namespace
}  // namespace maskctl
