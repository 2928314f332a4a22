// Tests check() on batches as training and serving stacks make them: local and global heads,
// padding, and documents that are given.
#include "maskctl/inspect/check/check.h"

#include <string>
#include <utility>
#include <vector>

#include "inspect/random_masks.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

using Said = std::vector<std::string>;

CheckResult checked(Mask mask, std::optional<DocumentSource> documents = std::nullopt) {
  return check({.start = std::move(mask), .documents = std::move(documents)});
}
Said said_of(const CheckResult& result) {
  Said out;
  for (const Finding& finding : result.findings) out.emplace_back(finding.rule->id);
  return out;
}
Mask of_heads(Index batch, Index heads, Index tokens, const std::string& steps) {
  return maskctl::apply(full_mask(batch, heads, tokens, tokens), test::chain_of(steps));
}

TEST_CASE("check: heads with and without a window are not reported as different documents",
          "[check]") {
  CHECK(checked(of_heads(2, 2, 64,
                         "batch:0{doc:lens=20+44} | batch:1{doc:lens=30+34} | causal | "
                         "heads:1{window:keys=8}"))
            .findings.empty());
  CHECK(said_of(checked(of_heads(1, 2, 64, "causal | heads:0{doc:lens=20+44}"))) ==
        Said{"heads-documents"});
}

TEST_CASE("check: a leak and a hole are found where heads differ", "[check]") {
  const std::string packed = "doc:lens=68+231+122+91 | causal | heads:1";
  const struct {
    Mask mask;
    Index cells, query, key;
  } kFaults[] = {
      {of_heads(1, 2, 64,
                "doc:lens=20+44 | causal | heads:1{window:keys=8} | heads:1{open:q=40-43,k=8-12}"),
       20, 40, 8},
      {of_heads(1, 2, 512, packed + "{close:q=300-303,k=299 | open:q=300-303,k=290-298}"), 40, 300,
       290},
      {of_heads(1, 2, 512, packed + "{close:q=300-303,k=299}"), 4, 300, 299},
  };
  for (const auto& fault : kFaults) {
    const CheckResult result = checked(fault.mask);
    REQUIRE(said_of(result) == Said{"nearly"});
    const Finding& nearly = result.findings.front();
    CHECK(nearly.count == fault.cells);
    CHECK(nearly.where.head == 1);
    CHECK(nearly.where.query == fault.query);
    CHECK(nearly.where.key == fault.key);
  }
}

TEST_CASE("check: rows that see all keys are not called padding if all other rows see none",
          "[check]") {
  const CheckResult result = checked(of_heads(1, 1, 6, "close:q=4-5"));
  CHECK(said_of(result) == Said{"empty-rows"});
  CHECK(result.findings.front().message == "2 rows see no key");
}

TEST_CASE("check: given documents override guesses about padding", "[check]") {
  const Mask mask = of_heads(1, 1, 6, "causal | close:k=0");
  CHECK(said_of(checked(mask)) == Said{"left-padding-nan"});
  CHECK(checked(mask).ok());
  const CheckResult result =
      checked(mask, DocumentSource{.q = test::i32({0, 0, 0, 0, 0, 0}), .text = "ids"});
  CHECK(said_of(result) == Said{"empty-rows"});
  CHECK(result.findings.front().message == "1 row sees no key, and no query sees its token");
}

TEST_CASE("check: batches that transformers pads have no findings", "[check]") {
  const struct {
    const char* steps;
    std::vector<std::int32_t> positions, real;
  } kBatches[] = {
      {"pad:lens=6 | causal", {0, 1, 2, 3, 4, 5, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 0, 0, 0, 0}},
      {"pad:lens=6,side=left | causal",
       {1, 1, 1, 1, 0, 1, 2, 3, 4, 5},
       {0, 0, 0, 0, 1, 1, 1, 1, 1, 1}},
      {"pad:lens=9 | causal", {0, 1, 2, 3, 4, 5, 6, 7, 8, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 0}},
  };
  for (const auto& batch : kBatches) {
    INFO(batch.steps);
    const Mask mask = of_heads(1, 1, 10, batch.steps);
    const Tensor positions = test::i32(batch.positions), real = test::i32(batch.real);
    CHECK(checked(mask, DocumentSource{DocumentForm::kPositions, positions}).ok());
    CHECK(checked(mask,
                  DocumentSource{.form = DocumentForm::kPositions, .q = positions, .real = real})
              .ok());
    CHECK(checked(mask, DocumentSource{.real = real}).ok());
    const CheckResult open = checked(of_heads(1, 1, 10, "not | not"), DocumentSource{.real = real});
    CHECK(said_of(open) == Said{"padding-attended", "mask-full", "padding-rows-open"});
  }
}

TEST_CASE("check: padding flags apply to the keys of a decoding step", "[check]") {
  const Mask step = maskctl::apply(full_mask(1, 1, 1, 10), test::chain_of("close:k=0-3"));
  const DocumentSource padding{.real = test::i32({0, 0, 0, 0, 1, 1, 1, 1, 1, 1})};
  CHECK(checked(step, padding).findings.empty());
  CHECK(said_of(checked(full_mask(1, 1, 1, 10), padding)) == Said{"padding-attended", "mask-full"});
}

TEST_CASE("check: flags of keys alone do not say which queries are padding", "[check]") {
  const Mask cross = maskctl::apply(full_mask(1, 1, 2, 6), test::chain_of("close:k=4-5"));
  const Tensor keys = test::i32({1, 1, 1, 1, 0, 0});
  CHECK_THROWS_WITH(
      checked(cross, DocumentSource{.real = keys}),
      "6 flags of padding for 2 queries: flag 4 is 0, and which queries are padding is "
      "not known; give q=FLAGS,kv=FLAGS");
  const auto said = [&](const Mask& mask, std::initializer_list<std::int32_t> queries) {
    return said_of(checked(mask, DocumentSource{.real = test::i32(queries), .kv_real = keys}));
  };
  CHECK(said(cross, {1, 1}).empty());
  CHECK(said(cross, {1, 0}) == Said{"padding-rows-open"});
  CHECK(said(full_mask(1, 1, 2, 6), {1, 1}) == Said{"padding-attended", "mask-full"});
}

}  // namespace
}  // namespace maskctl
