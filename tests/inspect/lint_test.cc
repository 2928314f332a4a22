// The findings of check: each on a small input that has the fault, and not on inputs without it.
#include "maskctl/inspect/check/lint.h"

#include <fmt/format.h>

#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "inspect/random_masks.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/check/opened_rows.h"
#include "maskctl/inspect/count/row_safety.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/rule.h"
#include "support/catch_compat.h"
#include "support/rounds.h"

namespace maskctl {
namespace {

using test::i32;
using test::made;
using Ids = std::vector<std::string>;

Ids ids(const Findings& findings) {
  Ids out;
  for (const Finding& finding : findings) out.emplace_back(finding.rule->id);
  return out;
}

const Finding& only(const Findings& findings) {
  REQUIRE(findings.size() == 1);
  return findings.front();
}

Pattern pattern(const Mask& mask) {
  recognition::KnownPlanes known;
  return pattern_of(mask, nullptr, known);
}

Ids of_mask(const Mask& mask) { return ids(lint_mask(mask, nullptr)); }

Findings of_chain(Mask mask, const std::string& text) {
  std::vector<std::string> texts;
  const Chain chain = test::chain_of(text);
  for (const Step& step : chain) texts.push_back(to_text(Chain{step}));
  return lint_chain(std::move(mask), chain, texts).findings;
}

TEST_CASE("cumulative lengths: every wrong entry is reported", "[lint]") {
  CHECK(ids(lint_cu_seqlens(i32({0, 3, 8}), 8)).empty());
  CHECK(ids(lint_cu_seqlens(i32({1, 3, 8}), 8)) == Ids{"cu-start"});
  CHECK(ids(lint_cu_seqlens(i32({0, 3, 3, 8}), 8)) == Ids{"cu-empty-document"});
  CHECK(ids(lint_cu_seqlens(i32({0, 3, 7}), 8)) == Ids{"cu-total"});
  CHECK(ids(lint_cu_seqlens(i32({0, 3, 7}), std::nullopt)).empty());
  CHECK(ids(lint_cu_seqlens(i32({1, 2}, {0, 3}), 3)) == Ids{"cu-shape"});
  CHECK(ids(lint_cu_seqlens(i32({0}), 0)) == Ids{"cu-shape"});
  const Finding falls = only(lint_cu_seqlens(i32({0, 5, 3, 4, 2}), 2));
  CHECK(falls.rule->id == "cu-falls");
  CHECK(falls.count == 2);
  CHECK(falls.where.entry == 2);
  Tensor wide(DType::kInt64, {2});
  wide.as<std::int64_t>()[1] = 4;
  CHECK(ids(lint_cu_seqlens(wide, 4)) == Ids{"cu-dtype"});
}

TEST_CASE("segment ids: recurring ids and zeros at the end are reported", "[lint]") {
  CHECK(lint_segments(i32({3, 3, 1, 1, 2, -1}), -1).empty());
  CHECK(lint_segments(i32({1, -1, 2, -1, -1}), -1).empty());
  const Finding back = only(lint_segments(i32({2, 5}, {1, 1, 2, 2, 3, 1, 2, 1, 2, 3}), -1));
  CHECK(back.rule->id == "segments-return");
  CHECK(back.count == 2);
  CHECK(back.where.batch == 1);
  CHECK(back.where.entry == 2);
  // These ids are too far apart to index a table by id.
  const std::int32_t far = std::numeric_limits<std::int32_t>::max();
  const Finding apart = only(lint_segments(i32({far, 4, -far, 4, far, -1, far}), -1));
  CHECK(apart.rule->id == "segments-return");
  CHECK(apart.count == 3);
  CHECK(apart.where.entry == 3);
  CHECK(ids(lint_segments(i32({1, 2, 0, 0}), -1)) == Ids{"segments-zero-tail"});
  CHECK(lint_segments(i32({1, 2, 0, 0}), 0).empty());
  CHECK(lint_segments(i32({0, 0, 0}), -1).empty());
}

TEST_CASE("positions: values that do not start at 0 or skip numbers are reported", "[lint]") {
  CHECK(lint_positions(i32({0, 1, 2, 0, 1, 0, -1, -1})).empty());
  CHECK(ids(lint_positions(i32({0, 1, 1, 2}))) == Ids{"positions-jump"});
  CHECK(ids(lint_positions(i32({5, 6, 7}))) == Ids{"positions-offset"});
  CHECK(ids(lint_positions(i32({0, 1, 2, -1, 3, 4}))) == Ids{"positions-start"});
  // transformers fills the positions of padding with 1, on either side.
  for (const auto& row : std::vector<std::vector<std::int32_t>>{
           {0, 1, 2, 1, 1}, {0, 1, 2, 1}, {0, 1, 1, 1}, {1, 1, 0, 1, 2}, {1, 0, 1, 2}, {1, 1, 1}}) {
    CHECK(lint_positions(i32(row)).empty());
  }
  // Tokens of an image may share a position; a document of 2 tokens ends a row.
  CHECK(ids(lint_positions(i32({0, 1, 2, 2, 2}))) == Ids{"positions-jump"});
  CHECK(lint_positions(i32({0, 1, 2, 0, 1})).empty());
  CHECK(lint_positions(i32({0, 1, 5, 7}), i32({1, 1, 0, 0})).empty());
  const Finding late = only(lint_positions(i32({0, 1, 2, 3, 1, 2})));
  CHECK(late.rule->id == "positions-start");
  CHECK(late.where.entry == 4);
}

TEST_CASE("a leak in one of several local and global heads is found, in one piece or scattered",
          "[lint]") {
  const auto found = [](const std::string& leak) {
    return check({.start =
                      maskctl::apply(full_mask(1, 2, 64, 64),
                                     load_chain(std::array{std::string("doc:lens=20+44 | causal | "
                                                                       "heads:1{window:keys=8}"),
                                                           leak},
                                                {}))})
        .findings;
  };
  CHECK(found("open:q=63,k=63").empty());
  const Finding pieces = only(found("heads:1{open:q=40-47,k=4-15 | open:q=25-30,k=2-9}"));
  CHECK(pieces.rule->id == "nearly");
  CHECK(pieces.message.ends_with(
      " except for 144 cells: head 1, queries 25-30, keys 2-9; head 1, queries 40-47, keys 4-15"));
  std::string scattered;
  for (int i = 0; i < 15; ++i) {
    const std::string cell =
        "open:q=" + std::to_string(22 + 2 * i) + ",k=" + std::to_string(1 + 7 * i % 19);
    scattered += (i == 0 ? "heads:1{" : " | ") + cell;
  }
  CHECK_FALSE(found(scattered + "}").empty());
}

TEST_CASE("positions and segments that separate different tokens are reported", "[lint]") {
  const auto beside = [](const Tensor& positions) {
    const DocumentSource segments{DocumentForm::kSegments, i32({7, 7, 7, 8, 8, -1})},
        own{DocumentForm::kPositions, positions};
    return lint_descriptions(std::vector{&segments, &own});
  };
  CHECK(beside(i32({0, 1, 2, 0, 1, 0})).empty());
  CHECK(only(beside(i32({0, 1, 2, 3, 4, 0}))).where.entry == 3);
  CHECK(only(beside(i32({0, 1, 0, 0, 1, 0}))).where.entry == 2);
  CHECK(ids(beside(i32({0, 1}))) == Ids{"positions-segments"});
}

TEST_CASE("notes from reading an array become findings", "[lint]") {
  CHECK(lint_reading({}).empty());
  CHECK(lint_reading({0, true, false}).empty());
  CHECK(ids(lint_reading({3, true, true})) == Ids{"noncanonical-bool", "bias-mixed"});
}

TEST_CASE("an inverted mask is reported, the mask itself is not", "[lint]") {
  const char* chains[] = {"causal", "window:both=3", "causal | window:keys=4", "doc:lens=5+5+6",
                          "causal | prefix:n=5"};
  for (const char* chain : chains) {
    INFO(chain);
    const Mask mask = made(16, 16, chain);
    CHECK(of_mask(mask).empty());
    CHECK(of_mask(complement(mask)).front() == "polarity");
  }
  const Mask padded = made(16, 16, "pad:lens=9,side=right,of=both");
  CHECK(of_mask(padded) == Ids{"padding-rows-empty"});
  CHECK(of_mask(complement(padded)) == Ids{"polarity"});
  CHECK(of_mask(made(16, 16, "pad:lens=9,side=left,of=kv")).empty());
  // A causal mask whose rows are rolled by one: most queries see the whole past but themselves.
  CHECK(of_mask(made(16, 16, "causal:offset=-1 | open:q=0")) == Ids{"tokens-moved"});
  // Strictly causal: no query sees itself, and only the first row, which is empty, is a finding.
  CHECK(of_mask(made(16, 16, "causal:offset=-1")) == Ids{"empty-rows"});
}

TEST_CASE("inverted, transposed, opened and empty entries are reported", "[lint]") {
  CHECK(of_mask(made(16, 16, "window:left=0")) == Ids{"anti-causal"});
  CHECK(of_mask(transposed(made(16, 16, "doc:lens=5+11 | causal"))) == Ids{"anti-causal"});
  CHECK(of_mask(transposed(made(16, 16, "causal | prefix:n=4"))) == Ids{"anti-causal"});
  CHECK(of_mask(made(16, 16, "causal | prefix:n=4")).empty());
  const Mask left = made(16, 16, "pad:lens=12,side=left | causal");
  CHECK(of_mask(left) == Ids{"left-padding-nan"});
  CHECK(ids(lint_mask(left, nullptr, false)) == Ids{"padding-rows-empty"});
  const Mask rows(rectangle(16, 16, {0, 4}, {0, 16}));
  CHECK(of_mask(zip(Op::kOr, left, rows)) == Ids{"padding-rows-opened"});
  CHECK(of_mask(zip(Op::kOr, made(16, 16, "causal"), rows)) == Ids{"rows-opened"});
  const PlanePtr causal = made(16, 16, "causal").plane(0, 0);
  CHECK(of_mask(Mask::make(2, 1, 16, 16, [&](Index b, Index) {
          return b == 0 ? causal : empty_plane(16, 16);
        })) == Ids{"plane-empty"});
}

TEST_CASE("single cells off a pattern are reported, rules of many cells are not", "[lint]") {
  const auto nearly = [](const Mask& mask) {
    return ids(lint_pattern(pattern(mask)).value_or(Findings{}));
  };
  const Mask causal = made(32, 32, "causal");
  const Mask cell(rectangle(32, 32, {3, 4}, {20, 21}));
  CHECK(nearly(causal).empty());
  CHECK(nearly(zip(Op::kXor, causal, cell)) == Ids{"nearly"});
  const Finding leak = only(lint_pattern(pattern(zip(Op::kXor, causal, cell))).value());
  CHECK(leak.message == "causal except for 1 cell: query 3, key 20");
  CHECK(leak.where.key == 20);
  // Such a column is a rule of its own: single cells are not judged.
  const Mask column(rectangle(32, 32, {10, 32}, {7, 8}));
  CHECK_FALSE(lint_pattern(pattern(zip(Op::kSub, causal, column))));
}

TEST_CASE("masks that only close key padding, on either side, have no finding", "[lint]") {
  for (const Index n : {2, 3, 9, 64}) {
    for (Index length = 1; length < n; ++length) {
      const std::string lens = std::to_string(length);
      INFO(n << " tokens, " << lens);
      CHECK(of_mask(made(n, n, "pad:lens=" + lens + ",side=left")).empty());
      CHECK(of_mask(made(n, n, "pad:lens=" + lens)).empty());
    }
  }
}

TEST_CASE("an inverted mask over blocks of keys is reported, the mask itself is not", "[lint]") {
  const Mask own = Mask(rectangle(32, 4, {0, 32}, {0, 1}));
  const Mask causal(
      bands(32, 4,
            {{{0, 8}, {{0, 1}}}, {{8, 16}, {{0, 2}}}, {{16, 24}, {{0, 3}}}, {{24, 32}, {{0, 4}}}}));
  CHECK(of_mask(causal).empty());
  CHECK(of_mask(complement(causal)).front() == "polarity");
  CHECK(of_mask(own).empty());
}

TEST_CASE("open cells of the future are reported with their count, groups of tokens are not",
          "[lint]") {
  const auto future = [](Index n, const std::string& chain) {
    Findings found = lint_mask(made(n, n, chain), nullptr);
    std::erase_if(found, [](const Finding& one) { return one.rule->id == "empty-rows"; });
    return found;
  };
  const Finding block = only(future(512, "causal | open:q=300-310,k=400-409"));
  CHECK(block.rule->id == "future-part");
  CHECK(block.count == 110);
  CHECK(block.where.query == 300);
  CHECK(block.where.key == 400);
  // A block that meets the diagonal, a column and a row are each found as a whole too.
  CHECK(only(future(64, "causal | open:q=20-30,k=25-40")).count == 155);
  CHECK(only(future(64, "causal | open:q=6-49,k=50")).count == 44);
  CHECK(only(future(64, "causal | open:q=6,k=9-30")).count == 22);
  CHECK(only(future(64, "doc:lens=20+44 | causal | open:q=6,k=40-41")).count == 2);
  for (const char* sound : {"causal | prefix:n=20", "causal | open:q=5-20,k=5-20",
                            "causal | open:q=5-20,k=5-20 | open:q=21-30,k=21-30",
                            "pad:lens=50,side=left | causal | prefix:n=20", "window:both=5",
                            "doc:lens=20+30+14", "window:keys=9 | open:q=5-20,k=5-20",
                            "causal | global:tokens=20", "chunk:size=8", "causal:offset=1"}) {
    INFO(sound);
    for (const Finding& one : future(64, sound)) CHECK(one.rule->id != "future-part");
  }
}

TEST_CASE("groups of tokens that see later groups are reported, separate groups are not",
          "[lint]") {
  const char* apart = "causal | open:q=5-20,k=5-20 | open:q=30-45,k=30-45";
  CHECK(of_mask(made(64, 64, apart)).empty());
  const Finding joined =
      only(lint_mask(made(64, 64, std::string(apart) + " | open:q=5-20,k=30-45"), nullptr));
  CHECK(joined.rule->id == "groups-joined");
  CHECK(joined.count == 256);
  CHECK(joined.where.query == 5);
  CHECK(joined.where.key == 30);
  // Token 4 sees no earlier one, so that it is no causal token between groups.
  const Mask alone = made(6, 6, "doc:lens=4+2 | close:q=4-5,k=5 | open:q=0-3,k=5");
  CHECK(std::ranges::count(of_mask(alone), "groups-joined") == 0);
}

/// Returns the findings about `count` batch entries (or heads, if `heads`): one has the mask `odd`,
/// all others have the mask `usual`.
Findings of_entries(const std::string& usual, const std::string& odd, Index count, bool heads) {
  const Mask a = made(64, 64, usual), b = made(64, 64, odd);
  return lint_mask(Mask::make(heads ? 1 : count, heads ? count : 1, 64, 64,
                              [&](Index batch, Index head) {
                                return (batch + head == count - 2 ? b : a).plane(0, 0);
                              }),
                   nullptr, false);
}

TEST_CASE("a batch entry or head that differs from all others is reported", "[lint]") {
  CHECK(only(of_entries("causal", "prefix:n=64", 4, false)).rule->id == "plane-full");
  CHECK(only(of_entries("window:keys=9", "prefix:n=64", 2, true)).rule->id == "plane-full");
  CHECK(only(of_entries("causal", "doc:lens=20+40+4", 4, false)).rule->id == "plane-future");
  const Finding window = only(of_entries("window:keys=9", "window:keys=10", 5, true));
  CHECK(window.rule->id == "plane-differs");
  CHECK(window.count == 55);
  CHECK(window.where.head == 3);
  CHECK(only(of_entries("window:keys=9", "causal", 4, false)).rule->id == "plane-differs");
  CHECK(only(of_entries("window:keys=9", "causal", 4, true)).rule->id == "head-differs");
  CHECK(only(of_entries("causal", "causal | close:q=40,k=20", 3, false)).rule->id ==
        "plane-differs");
  for (const char* sound :
       {"causal | pad:lens=63", "causal | pad:lens=63,side=left,of=both", "causal | doc:lens=63+1",
        "causal | doc:lens=30+34", "causal | open:q=5-20,k=5-20", "causal | prefix:n=9"}) {
    INFO(sound);
    for (const Finding& one : of_entries("causal", sound, 4, false)) {
      CHECK(one.rule->severity == Severity::kNote);
    }
  }
  for (const Finding& one : of_entries("causal", "prefix:n=64", 4, false)) {
    CHECK(to_text(one.where) == "batch 2, head 0");
  }
  CHECK(of_entries("window:both=3", "pad:lens=40,of=kv", 3, false).size() == 1);
}

TEST_CASE("a head with another rule is a note, a head with a rule off by one is a warning",
          "[lint]") {
  const auto id = [](const char* usual, const char* odd) {
    Findings found = of_entries(usual, odd, 4, true);
    std::erase_if(found, [](const Finding& one) { return one.rule->id == "padding-rows-empty"; });
    return only(found).rule->id;
  };
  CHECK(id("window:keys=62", "causal") == "head-differs");
  CHECK(id("causal", "window:keys=62") == "head-differs");
  CHECK(id("causal", "window:keys=40 | sinks:n=4 | causal") == "head-differs");
  CHECK(id("pad:lens=50,side=left | causal", "pad:lens=50,side=left | window:keys=49") ==
        "head-differs");
  CHECK(id("window:keys=30", "window:keys=32") == "plane-differs");
  CHECK(id("causal", "causal | close:q=63,k=20") == "plane-differs");
}

TEST_CASE("opened padding rows are found at the ends of rows, and groups are not taken for them",
          "[lint]") {
  const auto opened = [](const std::string& chain) {
    return opened_rows(made(24, 24, chain).plane(0, 0));
  };
  using Ranges = std::vector<Range>;
  CHECK(opened("causal | pad:lens=20,side=left | open:q=0-3").padding == Ranges{{0, 4}});
  CHECK(opened("window:both=3 | pad:lens=20,side=left | open:q=0").padding == Ranges{{0, 1}});
  CHECK(opened("doc:lens=8+9 | causal | open:q=17-23").padding == Ranges{{17, 24}});
  CHECK(opened("chunk:size=8 | pad:lens=7 | causal | open:q=8-23").padding == Ranges{{8, 24}});
  for (const char* none :
       {"causal", "causal | prefix:n=24", "causal | open:q=20-23", "window:left=0",
        "window:both=2 | global:tokens=0+9", "causal | close:q=22,k=5"}) {
    INFO(none);
    CHECK(opened(none).padding.empty());
    CHECK(opened(none).others.empty());
  }
  CHECK(opened("causal | open:q=9-10").others == Ranges{{9, 11}});
  CHECK(opened("doc:lens=8+16 | causal | open:q=7").others == Ranges{{7, 8}});
  CHECK(opened("window:both=2 | open:q=9").others.empty());  // other rows see later keys too
}

TEST_CASE("recognised steps that open the future, or differ in documents by head, are reported",
          "[lint]") {
  const auto of = [](const Mask& start, const std::string& chain) {
    const Mask mask = maskctl::apply(start, test::chain_of(chain));
    recognition::KnownPlanes known;
    return ids(lint_recognised(pattern_of(mask, nullptr, known), known));
  };
  const Mask one(full_plane(48, 48)),
      four = Mask::make(2, 2, 48, 48, [](Index, Index) { return full_plane(48, 48); });
  CHECK(of(one, "causal").empty());
  CHECK(of(one, "causal:offset=1") == Ids{"future-diagonal"});
  CHECK(of(one, "window:left=9,right=1").empty());
  CHECK(of(one, "doc:lens=20+28 | causal | window:keys=7").empty());
  CHECK(of(four, "batch:1{causal:offset=2} | batch:0{causal}") == Ids{"future-diagonal"});
  CHECK(of(four, "causal | heads:0{window:keys=9}").empty());
  CHECK(of(four, "causal | batch:0{doc:lens=13+35} | batch:1{doc:lens=5+20+23}").empty());
  CHECK(of(four, "causal | heads:0{doc:lens=13+35} | heads:1{doc:lens=14+34}") ==
        Ids{"heads-documents"});
  CHECK(of(four, "causal | heads:1{doc:lens=5+20+23}") == Ids{"heads-documents"});
}

TEST_CASE("a rectangle between long documents is found beside padding that sees itself", "[lint]") {
  std::mt19937 random(29);
  const auto from = [&random](Index low, Index high) {  // inclusive
    return low + static_cast<Index>(random()) % (high - low + 1);
  };
  for (Index i = 0; i < test::rounds<Index>(24); ++i) {
    std::vector<Index> lengths;
    for (Index n = from(3, 6); n > 0; --n) lengths.push_back(from(120, 400));
    const Index tokens = std::accumulate(lengths.begin(), lengths.end(), Index{0});
    const Index padding = from(0, 40);
    std::string chain = fmt::format("doc:lens={}", joined(lengths, "+"));
    for (Index n = 0; n < padding; ++n) chain += "+1";
    chain += i % 3 == 0 ? " | window:keys=64" : " | causal";
    // Keys that end before the last document, which some of its queries see.
    const Index last = tokens - lengths.back(), k = from(1, last - 20),
                q = from(last + 5, tokens - 30);
    const Index wide = from(2, 19), high = from(1, 24);
    const std::string leak =
        fmt::format(" | open:q={}-{},k={}-{}", q, q + high - 1, i % 4 == 1 ? last - wide : k,
                    (i % 4 == 1 ? last : k + wide) - 1);
    INFO(chain << leak);
    const auto said = [&](const std::string& steps) {
      const Index n = tokens + padding;
      return ids(lint_pattern(pattern(made(n, n, steps))).value_or(Findings{}));
    };
    CHECK(said(chain).empty());
    CHECK(said(chain + leak) == Ids{"nearly"});
  }
}

TEST_CASE("strides and selected keys are no stray cells, and irregular masks are not judged",
          "[lint]") {
  const auto of = [](Index n, const std::string& chain) {
    return ids(lint_pattern(pattern(made(n, n, chain))).value_or(Findings{}));
  };
  CHECK(of(6, "window:keys=3 | open:q=4,k=0 | open:q=5,k=1").empty());
  CHECK(of(48, "causal | close:q=20-47,k=4-7").empty());  // two branches after a prefix
  CHECK(of(48, "causal | close:q=20-21,k=4-7") == Ids{"nearly"});
  CHECK(of(48, "causal | close:q=20,k=4") == Ids{"nearly"});
  CHECK(of(48, "doc:lens=20+28 | causal | open:q=40-43,k=6") == Ids{"nearly"});
  CHECK(of(48, "close:q=20,k=4") == Ids{"nearly"});
  // Some rows of a document that see another document are reported; a whole document that sees a
  // part of another is not.
  CHECK(of(48, "doc:lens=10+20+18 | causal | open:q=30-32,k=0-9") == Ids{"nearly"});
  CHECK(of(48, "doc:lens=10+20+18 | causal | open:q=30-47,k=0-9").empty());
  std::mt19937 random(5);
  PlanePtr noise = empty_plane(48, 48);
  for (int cell = 0; cell < 900; ++cell) {
    const auto q = static_cast<Index>(random() % 48), k = static_cast<Index>(random() % 48);
    noise = combine(Op::kXor, noise, rectangle(48, 48, {q, q + 1}, {k, k + 1}));
  }
  CHECK_FALSE(lint_pattern(pattern(Mask(noise))));
}

TEST_CASE("swapped axes of heads and queries are reported", "[lint]") {
  const Mask causal = made(16, 16, "causal");
  const auto rows = [&causal](Index, Index head) {
    return causal.plane(0, 0)->sliced({head, head + 1}, {0, 16});
  };
  CHECK(of_mask(Mask::make(1, 16, 1, 16, rows)) == Ids{"axes-exchanged"});
  CHECK(of_mask(Mask::make(1, 8, 1, 16, rows)).empty());
  CHECK(of_mask(Mask::make(1, 16, 1, 16, [&rows](Index, Index) { return rows(0, 9); })).empty());
}

TEST_CASE("a causal decoding mask that does not end at the last key is reported", "[lint]") {
  // The last key may be an empty slot of a cache, unless it is declared to be a token.
  const Mask decode = made(1, 16, "causal:align=bottom-right,offset=-1");
  const Mask token(full_plane(1, 16));
  CHECK(of_mask(decode) == Ids{"own-key-closed"});
  CHECK(ids(lint_mask(decode, &token, true, true)) == Ids{"decode-own-key"});
  CHECK(of_mask(made(1, 16,
                     "window:keys=5,align=bottom-right | causal:align=bottom-right,offset=-1")) ==
        Ids{"own-key-closed"});
  CHECK(of_mask(made(4, 16, "causal:align=bottom-right,offset=-1")) == Ids{"own-key-closed"});
  CHECK(of_mask(made(1, 16, "causal:align=bottom-right,offset=-2")).empty());
  CHECK(of_mask(made(4, 16, "causal:align=top-left")) == Ids{"top-left"});
  CHECK(of_mask(made(1, 16, "causal:align=top-left")) == Ids{"decode-first-key"});
  CHECK(of_mask(made(4, 16, "causal:align=bottom-right")).empty());
  CHECK(of_mask(made(16, 4, "causal:align=bottom-right")) == Ids{"empty-rows"});
}

TEST_CASE("rows without keys are called padding if a step or an id declares it", "[lint]") {
  const Mask mask = made(8, 8, "pad:lens=6,side=right,of=both | causal");
  const auto given = [&mask](const Mask& real) { return only(lint_mask(mask, &real)); };
  CHECK(only(lint_mask(mask, nullptr)).rule->id == "padding-rows-empty");
  const Mask seen = made(8, 8, "pad:lens=6,of=both | causal | close:q=3");  // its token is seen
  CHECK(ids(lint_mask(seen, nullptr)) == Ids{"empty-rows", "padding-rows-empty"});
  CHECK(only(lint_mask(mask, nullptr, false)).rule->id == "padding-rows-empty");
  const Finding padding = given(made(8, 8, "pad:lens=6,of=both"));
  CHECK(padding.rule->id == "padding-rows-empty");
  CHECK(padding.count == 2);
  CHECK(padding.where.query == 6);
  CHECK(ids(lint_mask(mask, &mask)) == Ids{"padding-rows-empty"});
  const Mask left = made(8, 8, "pad:lens=6,side=left,of=both | causal");
  CHECK(ids(lint_mask(left, nullptr)) == Ids{"left-padding-nan"});
  CHECK(ids(lint_mask(left, &left)) == Ids{"padding-rows-empty"});
  // One of the two empty rows is declared padding, the other is not.
  const Mask seven = made(8, 8, "pad:lens=7,of=both");
  CHECK(ids(lint_mask(mask, &seven)) == Ids{"empty-rows", "padding-rows-empty"});
  const Tensor all_real = i32({1, 8}, {1, 1, 1, 1, 1, 1, 1, 1});
  const Mask tokens = real_queries({all_real, all_real}, 8);
  CHECK(only(lint_mask(mask, &tokens, true, true)).rule->id == "empty-rows");
  // In a static cache the queries are the first keys.
  const Mask cache =
      made(6, 9, "pad:lens=9,side=right | causal:align=top-left | close:q=0-1 | close:k=0-1");
  CHECK(ids(lint_mask(cache, nullptr)) == Ids{"top-left", "left-padding-nan"});
}

TEST_CASE("steps of lengths, ids and queries declare padding", "[lint]") {
  const Mask open(full_plane(12, 12));
  const auto declared = [&open](const char* text) {
    const Chain chain = declaring(test::chain_of(text), shape_of(open));
    return empty_rows(*maskctl::apply(open, chain).plane(0, 0));
  };
  CHECK(declared("pad:lens=9 | causal") == std::vector<Range>{{9, 12}});
  CHECK(declared("pad:lens=9,side=left") == std::vector<Range>{{0, 3}});
  CHECK(declared("causal | doc:lens=4+5") == std::vector<Range>{{9, 12}});
  CHECK(declared("within:lens=4+5{causal}") == std::vector<Range>{{9, 12}});
  CHECK(declared("batch:0{pad:lens=9}") == std::vector<Range>{{9, 12}});
  CHECK(declared("pad:lens=9 | slice:q=6:12,k=0:12") == std::vector<Range>{{3, 6}});
  CHECK(declared("close:q=3 | causal:offset=-1 | window:keys=2").empty());
  CHECK(declared("slice:q=11 | pad:lens=9").empty());
  CHECK(declared("slice:q=0:4,k=0:4 | pad:lens=3") == std::vector<Range>{{3, 4}});
}

TEST_CASE("masks without open cells and without closed cells are reported", "[lint]") {
  CHECK(of_mask(Mask(empty_plane(4, 4))) == Ids{"mask-empty"});
  CHECK(of_mask(Mask(full_plane(4, 4))) == Ids{"mask-full"});
  CHECK(of_mask(Mask(full_plane(0, 4))).empty());
}

TEST_CASE("rows whose first open block comes late are noted", "[lint]") {
  const Finding late = only(lint_mask(made(512, 512, "window:keys=8"), nullptr));
  CHECK(late.rule->id == "first-block");
  CHECK(late.count == 363);
  CHECK(late.where.query == 135);
  CHECK(of_mask(made(512, 512, "window:keys=100")).empty());
}

TEST_CASE("open cells of padding are distinguished from leaks", "[lint]") {
  const Tensor rows = i32({1, 6}, {1, 1, 2, 2, -1, -1});
  const Documents documents{rows, rows};
  const auto findings = [&documents](const Mask& mask) {
    return ids(lint_documents(mask, documents, leaks(mask, documents)));
  };
  CHECK(findings(made(6, 6, "doc:lens=2+2")).empty());
  CHECK(findings(made(6, 6, "doc:lens=4")) == Ids{"document-leak"});
  CHECK(findings(made(6, 6, "doc:lens=2+2+2")) == Ids{"padding-rows-open"});
  CHECK(findings(made(6, 6, "doc:lens=2+2 | global:tokens=5")) ==
        Ids{"padding-attended", "padding-rows-open"});
  CHECK(findings(made(6, 6, "pad:lens=2,side=left,of=kv")) ==
        Ids{"padding-attended", "padding-rows-open", "rows-only-padding"});
}

TEST_CASE("findings about padding cells name the first cell", "[lint]") {
  const Tensor rows = i32({2, 6}, {1, 1, 2, 2, 3, 3, 1, 1, 2, 2, -1, -1});
  const Documents documents{rows, rows};
  const Mask mask = made(6, 6, "global:tokens=5");
  const Findings found = lint_documents(mask, documents, leaks(mask, documents));
  const auto place = [&found](std::string_view id) {
    const auto at = std::ranges::find(found, id, [](const Finding& one) { return one.rule->id; });
    return at == found.end() ? std::string("none") : to_text(at->where);
  };
  CHECK(place("padding-attended") == "batch 1, head 0, query 0, key 4");
  CHECK(place("padding-rows-open") == "batch 1, head 0, query 4, key 0");
}

TEST_CASE("rows that see only padding equal those of loops over every cell", "[lint]") {
  std::mt19937 random(5);
  Index found_any = 0;
  for (int round = 0; round < 400; ++round) {
    const Index n = 1 + static_cast<Index>(random() % 30);
    const test::MaskPair pair = test::random_mask(random, n, n);
    const Tensor rows = test::random_ids(random, 1, n);
    Index slow = 0;
    for (Index i = 0; i < pair.dense.b * pair.dense.h * n; ++i) {
      const Index q = i % n, h = i / n % pair.dense.h, b = i / n / pair.dense.h;
      bool real = false, padding = false;
      for (Index k = 0; k < n; ++k) {
        if (!pair.dense.get(b, h, q, k)) continue;
        (rows.as<std::int32_t>()[static_cast<std::size_t>(k)] < 0 ? padding : real) = true;
      }
      const bool own = rows.as<std::int32_t>()[static_cast<std::size_t>(q)] >= 0;
      slow += own && padding && !real;
    }
    const Documents documents{rows, rows};
    Index fast = 0;
    for (const Finding& finding :
         lint_documents(pair.mask, documents, leaks(pair.mask, documents))) {
      if (finding.rule->id == "rows-only-padding") fast = finding.count;
    }
    INFO("round " << round);
    CHECK(fast == slow);
    found_any += slow > 0;
  }
  CHECK(found_any > 15);
}

TEST_CASE("empty rows equal those of loops over every cell", "[lint]") {
  std::mt19937 random(9);
  for (int round = 0; round < 200; ++round) {
    INFO("round " << round);
    const Index n = 1 + static_cast<Index>(random() % 50);
    const test::MaskPair pair = test::random_mask(random, n, n);
    const Plane& plane = *pair.mask.plane(0, 0);
    std::vector<Range> slow;
    for (Index q = 0; q < n; ++q) {
      if (twin::count(pair.dense, {q, q + 1}, {0, n}) > 0) continue;
      if (slow.empty() || slow.back().end < q) slow.push_back({q, q});
      slow.back().end = q + 1;
    }
    CHECK(empty_rows(plane) == slow);
  }
}

TEST_CASE("a bias used with a mask: cells that only the bias closes are counted", "[lint]") {
  const Mask causal = made(4, 4, "causal");
  const Finding lost = only(lint_bias(causal, Mask(full_plane(4, 4))));
  CHECK(lost.count == 6);
  CHECK(lost.where.key == 1);
  CHECK(only(lint_bias(causal, causal)).count == 0);
}

TEST_CASE("steps without effect, and steps that reopen cells, are reported", "[lint]") {
  const Mask open(full_plane(12, 12));
  CHECK(of_chain(open, "doc:lens=5+7 | causal | window:keys=4").empty());
  const Finding idle = only(of_chain(open, "causal | window:keys=12"));
  CHECK(idle.rule->id == "step-no-op");
  CHECK(idle.where.step == 2);
  const Finding joined = only(of_chain(open, "doc:lens=5+7 | prefix:n=3"));
  CHECK(joined.rule->id == "step-reopens");
  CHECK(joined.count == 21);
  CHECK(joined.where.query == 5);
  CHECK(ids(of_chain(open, "causal | prefix:n=3")) == Ids{"step-reopens-order"});
  CHECK(of_chain(open, "causal | not").empty());
  CHECK(of_chain(open, "doc:lens=5+7 | slice:q=0:6,k=0:6 | prefix:n=6").empty());
}

TEST_CASE("a window that opens no key before the query's own is reported, keys=1 is not",
          "[lint]") {
  const Mask open(full_plane(4, 4));
  CHECK(ids(of_chain(open, "window:left=0,right=0")) == Ids{"window-zero"});
  CHECK(ids(of_chain(open, "window:both=0")) == Ids{"window-zero"});
  CHECK(of_chain(open, "window:keys=1").empty());
}

TEST_CASE("each finding has an id of its own, and a complete row", "[lint]") {
  std::set<std::string_view> seen;
  for (const LintRule& rule : lint_rules()) {
    INFO(rule.id);
    CHECK(seen.insert(rule.id).second);
    CHECK(&lint_rule(rule.key) == &rule);
    for (const auto& part : {rule.id, rule.summary, rule.claim, rule.why, rule.fix}) {
      CHECK_FALSE(part.empty());
    }
  }
  CHECK(seen.size() > 40);
}

}  // namespace
}  // namespace maskctl
