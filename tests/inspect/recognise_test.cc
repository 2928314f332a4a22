// recognise() on masks of known chains, judged by applying the chain that it returns.
#include "maskctl/inspect/recognise/recognise.h"

#include <fmt/format.h>

#include <random>
#include <string>

#include "maskctl/base/error.h"
#include "maskctl/inspect/recognise/steps.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/mask/steps/block.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/pad.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/tokens.h"
#include "maskctl/pipeline/parse/grammar.h"
#include "maskctl/pipeline/steps/bind.h"
#include "support/catch_compat.h"
#include "support/random_chain.h"

namespace maskctl {
namespace {

Mask full(Index queries, Index keys, Index batch = 1, Index heads = 1) {
  const PlanePtr plane = full_plane(queries, keys);
  return Mask::make(batch, heads, queries, keys, [&](Index, Index) { return plane; });
}

Mask made(const std::string& text, const Mask& from) {
  return maskctl::apply(from, bind(parse(text), {}));
}

/// The number of cells that differ, counted one by one in dense arrays.
Index slow_difference(const Mask& a, const Mask& b) {
  const Tensor left = dense_from_mask(a, Index{1} << 30),
               right = dense_from_mask(b, Index{1} << 30);
  Index cells = 0;
  for (std::size_t i = 0; i < left.bytes().size(); ++i) {
    cells += left.bytes()[i] != right.bytes()[i];
  }
  return cells;
}

/// Checks that the chain of `found` misses as many cells of the mask as its residue says.
void check_claim(const Mask& mask, const Recognised& found) {
  const Mask again =
      maskctl::apply(full(mask.queries(), mask.keys(), mask.batch(), mask.heads()), found.chain);
  CHECK(slow_difference(mask, again) == found.residue.cells);
  CHECK(!found.residue.first.empty() == (found.residue.cells > 0));
}

struct Named {
  std::string pipeline;
  Index queries, keys;
};

TEST_CASE("recognise prints plain masks as the steps that people write") {
  const Named cases[] = {
      {"causal", 64, 64},
      {"causal:align=bottom-right", 40, 64},
      {"causal:offset=-3", 64, 64},
      {"window:keys=9", 64, 64},
      {"window:both=5", 64, 64},
      {"window:left=5,right=2", 64, 64},
      {"window:keys=9,align=bottom-right", 30, 64},
      {"window:left=7", 64, 64},
      {"chunk:size=16", 64, 64},
      {"chunk:size=16,offset=24", 40, 64},
      {"chunk:size=16 | causal", 64, 64},
      {"doc:lens=10+20+34", 64, 64},
      {"doc:lens=10+20+34 | causal", 64, 64},
      {"doc:lens=10+20+34 | window:keys=4", 64, 64},
      {"pad:lens=50", 64, 64},
      {"pad:lens=50,side=left", 64, 64},
      {"pad:lens=50,of=both", 64, 64},
      {"pad:lens=50,side=left | causal", 64, 64},
      {"causal | prefix:n=20", 64, 64},
      {"window:left=7 | sinks:n=4 | causal", 64, 64},
      {"window:both=3 | global:tokens=10-11+40", 64, 64},
      {"dilated:stride=4", 64, 64},
      {"dilated:stride=4 | causal", 64, 64},
  };
  for (const Named& want : cases) {
    CAPTURE(want.pipeline);
    const Mask mask = made(want.pipeline, full(want.queries, want.keys));
    const Recognised found = recognise(mask);
    CHECK(to_text(found.chain) == want.pipeline);
    CHECK(found.residue.cells == 0);
    CHECK_FALSE(found.irregular);
    check_claim(mask, found);
  }
}

TEST_CASE("half of ten thousand rows that see nothing are said as rows, not as ids") {
  for (const std::string text :
       {"causal", "window:keys=100", "doc:lens=3000+7000", "doc:lens=1000+5000+4000 | causal",
        "window:keys=100 | sinks:n=4", "chunk:size=64 | causal"}) {
    INFO(text);
    std::mt19937 random(9);
    for (const Index queries : {300, 10'000}) {
      if (queries < 10'000 && text.starts_with("doc")) continue;
      step::Region rows{.open = false};
      for (Index q = 1; q + 1 < queries; ++q) {
        if (random() % 2 == 0) continue;
        if (!rows.q.empty() && rows.q.back().end == q) {
          ++rows.q.back().end;
        } else {
          rows.q.push_back({q, q + 1});
        }
      }
      const Mask mask = maskctl::apply(made(text, full(queries, queries)), Step(rows));
      const Recognised found = recognise(mask);
      CHECK(found.residue.cells == 0);
      const bool said = to_text(found.chain) == text + " | " + to_text(Chain{Step(rows)});
      CHECK(said);
    }
  }
}

TEST_CASE("masks of tokens in grids, in drafts and in trees behind a context come back") {
  const Named cases[] = {
      {"grid:shape=4+9,axis=1{window:both=2}", 36, 36},
      {"grid:shape=5+7,axis=0{causal} | grid:shape=5+7,axis=1{window:both=1}", 35, 35},
      {"grid:shape=5+8,axis=1,origin=3{window:both=1} | global:tokens=0-2", 43, 43},
      {"grid:shape=8+8,tile=2+2{neighbourhood:window=3+3,shape=8+8}", 64, 64},
      {"grid:shape=8+8,order=morton{neighbourhood:window=3+5,shape=8+8}", 64, 64},
      {"grid:shape=36{neighbourhood:window=3+3,shape=6+6} | global:tokens=36-39", 40, 40},
      {"neighbourhood:window=2+3+2+4,shape=4+5+3+4", 240, 240},
      {"drafts:size=4,anchors=5+9+16", 12, 36},
      {"tree:lens=6+3+3+4,after=0+0+0+1,align=bottom-right", 10, 16},
  };
  for (const Named& one : cases) {
    INFO(one.pipeline);
    const Mask mask = made(one.pipeline, full(one.queries, one.keys));
    const Recognised found = recognise(mask_from_dense(dense_from_mask(mask, Index{1} << 20)));
    CHECK(to_text(found.chain) == one.pipeline);
    CHECK(found.residue.cells == 0);
  }
}

TEST_CASE("a lone cell makes no tree of a dilation, and no rule for itself") {
  for (const char* steps : {"dilated:stride=2 | causal", "dilated:stride=4 | causal",
                            "dilated:stride=4 | window:keys=17"}) {
    for (const char* odd : {"close:q=60,k=60", "close:q=61,k=57", "open:q=61,k=58"}) {
      INFO(steps << " | " << odd);
      const Recognised found = recognise(made(std::string(steps) + " | " + odd, full(120, 120)));
      CHECK(to_text(found.chain) == steps);
      CHECK(found.residue.cells == 1);
    }
  }
}

TEST_CASE("EAGLE-3's steps of any number, and many single diagonals, come back without arrays") {
  std::string many, later;
  for (Index i = 0; i < 40; ++i) many += fmt::format("{}{}", i > 0 ? "+" : "", i * (i + 3) / 2);
  for (Index i = 0; i < 50; ++i) later += fmt::format("{}{}", i > 0 ? "+" : "", 100 * i);
  const Named cases[] = {
      {"diagonal:offsets=" + many, 900, 900},
      {"diagonal:offsets=" + many + ",past=850", 1200, 1200},
      {"diagonal:offsets=0,past=40", 300, 300},
      {"diagonal:offsets=0,past=60,align=bottom-right", 300, 340},
      {"diagonal:offsets=" + later + ",past=5000,align=bottom-right", 100, 5100},
      {"diagonal:offsets=0+16,past=32,align=bottom-right", 16, 48},
  };
  for (const Named& one : cases) {
    INFO(one.pipeline);
    const Mask mask = made(one.pipeline, full(one.queries, one.keys));
    const Recognised found = recognise(mask_from_dense(dense_from_mask(mask, Index{1} << 22)));
    CHECK(to_text(found.chain) == one.pipeline);
    CHECK(found.residue.cells == 0);
  }
}

TEST_CASE("a full mask is recognised as no step, an empty one as one step") {
  for (const auto& [queries, keys] : {std::pair<Index, Index>{1, 1}, {1, 7}, {7, 1}, {20, 30}}) {
    const Recognised open = recognise(full(queries, keys));
    CHECK(open.chain.empty());
    CHECK(open.residue.cells == 0);
    const Mask closed(empty_plane(queries, keys));
    const Recognised found = recognise(closed);
    CHECK(found.chain.size() == 1);
    CHECK(found.residue.cells == 0);
    check_claim(closed, found);
  }
  CHECK(recognise(full(0, 5)).chain.empty());
  CHECK(recognise(full(4, 4, 0, 2)).residue.cells == 0);
}

TEST_CASE("interleaved documents, types and block grids are recognised with their arrays") {
  std::mt19937 random(3);
  std::vector<std::int32_t> ids(90);
  for (auto& id : ids) id = static_cast<std::int32_t>(random() % 4);
  const PlanePtr documents = equal_ids(ids, ids, -1, Side::kBoth);
  const PlanePtr types = equal_ids(ids, ids, 0, Side::kBoth);
  const PlanePtr causal = diagonal_band(90, 90, -kUnbounded, 0);
  std::vector<std::uint8_t> map(81);
  for (auto& flag : map) flag = random() % 2 == 0;

  const Recognised packed = recognise(Mask(combine(Op::kAnd, documents, causal)));
  CHECK(packed.residue.cells == 0);
  REQUIRE(packed.chain.size() == 2);
  CHECK(packed.chain[0].is<step::Document>());
  CHECK(packed.chain[0].as<step::Document>().shared);

  const Recognised joined = recognise(Mask(combine(Op::kOr, causal, types)));
  CHECK(joined.residue.cells == 0);
  REQUIRE(joined.chain.size() == 2);
  CHECK(joined.chain[1].is<step::Tokens>());

  const Recognised blocks = recognise(Mask(block_grid(90, 90, 10, 10, map, 9)));
  CHECK(blocks.residue.cells == 0);
  REQUIRE(blocks.chain.size() == 1);
  CHECK(blocks.chain[0].as<step::Block>().q_size == 10);
}

TEST_CASE("random chains are recognised, and the residue of each is exact") {
  Index explained = 0;
  constexpr Index kChains = 400;
  for (Index i = 0; i < kChains; ++i) {
    std::mt19937_64 random(static_cast<std::uint64_t>(i) + 77);
    const auto number = [&](Index low, Index high) {
      return std::uniform_int_distribution<Index>(low, high)(random);
    };
    const Index queries = number(1, 80), keys = number(0, 1) == 0 ? queries : number(1, 80);
    const Chain chain = twin::ChainMaker(random, queries, keys).chain(number(1, 3));
    const Mask mask = maskctl::apply(full(queries, keys), chain);
    const Recognised found = recognise(mask);
    CAPTURE(i, to_text(chain));
    check_claim(mask, found);
    // A chain of more steps that have only numbers is no worse than one of fewer steps with arrays.
    const bool longer = found.chain.size() > chain.size() && recognition::has_arrays(found.chain);
    explained += found.residue.cells == 0 && !longer;
  }
  CHECK(explained * 100 >= kChains * 98);
}

TEST_CASE("differences by head or batch are recognised as scopes, or as one value per batch") {
  const Mask heads = made("heads:0-2{causal} | heads:3{window:keys=5}", full(32, 32, 2, 4));
  const Recognised by_head = recognise(heads);
  CHECK(to_text(by_head.chain) == "heads:0-2{causal} | heads:3{window:keys=5}");
  check_claim(heads, by_head);

  const Mask batches = made("batch:1{chunk:size=8}", full(32, 32, 3, 2));
  const Recognised by_batch = recognise(batches);
  CHECK(to_text(by_batch.chain) == "batch:1{chunk:size=8}");
  check_claim(batches, by_batch);

  const Mask both = made("batch:0{heads:1{causal}}", full(32, 32, 2, 2));
  const Recognised nested = recognise(both);
  CHECK(to_text(nested.chain) == "batch:0{heads:1{causal}}");
  check_claim(both, nested);

  const Mask padded = made("pad:lens=30+12+7 | causal", full(32, 32, 3, 2));
  const Recognised lengths = recognise(padded);
  CHECK(to_text(lengths.chain) == "pad:lens=30+12+7 | causal");
  check_claim(padded, lengths);
}

TEST_CASE("cells that fit no chain are counted, and the first is named") {
  const PlanePtr causal = diagonal_band(100, 100, -kUnbounded, 0);
  const PlanePtr hole = rectangle(100, 100, {70, 71}, {20, 22});
  const Mask mask(combine(Op::kSub, causal, hole));
  const Recognised found = recognise(mask, {.max_steps = 1});
  CHECK(to_text(found.chain) == "causal");
  CHECK(found.residue.cells == 2);
  REQUIRE(found.residue.first.size() == 2);
  CHECK(found.residue.first.front() == Cell{0, 0, 70, 20});
  check_claim(mask, found);
}

TEST_CASE("a band is recognised despite stray open cells") {
  const PlanePtr causal = diagonal_band(100, 100, -kUnbounded, 0);
  const Mask mask(combine(Op::kOr, causal, rectangle(100, 100, {3, 4}, {90, 91})));
  const Recognised found = recognise(mask, {.max_steps = 1});
  CHECK(to_text(found.chain) == "causal");
  CHECK(found.residue.cells == 1);
  check_claim(mask, found);
}

TEST_CASE("a mask without structure is called irregular") {
  const Mask mask(random_plane(150, 150, prng_key(4), 0, 0.5F));
  const Recognised found = recognise(mask);
  CHECK(found.irregular);
  CHECK(found.residue.first.size() == Residue::kListed);
  check_claim(mask, found);
}

TEST_CASE("masks of a million tokens are recognised without dense cells") {
  constexpr Index kTokens = Index{1} << 20;
  for (const char* text :
       {"window:left=4095 | sinks:n=4 | causal", "chunk:size=8192 | causal",
        "pad:lens=1000000 | window:keys=4096", "doc:lens=300000+400000+348576 | causal"}) {
    const Recognised found = recognise(made(text, full(kTokens, kTokens)));
    CHECK(to_text(found.chain) == text);
    CHECK(found.residue.cells == 0);
  }
}

TEST_CASE("images of a million tokens are recognised as token types") {
  constexpr Index kTokens = Index{1} << 20, kImages = 128;
  for (const bool one_type : {true, false}) {
    step::Tokens types;
    types.q.array = Tensor(DType::kInt32, {kTokens});
    const auto ids = types.q.array.as<std::int32_t>();
    for (std::int32_t image = 0; image < kImages; ++image) {
      const auto begin = ids.begin() + image * (kTokens / kImages) + 1000;
      std::fill(begin, begin + 1500 + image, one_type ? 1 : image + 1);
    }
    const Chain chain{{step::Causal{}}, {types}};
    const Mask mask = maskctl::apply(Mask(full_plane(kTokens, kTokens)), chain);
    const Recognised found = recognise(mask);
    CHECK(found.chain.size() == 2);
    CHECK(found.residue.cells == 0);
    CHECK(zip(Op::kXor, mask, maskctl::apply(full(kTokens, kTokens), found.chain)).count() == 0);
  }
}

TEST_CASE("odd cells are left as residue, without a change of the rule") {
  const Mask documents = made("doc:lens=20+13+25 | causal", full(64, 64));
  const auto with = [](const Mask& mask, const char* edit) { return made(edit, mask); };
  struct Want {
    Mask mask;
    const char* pipeline;
    std::vector<Cell> residue;
  };
  const std::vector<Want> wants{
      {with(documents, "open:q=30,k=3"), "doc:lens=20+13+25 | causal", {{0, 0, 30, 3}}},
      {with(documents, "close:q=50,k=35"), "doc:lens=20+13+25 | causal", {{0, 0, 50, 35}}},
      {with(made("causal", full(64, 64)), "close:q=35,k=35"), "causal", {{0, 0, 35, 35}}},
      {with(made("causal", full(16, 16)), "open:q=0,k=5 | open:q=1,k=7"),
       "causal",
       {{0, 0, 0, 5}, {0, 0, 1, 7}}},
      {made("causal | not", full(64, 64)), "causal | not", {}},
      {made("doc:lens=84+33+11 | prefix:n=13", full(128, 128)),
       "doc:lens=84+33+11 | prefix:n=13",
       {}},
      {made("chunk:size=222 | sinks:n=25", full(400, 400)), "chunk:size=222 | prefix:n=25", {}},
      {with(made("doc:lens=300000+400000+348576 | causal", full(1 << 20, 1 << 20)),
            "open:q=900000,k=7"),
       "doc:lens=300000+400000+348576 | causal",
       {{0, 0, 900000, 7}}},
  };
  for (const Want& want : wants) {
    const Recognised found = recognise(want.mask);
    CHECK(to_text(found.chain) == want.pipeline);
    CHECK(found.residue.first == want.residue);
    CHECK_FALSE(found.irregular);
  }
}

TEST_CASE("the padding of many batch entries is recognised as one list, with full entries too") {
  std::vector<PlanePtr> planes;
  for (Index b = 0; b < 32; ++b) {
    planes.push_back(combine(Op::kAnd, diagonal_band(64, 64, -kUnbounded, 0),
                             rectangle(64, 64, {0, 64}, {0, b == 7 ? 64 : 20 + b})));
  }
  const Mask mask = Mask::make(32, 1, 64, 64, [&](Index b, Index) { return planes[as_size(b)]; });
  const Recognised found = recognise(mask);
  CHECK(found.residue.cells == 0);
  REQUIRE(found.chain.size() == 2);
  CHECK(found.chain[0].as<step::Pad>().valid.array.elements() == 32);
}

TEST_CASE("irregular masks beyond the limit of cells are refused") {
  CHECK_THROWS_AS(recognise(Mask(dilated(5000, 5000, 3, 0)), {.max_cells = 1000}), Error);
}

}  // namespace
}  // namespace maskctl
