// Findings: each on the smallest input that has it, and on none that has not.
#include "maskctl/inspect/check/lint.h"

#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include "inspect/random_masks.h"
#include "maskctl/inspect/count/row_safety.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"

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

Ids of_mask(const Mask& mask) { return ids(lint_mask(mask, nullptr)); }

Findings of_chain(Mask mask, const std::string& text) {
  std::vector<std::string> texts;
  const Chain chain = test::chain_of(text);
  for (const Step& step : chain) texts.push_back(to_text(Chain{step}));
  return lint_chain(std::move(mask), chain, texts).findings;
}

TEST_CASE("cumulative lengths are judged entry by entry", "[lint]") {
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

TEST_CASE("segment ids that recur and zeros at the end are reported", "[lint]") {
  CHECK(lint_segments(i32({3, 3, 1, 1, 2, -1}), -1).empty());
  CHECK(lint_segments(i32({1, -1, 2, -1, -1}), -1).empty());
  const Finding back = only(lint_segments(i32({2, 5}, {1, 1, 2, 2, 3, 1, 2, 1, 2, 3}), -1));
  CHECK(back.rule->id == "segments-return");
  CHECK(back.count == 2);
  CHECK(back.where.batch == 1);
  CHECK(back.where.entry == 2);
  const std::int32_t far = std::numeric_limits<std::int32_t>::max();  // no table holds these
  const Finding apart = only(lint_segments(i32({far, 4, -far, 4, far, -1, far}), -1));
  CHECK(apart.rule->id == "segments-return");
  CHECK(apart.count == 3);
  CHECK(apart.where.entry == 3);
  CHECK(ids(lint_segments(i32({1, 2, 0, 0}), -1)) == Ids{"segments-zero-tail"});
  CHECK(lint_segments(i32({1, 2, 0, 0}), 0).empty());
  CHECK(lint_segments(i32({0, 0, 0}), -1).empty());
}

TEST_CASE("positions start at 0 and go on by 1", "[lint]") {
  CHECK(lint_positions(i32({0, 1, 2, 0, 1, 0, -1, -1})).empty());
  CHECK(ids(lint_positions(i32({0, 1, 1, 2}))) == Ids{"positions-jump"});
  CHECK(ids(lint_positions(i32({5, 6, 7}))) == Ids{"positions-start"});
  const Finding late = only(lint_positions(i32({0, 1, 2, 3, 1, 2})));
  CHECK(late.rule->id == "positions-start");
  CHECK(late.where.entry == 4);
}

TEST_CASE("positions and segments must cut at the same tokens", "[lint]") {
  const Tensor segments = i32({7, 7, 7, 8, 8, -1});
  CHECK(lint_positions_against_segments(i32({0, 1, 2, 0, 1, 0}), segments, -1).empty());
  const Finding on = only(lint_positions_against_segments(i32({0, 1, 2, 3, 4, 0}), segments, -1));
  CHECK(on.where.entry == 3);
  const Finding cut = only(lint_positions_against_segments(i32({0, 1, 0, 0, 1, 0}), segments, -1));
  CHECK(cut.where.entry == 2);
  CHECK(ids(lint_positions_against_segments(i32({0, 1}), segments, -1)) ==
        Ids{"positions-segments"});
}

TEST_CASE("what reading saw becomes findings", "[lint]") {
  CHECK(lint_reading({}).empty());
  CHECK(lint_reading({0, true, false}).empty());
  CHECK(ids(lint_reading({3, true, true})) == Ids{"noncanonical-bool", "bias-mixed"});
}

TEST_CASE("an inverted mask is suspected, its complement is not", "[lint]") {
  const char* chains[] = {"causal", "window:both=3", "causal | window:keys=4", "doc:lens=5+5+6"};
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
  // Strictly causal: no query sees itself, and still nothing is wrong with it.
  CHECK(of_mask(made(16, 16, "causal:offset=-1")) == Ids{"empty-rows"});
}

TEST_CASE("inverted and transposed masks, opened rows and entries that see nothing are reported",
          "[lint]") {
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

TEST_CASE("single cells beside a pattern are reported, and rules of many cells are not", "[lint]") {
  const auto nearly = [](const Mask& mask) {
    return ids(lint_pattern(recognise(mask), "causal", "causal", mask));
  };
  const Mask causal = made(32, 32, "causal");
  const Mask cell(rectangle(32, 32, {3, 4}, {20, 21}));
  CHECK(nearly(causal).empty());
  CHECK(nearly(zip(Op::kXor, causal, cell)) == Ids{"nearly"});
  const Finding leak = only(lint_pattern(recognise(zip(Op::kXor, causal, cell)), "causal", "causal",
                                         zip(Op::kXor, causal, cell)));
  CHECK(leak.message == "causal except for 1 cell: query 3, key 20");
  CHECK(leak.where.key == 20);
  CHECK(nearly(zip(Op::kSub, causal, Mask(rectangle(32, 32, {10, 32}, {7, 8})))).empty());
}

TEST_CASE("causal masks for decoding must end at the last key", "[lint]") {
  CHECK(of_mask(made(4, 16, "causal:align=top-left")) == Ids{"top-left"});
  CHECK(of_mask(made(1, 16, "causal:align=top-left")) == Ids{"decode-first-key"});
  CHECK(of_mask(made(4, 16, "causal:align=bottom-right")).empty());
  CHECK(of_mask(made(16, 4, "causal:align=bottom-right")) == Ids{"empty-rows"});
}

TEST_CASE("rows without keys are padding when nothing sees them either", "[lint]") {
  const Mask mask = made(8, 8, "pad:lens=6,side=right,of=both | causal");
  const Finding padding = only(lint_mask(mask, nullptr));
  CHECK(padding.rule->id == "padding-rows-empty");
  CHECK(padding.count == 2);
  CHECK(padding.where.query == 6);
  const Tensor all_real = i32({1, 8}, {1, 1, 1, 1, 1, 1, 1, 1});
  const Documents documents{all_real, all_real};
  CHECK(ids(lint_mask(mask, &documents)) == Ids{"empty-rows"});
}

TEST_CASE("documents of other batches do not decide what is padding", "[lint]") {
  const PlanePtr plane = made(4, 4, "pad:lens=3,side=right,of=both").plane(0, 0);
  const Mask mask = Mask::make(3, 1, 4, 4, [&](Index, Index) { return plane; });
  const Tensor rows = i32({2, 4}, {1, 1, 1, 1, 1, 1, 1, 1});
  const Documents documents{rows, rows};
  CHECK(ids(lint_mask(mask, &documents)) == Ids{"padding-rows-empty"});
}

TEST_CASE("masks of nothing and of everything", "[lint]") {
  CHECK(of_mask(Mask(empty_plane(4, 4))) == Ids{"mask-empty"});
  CHECK(of_mask(Mask(full_plane(4, 4))) == Ids{"mask-full"});
  CHECK(of_mask(Mask(full_plane(0, 4))).empty());
}

TEST_CASE("rows that a kernel reaches late are noted", "[lint]") {
  const Finding late = only(lint_mask(made(256, 256, "window:keys=8"), nullptr));
  CHECK(late.rule->id == "first-block");
  CHECK(late.count == 121);
  CHECK(late.where.query == 135);
}

TEST_CASE("padding and leaks are distinguished", "[lint]") {
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

TEST_CASE("cells of padding say where the first is", "[lint]") {
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

TEST_CASE("rows that see only padding agree with looking at every cell", "[lint]") {
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

TEST_CASE("empty rows agree with looking at every cell", "[lint]") {
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

TEST_CASE("a bias used with a mask shows what is lost with the mask", "[lint]") {
  const Mask causal = made(4, 4, "causal");
  const Finding lost = only(lint_bias(causal, Mask(full_plane(4, 4))));
  CHECK(lost.count == 6);
  CHECK(lost.where.key == 1);
  CHECK(only(lint_bias(causal, causal)).count == 0);
}

TEST_CASE("steps that do nothing, and steps that reopen", "[lint]") {
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

TEST_CASE("a window of nothing is reported, one key is not", "[lint]") {
  const Mask open(full_plane(4, 4));
  CHECK(ids(of_chain(open, "window:left=0,right=0")) == Ids{"window-zero"});
  CHECK(ids(of_chain(open, "window:both=0")) == Ids{"window-zero"});
  CHECK(of_chain(open, "window:keys=1").empty());
}

TEST_CASE("docs/lint.md lists every finding as the table has it", "[lint]") {
  std::ifstream file(std::string(MASKCTL_SOURCE_DIR) + "/docs/lint.md");
  std::stringstream page;
  page << file.rdbuf();
  std::set<std::string_view> seen;
  for (const LintRule& rule : lint_rules()) {
    INFO(rule.id);
    CHECK(seen.insert(rule.id).second);
    const std::string row = "| `" + std::string(rule.id) + "` | " +
                            std::string(name(rule.severity)) + " | " + std::string(rule.summary) +
                            " | " + std::string(rule.why) + " | " + std::string(rule.fix);
    const std::size_t at = page.str().find(row);
    REQUIRE(at != std::string::npos);
    // The page may add the remedy, in the words of the command.
    const std::string_view end = rule.remedy.kind == Remedy::kNone ? " |\n" : ", or ";
    CHECK(page.str().substr(at + row.size()).starts_with(end));
  }
}

}  // namespace
}  // namespace maskctl
