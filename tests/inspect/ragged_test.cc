// Tests ragged documents, each of which has its own numbers of queries and keys. recognise finds
// these lengths and the pattern inside the documents, and diff compares them.
#include "maskctl/inspect/recognise/ragged.h"

#include "maskctl/inspect/diff/diff.h"
#include "maskctl/inspect/recognise/neighbours.h"
#include "maskctl/inspect/recognise/ragged_borders.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/steps/chain_text.h"
#include "random_masks.h"
#include "support/catch_compat.h"
#include "support/ragged_masks.h"
#include "support/rounds.h"

namespace maskctl {
namespace {

using recognition::Hull;
using recognition::OwnBand;
using test::made;

TEST_CASE("counts inside bands of documents equal a count of cells", "[recognise][ragged]") {
  std::mt19937 random(7);
  const auto number = [&](Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, high)(random);
  };
  for (int round = test::rounds(60); round > 0; --round) {
    const Index queries = number(1, 9), keys = number(1, 9);
    const test::MaskPair drawn = test::random_mask(random, queries, keys);
    const recognition::RaggedSums sums(*drawn.mask.plane(0, 0));
    for (int times = 0; times < 40; ++times) {
      const Index q = number(0, queries), k = number(0, keys);
      const Hull own{{q, number(q, queries)}, {k, number(k, keys)}};
      OwnBand band{number(0, 1) == 0 ? Align::kTopLeft : Align::kBottomRight, {}, {}};
      if (number(0, 2) > 0) band.low = number(-12, 12);
      if (number(0, 2) > 0) band.high = number(band.low.value_or(-12), 12);
      Index sum = 0;
      for (Index row = own.q.begin; row < own.q.end; ++row) {
        for (Index key = own.k.begin; key < own.k.end; ++key) {
          const Index diagonal = key - row - band.corner(own);
          if (band.low && diagonal < *band.low) continue;
          if (band.high && diagonal > *band.high) continue;
          sum += drawn.dense.get(0, 0, row, key) ? 1 : -1;
        }
      }
      REQUIRE(sums(own, band) == sum);
    }
  }
}

TEST_CASE("recognise names ragged documents, and diff names what is wrong with them",
          "[recognise][diff][ragged]") {
  // tests/bench/ragged_rate.cc measures the same rates on many more masks.
  const Index draws = test::rounds<Index>(60);
  Index recognised = 0, explained = 0;
  for (Index i = 0; i < draws; ++i) {
    const twin::RaggedPair drawn = twin::RaggedMaker(static_cast<std::uint64_t>(i) + 5200).draw();
    INFO(drawn.text);
    recognised += twin::names_ragged(drawn, recognise(drawn.sound));
    for (const bool forth : {true, false}) {
      const Mask& a = forth ? drawn.sound : drawn.wrong;
      const Mask& b = forth ? drawn.wrong : drawn.sound;
      const auto cause = diff_cause(a, b);
      REQUIRE(cause);
      CHECK(zip(Op::kXor, b, maskctl::apply(a, cause->edit)).count() == cause->edit_residue.cells);
      explained += twin::names_bug(drawn, a, b, *cause);
    }
  }
  CHECK(recognised * 100 >= draws * 96);
  CHECK(explained * 100 >= 2 * draws * 96);
}

std::string cause_of(const std::string& a, const std::string& b) {
  const auto cause = diff_cause(made(14, 48, a), made(14, 48, b));
  return cause ? cause->text : "equal";
}
std::string within(const char* queries, const char* keys, const char* inside) {
  return std::string("within:q-lens=") + queries + ",kv-lens=" + keys + "{" + inside + "}";
}

TEST_CASE("diff describes each fault of ragged documents in words", "[diff][ragged]") {
  const char* const causal = "causal:align=bottom-right";
  const auto sound = [&](const char* inside) { return within("1+5+7+1", "9+12+7+20", inside); };
  CHECK(cause_of(sound(causal), sound("")) == "B = A with causal missing in each document");
  CHECK(cause_of(sound(causal), sound("causal:align=top-left")) ==
        "B = A with alignment top-left instead of bottom-right in each document");
  CHECK(cause_of(sound("window:keys=6,align=bottom-right"),
                 sound("window:keys=7,align=bottom-right")) ==
        "B = A with window left 6 instead of 5 in each document");
  CHECK(cause_of(sound(causal), within("1+4+8+1", "9+12+7+20", causal)) ==
        "B = A with document 2 starting at query 5 instead of 6");
  CHECK(cause_of(sound(causal), within("1+5+7+1", "9+11+8+20", causal)) ==
        "B = A with document 2 starting at key 20 instead of 21");
  CHECK(cause_of(sound(causal), within("1+12+1", "9+19+20", causal)) ==
        "B = A with documents 1 and 2 merged into one");
  CHECK(cause_of(within("1+12+1", "9+19+20", causal), sound(causal)) ==
        "B = A with document 1 split into 2");
  CHECK(cause_of(sound(causal), sound(causal) + " | open:q=4,k=30") ==
        "B = A with query 4, key 30 open (document 1 sees document 3)");
}

TEST_CASE("documents with numbers of their own are recognised with lists", "[recognise][ragged]") {
  for (const char* text :
       {"within:lens=9+12+7+20{causal | prefix:n=3+5+2+8}",
        "within:lens=19+12+17+20{window:keys=3+4+5+3}",
        "within:lens=30+40+50+20+20{batch:1+3{causal}}",
        "within:q-lens=8+9+10,kv-lens=20+15+19{causal:align=bottom-right | prefix:n=17+12+16}"}) {
    CAPTURE(text);
    const bool ragged = std::string_view(text).find("q-lens") != std::string_view::npos;
    const Mask mask = ragged ? made(27, 54, text) : made(160, 160, text);
    const Recognised found = recognise(mask);
    CHECK(to_text(found.chain) == text);
    CHECK(found.residue.cells == 0);
  }
}

TEST_CASE("ragged documents of a million keys are recognised without dense cells",
          "[recognise][ragged]") {
  const std::string text = within("1+30000+1+500+2000", "400000+30000+250000+120000+200000",
                                  "window:keys=4096,align=bottom-right");
  const Mask mask = made(32502, 1000000, text);
  const Recognised found = recognise(mask);
  CHECK(found.residue.cells == 0);
  CHECK(to_text(found.chain) == text);
}

TEST_CASE("diff names an alignment that differs inside ragged documents of a million keys",
          "[diff][ragged]") {
  const auto at = [](const char* align) {
    return made(32502, 1000000,
                within("1+30000+1+500+2000", "400000+30000+250000+120000+200000", align));
  };
  const auto cause = diff_cause(at("causal:align=bottom-right"), at("causal:align=top-left"));
  REQUIRE(cause);
  CHECK(cause->text == "B = A with alignment top-left instead of bottom-right in each document");
  CHECK(cause->residue_a.cells + cause->residue_b.cells == 0);
}

TEST_CASE("neighbours of ragged documents change the rule inside the documents",
          "[neighbours][ragged]") {
  const Mask mask =
      made(14, 48, within("1+5+7+1", "9+12+7+20", "window:keys=6,align=bottom-right"));
  std::vector<std::string> texts;
  for (const Neighbour& other : neighbours(mask)) texts.push_back(other.text);
  for (const char* text : {"window left 6 instead of 5 in each document", "aligned the other way",
                           "documents 1 and 2 as one"}) {
    CHECK(std::ranges::count(texts, text) == 1);
  }
}

}  // namespace
}  // namespace maskctl
