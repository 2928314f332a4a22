// Tests the causes that diff names for known differences of masks, and how often it is right about
// random differences.
#include <fmt/format.h>

#include "maskctl/inspect/diff/diff.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/mask/rows.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/window.h"
#include "support/catch_compat.h"
#include "support/edited_pair.h"

namespace maskctl {
namespace {

Mask made(Index queries, Index keys, const Chain& chain) {
  return maskctl::apply(Mask(full_plane(queries, keys)), chain);
}

Step window(Index left) {
  step::Window rule;
  rule.left = left;
  rule.right = 0;
  return {rule};
}

Step causal(Align align) {
  step::Causal rule;
  rule.align = align;
  return {rule};
}

std::string cause_text(const Mask& a, const Mask& b) {
  const auto cause = diff_cause(a, b);
  REQUIRE(cause);
  CHECK((cause->by_pipelines ? cause->residue_b : cause->edit_residue).cells == 0);
  return cause->kind + ": " + cause->text;
}

TEST_CASE("diff names no cause for equal masks", "[diff][cause]") {
  const Mask a = made(20, 20, {window(3)});
  CHECK_FALSE(diff_cause(a, made(20, 20, {window(3)})));
}

TEST_CASE("a window that is longer by one key is named with both lengths", "[diff][cause]") {
  CHECK(cause_text(made(64, 64, {window(7)}), made(64, 64, {window(8)})) ==
        "parameter: B = A with window left 8 instead of 7");
  constexpr Index kTokens = Index{1} << 20;
  CHECK(
      cause_text(made(kTokens, kTokens, {window(4095)}), made(kTokens, kTokens, {window(4096)})) ==
      "parameter: B = A with window left 4096 instead of 4095");
}

TEST_CASE("a changed alignment is named as the cause", "[diff][cause]") {
  CHECK(cause_text(made(16, 24, {causal(Align::kTopLeft)}),
                   made(16, 24, {causal(Align::kBottomRight)})) ==
        "alignment: B = A with alignment bottom-right instead of top-left (moved by K - Q = 8 "
        "keys)");
}

TEST_CASE("an inversion and swapped axes are named as the cause", "[diff][cause]") {
  const Mask a = made(32, 32, {window(5)});
  CHECK(cause_text(a, complement(a)) == "polarity: polarity inverted: B is open where A is closed");
  CHECK(cause_text(a, transposed(a)) == "transposed: q and k swapped: B is A transposed");
}

TEST_CASE("another order of heads is named as the cause", "[diff][cause]") {
  std::vector<PlanePtr> planes;
  for (Index left = 0; left < 4; ++left) {
    planes.push_back(made(16, 16, {window(left)}).plane(0, 0));
  }
  const Mask a(1, 4, planes, {0, 1, 2, 3}), b(1, 4, planes, {0, 3, 2, 1});
  CHECK(cause_text(a, b) == "heads: B = A with heads permuted: B's 1 is A's 3, 3 is A's 1");
  const Mask first(1, 1, planes, {0});
  CHECK(cause_text(a, first) == "heads: B = A with head 0 for all heads");
}

TEST_CASE("a cause that applies to one head names the head", "[diff][cause]") {
  const PlanePtr three = made(16, 16, {window(3)}).plane(0, 0);
  const PlanePtr four = made(16, 16, {window(4)}).plane(0, 0);
  const Mask a(1, 2, {three}, {0, 0}), b(1, 2, {three, four}, {0, 1});
  CHECK(cause_text(a, b) == "parameter: B = A with window left 4 instead of 3 (head 1)");
}

TEST_CASE("missing and merged documents are named as the cause", "[diff][cause]") {
  const auto documents = [](std::vector<std::int32_t> ids) {
    step::Document rule;
    rule.shared = true;
    rule.q.array = Tensor(DType::kInt32, {std::ssize(ids)});
    std::copy(ids.begin(), ids.end(), rule.q.array.as<std::int32_t>().begin());
    return made(std::ssize(ids), std::ssize(ids), {{rule}, causal(Align::kUnset)});
  };
  const Mask a = documents({0, 0, 0, 1, 1, 2, 2, 2, 2});
  CHECK(cause_text(a, documents({0, 0, 0, -1, -1, 2, 2, 2, 2})) ==
        "document: B = A with the document of tokens 3-4 missing");
  CHECK(cause_text(a, documents({0, 0, 0, 0, 0, 2, 2, 2, 2})) ==
        "document: B = A with document 0 (tokens 0-2) and document 1 (tokens 3-4) merged "
        "into one");
}

TEST_CASE("rows opened to all keys are named as rows, not as a longer document", "[diff][cause]") {
  step::DocumentLengths packed;
  packed.lengths = {5, 4, 3};
  const Mask a = made(16, 16, {{packed}, causal(Align::kUnset)});
  const Mask rows(rectangle(16, 16, {12, 16}, {0, 16}));
  CHECK(cause_text(a, zip(Op::kOr, a, rows)) ==
        "region: B = A with the rows of queries 12-15 open");
  CHECK(cause_text(zip(Op::kOr, a, rows), a) ==
        "region: B = A with the rows of queries 12-15 closed");
}

TEST_CASE("documents that differ irregularly are described by the first changed token",
          "[diff][cause]") {
  const auto documents = [](std::vector<std::int32_t> q, std::vector<std::int32_t> k) {
    step::Document rule;
    for (auto [side, ids] : {std::pair{&rule.q, &q}, std::pair{&rule.kv, &k}}) {
      side->array = Tensor(DType::kInt32, {std::ssize(*ids)});
      std::copy(ids->begin(), ids->end(), side->array.as<std::int32_t>().begin());
    }
    return made(std::ssize(q), std::ssize(k), {{rule}});
  };
  const std::vector<std::int32_t> a = {0, 1, 0, 2, 1, 2, 0, 1}, b = {0, 1, 1, 2, 0, 2, 1, 0},
                                  c = {0, 1, 2, 3, 0, 1, 3, 2};
  CHECK(cause_text(documents(a, a), documents(b, b)) ==
        "parameter: B = A with token 2 in document 1 instead of document 0, the first that "
        "differs");
  CHECK(cause_text(documents(a, a), documents(c, c)) ==
        "parameter: B = A with token 2 in document 2 instead of document 0, the first that "
        "differs, and 4 instead of 3 documents");
  CHECK(cause_text(documents(a, a), documents(b, a)) ==
        "parameter: B = A with query 2 in document 1 instead of document 0, the first that "
        "differs");
}

TEST_CASE("a large random mask gets a cause if all differing cells are open in the same mask",
          "[diff][cause]") {
  constexpr Index kTokens = 8320;
  const auto bits = [](const PlanePtr& plane) { return stored(*plane, 1 << 21); };
  const PlanePtr a = bits(random_plane(kTokens, kTokens, prng_key(3), 0, 0.3F));
  const PlanePtr row = rectangle(kTokens, kTokens, {5, 6}, {0, kTokens});
  const Mask closed(bits(combine(Op::kSub, a, row)));
  CHECK(cause_text(Mask(a), closed) == "region: B = A with the row of query 5 closed");
  CHECK(cause_text(closed, Mask(bits(combine(Op::kOr, closed.plane(0, 0), row)))) ==
        "region: B = A with the row of query 5 open");
  const PlanePtr other = rectangle(kTokens, kTokens, {9, 10}, {0, kTokens});
  const auto irregular = diff_cause(Mask(a), Mask(bits(combine(Op::kXor, a, other))));
  REQUIRE(irregular);
  CHECK(irregular->kind == "irregular");
  CHECK(irregular->edit_residue.cells == kTokens);
}

TEST_CASE("a single differing cell is listed as a cell, not as a rule", "[diff][cause]") {
  const Mask a = made(24, 24, {{step::DocumentLengths{{9, 6, 9}}}, causal(Align::kUnset)});
  const Mask b = zip(Op::kOr, a, Mask(rectangle(24, 24, {17, 18}, {3, 4})));
  const auto cause = diff_cause(a, b);
  REQUIRE(cause);
  CHECK(cause->kind == "cells");
  CHECK(cause->text == "B = A with query 17, key 3 open (document 2 sees document 0)");
  CHECK(cause->edit.empty());
  CHECK(cause->edit_residue.cells == 1);
  CHECK(cause->edit_residue.first == std::vector<Cell>{{0, 0, 17, 3}});
}

TEST_CASE("a shift of an irregular mask is named as the cause", "[diff][cause]") {
  const PlanePtr corner = combine(
      Op::kOr, rectangle(40, 40, {3, 9}, {2, 7}),
      combine(Op::kOr, rectangle(40, 40, {20, 21}, {9, 12}), rectangle(40, 40, {5, 8}, {15, 16})));
  const PlanePtr moved = combine(
      Op::kOr, rectangle(40, 40, {3, 9}, {7, 12}),
      combine(Op::kOr, rectangle(40, 40, {20, 21}, {14, 17}), rectangle(40, 40, {5, 8}, {20, 21})));
  CHECK(cause_text(Mask(corner), Mask(moved)) == "shift: B = A with all cells moved by 5 keys");
}

TEST_CASE("applying the cause of a random edit explains the edit", "[diff][cause]") {
  // tests/bench/diff_cause_rate.cc measures the same rates on many more pairs; those of 150 pairs
  // vary by a few percent.
  constexpr int kPairs = 150;
  int small = 0, complete = 0;
  for (int i = 0; i < kPairs; ++i) {
    const auto pair = twin::Editor(static_cast<std::uint64_t>(77000 + i)).draw();
    const twin::Verdict verdict = twin::judged(pair, diff_cause(pair.a, pair.b));
    INFO("pair " << i << ": " << pair.what);
    CHECK(verdict.is_true);
    small += verdict.small;
    complete += verdict.complete;
  }
  CHECK(small * 100 >= kPairs * 95);
  CHECK(complete * 100 >= kPairs * 95);
}

}  // namespace
}  // namespace maskctl
