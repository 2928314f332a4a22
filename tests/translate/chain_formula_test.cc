// The formula of a whole chain, held against the cells that its steps make.
#include "maskctl/translate/write/chain_formula.h"

#include <fmt/format.h>

#include <random>

#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/pipeline/steps/bind.h"
#include "support/catch_compat.h"
#include "support/rounds.h"

namespace maskctl {
namespace {

Chain chain_of(const std::string& text) { return bind(parse(text), {}); }

std::string step_name(const Step& step) { return to_text({step}); }

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}
  Index of(Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, high)(random_);
  }
  std::string list(Index count, Index low, Index high) {
    std::string out;
    for (Index i = 0; i < count; ++i) out += fmt::format("{}{}", i ? "+" : "", of(low, high));
    return out;
  }
  const std::string& one(const std::vector<std::string>& all) {
    return all[as_size(of(0, std::ssize(all) - 1))];
  }
  std::string band() {
    return one({"causal", "window:keys=2", "window:both=1", "chunk:size=2", "chunk:size=3 | causal",
                "block-causal:size=2", "causal | prefix:n=1", "dilated:stride=2", "causal | not",
                "open:q=0,k=0", "causal:offset=1"});
  }

 private:
  std::mt19937_64 random_;
};

/// The number of cells that the formula of the chain gets wrong; -1 if there is none.
Index wrong_cells(const std::string& text, const MaskShape& shape, std::string& missing) {
  const Chain chain = chain_of(text);
  const Mask made = apply(full_mask(shape.batch, shape.heads, shape.queries, shape.keys), chain);
  const ChainFormula formula = chain_formula(chain, step_name);
  missing = formula.missing;
  if (!formula.missing.empty()) return -1;
  const MaskShape after{made.batch(), made.heads(), made.queries(), made.keys()};
  Index wrong = 0;
  for (Cell cell; cell.batch < after.batch; ++cell.batch) {
    for (cell.query = 0; cell.query < after.queries; ++cell.query) {
      for (cell.key = 0; cell.key < after.keys; ++cell.key) {
        const bool open = made.plane(cell.batch, 0)
                              ->count({cell.query, cell.query + 1}, {cell.key, cell.key + 1}) > 0;
        wrong += open != (evaluate(formula.mask, after, cell) != 0);
      }
    }
  }
  return wrong;
}

void check(const std::string& text, const MaskShape& shape) {
  CAPTURE(text);
  std::string missing;
  CHECK(wrong_cells(text, shape, missing) == 0);
  CHECK(missing == "");
}

TEST_CASE("the formula of steps inside documents has their numbers per document") {
  Draws draw(1);
  for (int i = 0; i < test::rounds(300); ++i) {
    const Index a = draw.of(0, 3), b = draw.of(1, 3), c = draw.of(1, 3);
    const std::string inner =
        draw.one({"causal | prefix:n=" + draw.list(3, 0, 3), "batch:0+2{causal}",
                  "causal:offset=" + draw.list(3, 0, 2), "batch:1{prefix:n=2}",
                  "window:keys=" + draw.list(3, 1, 3) + " | batch:0-1{sinks:n=1}",
                  "causal | batch:0{not}", "chunk:size=" + draw.list(3, 1, 3), draw.band()});
    const Index tokens = a + b + c;
    check(fmt::format("{}within:lens={}+{}+{}{{{}}}", draw.one({"", "causal | "}), a, b, c, inner),
          {draw.of(1, 2), 1, tokens, tokens});
  }
  for (int i = 0; i < test::rounds(300); ++i) {
    const Index q[] = {draw.of(0, 2), draw.of(1, 3)}, k[] = {draw.of(1, 3), draw.of(0, 4)};
    const std::string inner =
        draw.one({"causal:align=bottom-right | prefix:n=" + draw.list(2, 0, 3),
                  "batch:1{causal:align=bottom-right}", "batch:0{causal:align=top-left}",
                  "window:keys=" + draw.list(2, 1, 3) + ",align=bottom-right"});
    check(fmt::format("within:q-lens={}+{},kv-lens={}+{}{{{}}}", q[0], q[1], k[0], k[1], inner),
          {1, 1, q[0] + q[1], k[0] + k[1]});
  }
}

TEST_CASE("the formula of a chain at positions reads the tokens of queries and keys") {
  Draws draw(2);
  for (int i = 0; i < test::rounds(300); ++i) {
    const Index begin = draw.of(0, 4), other = draw.of(0, 4);
    const std::string sides = draw.one(
        {fmt::format("queries={}-{}+9-10,keys={}-{}+8-10", begin, begin + 3, other, other + 2),
         fmt::format("queries={}-{},stride=2", begin, begin + 11),
         fmt::format("keys={}-{}+0-1", begin, begin + 3)});
    check(fmt::format("{}at:{}{{{}}}", draw.one({"", "window:both=2 | ", "causal | "}), sides,
                      draw.band()),
          {draw.of(1, 2), 1, 6, 6});
  }
}

TEST_CASE("the formula after a step that takes tokens reads those before it") {
  Draws draw(3);
  for (int i = 0; i < test::rounds(300); ++i) {
    const Index begin = draw.of(0, 4), other = draw.of(0, 4);
    check(fmt::format("{}{} | take:queries={}-{}+9-10,keys={}-{}+0-1{}",
                      draw.one({"", "doc:lens=5+7 | ", "window:keys=3+5 | "}), draw.band(), begin,
                      begin + 3, other, other + 6,
                      draw.one({"", " | prefix:n=2", " | dilated:stride=2"})),
          {2, 1, 12, 12});
  }
}

TEST_CASE("a chain without a formula is named with its reason") {
  std::string missing;
  const auto reason = [&](const std::string& text, const MaskShape& shape) {
    CHECK(wrong_cells(text, shape, missing) == -1);
    return missing;
  };
  CHECK(reason("within:lens=3+3{at:queries=0-2,keys=0-2{causal}}", {1, 1, 6, 6})
            .find("it counts tokens inside another step") != std::string::npos);
  CHECK(reason("causal:align=bottom-right | take:queries=0-1", {1, 1, 3, 6})
            .find("the mask before it has other sizes") != std::string::npos);
  for (const char* members : {"batch:1-2{prefix:n=1+2}", "batch:2+0+1{prefix:n=1+2+3}"}) {
    CHECK(reason(fmt::format("within:lens=2+2+2{{causal | {}}}", members), {1, 1, 6, 6})
              .find("its arrays count the members only") != std::string::npos);
  }
}

}  // namespace
}  // namespace maskctl
