// Tests what check says about heads and batch entries with different rules, sound ones and faulty
// ones.
#include <fmt/format.h>

#include <algorithm>

#include "inspect/random_masks.h"
#include "maskctl/inspect/check/check.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

using FoundIds = std::vector<std::string>;
FoundIds found_ids(const CheckResult& result) {
  FoundIds out;
  for (const Finding& finding : result.findings) out.emplace_back(finding.rule->id);
  return out;
}

TEST_CASE(
    "heads with different documents are reported although padding rows see all; chunks are not",
    "[lint]") {
  const auto of = [](const std::string& chain, Index heads) {
    const Mask start =
        Mask::make(1, heads, 24, 24, [](Index, Index) { return full_plane(24, 24); });
    return found_ids(check({.start = maskctl::apply(start, chain_of(chain))}));
  };
  const std::string opened = " | causal | open:q=15-23";
  CHECK(of("heads:0{doc:lens=9+6} | heads:1{doc:lens=10+5}" + opened, 2) ==
        FoundIds{"heads-documents", "padding-rows-opened"});
  CHECK(of("doc:lens=9+6" + opened, 2) == FoundIds{"padding-rows-opened"});
  CHECK(of("pad:lens=19,side=left | heads:0{chunk:size=14} | heads:1{chunk:size=16} | causal | "
           "open:q=0-4",
           2) == FoundIds{"heads-documents", "padding-rows-opened"});
  // Local heads of chunks, and of every second token, beside global ones.
  CHECK(of("doc:lens=10+14 | heads:0{chunk:size=6} | causal", 2).empty());
  CHECK(of("doc:lens=10+2+12 | heads:1{dilated:stride=2} | causal", 2).empty());
}

TEST_CASE("padding that differs between heads is told, however much of a row it is", "[lint]") {
  const auto of = [](const std::string& chain) {
    const Mask start = Mask::make(2, 2, 40, 40, [](Index, Index) { return full_plane(40, 40); });
    return found_ids(check({.start = maskctl::apply(start, chain_of(chain))}));
  };
  const auto told = [&](const std::string& chain) {
    INFO(chain);
    const FoundIds found = of(chain);
    CHECK(std::ranges::count(found, "heads-borders") == 1);
  };
  for (const std::string side : {"", ",side=left"}) {
    for (const auto& [one, other] : {std::pair{5, 4}, {3, 6}, {20, 21}, {39, 38}}) {
      told(fmt::format("causal | batch:1{{heads:0{{pad:lens={}{}}} | heads:1{{pad:lens={}{}}}}}",
                       one, side, other, side));
    }
  }
  told("causal | batch:0{heads:0{pad:lens=5,side=left} | heads:1{pad:lens=30,side=left}}");
  told("causal | heads:1{window:keys=4} | batch:0{heads:0{pad:lens=5} | heads:1{pad:lens=7}}");
  // A head that sees the first keys alone is of another kind.
  CHECK(std::ranges::count(of("causal | heads:1{pad:lens=4}"), "heads-borders") == 0);
}

TEST_CASE("local and global heads of several batch entries have no findings", "[lint]") {
  const auto of = [](const std::string& chain) {
    const Mask start = Mask::make(3, 3, 21, 21, [](Index, Index) { return full_plane(21, 21); });
    return check({.start = maskctl::apply(start, chain_of(chain))}).ok();
  };
  // Two cells only are beyond the window.
  CHECK(
      of("batch:0{doc:lens=9+5} | batch:1{doc:lens=6+8} | batch:2{doc:lens=9+9} | causal | "
         "heads:2{window:keys=8}"));
  // A window cuts the prefix, whose tokens see each other in other heads.
  CHECK(
      of("batch:0{causal | prefix:n=5} | batch:1{causal | prefix:n=3} | batch:2{causal} | "
         "heads:0-1{window:both=2}"));
  // Padding on the left of rows that see later keys, too.
  CHECK(of("pad:lens=21+17+21,side=left | heads:1-2{window:both=3}"));
  CHECK_FALSE(of("causal | heads:1{window:keys=8} | batch:1{heads:1{open:q=20,k=2}}"));
}

TEST_CASE("leaks are found between documents from real lengths beside padded ones", "[lint]") {
  const auto cu = [](std::vector<std::int32_t> ends) {
    Tensor out(DType::kInt32, {std::ssize(ends)});
    std::ranges::copy(ends, out.as<std::int32_t>().begin());
    return DocumentSource{DocumentForm::kCuSeqlens, std::move(out), {}, -1, "cu"};
  };
  const auto of = [&](const std::string& chain) {
    return found_ids(check({.start = made(24, 24, chain),
                            .documents = cu({0, 5, 12, 15}),
                            .also = {cu({0, 8, 16, 24})}}));
  };
  CHECK(of("doc:lens=8+8+8 | causal") == FoundIds{"padding-rows-open", "lengths-padded"});
  CHECK(of("doc:lens=8+8+8") ==
        FoundIds{"padding-attended", "padding-rows-open", "lengths-padded"});
  CHECK(of("causal") ==
        FoundIds{"document-leak", "padding-attended", "padding-rows-open", "lengths-padded"});
}

TEST_CASE("a finding about cells of many batch entries is one short line", "[lint]") {
  std::string steps;
  for (Index b = 0; b < 32; ++b) {
    steps += fmt::format("batch:{}{{doc:lens={}+{}+{}}} | ", b, 5 + b % 7, 4 + b % 5,
                         15 - b % 7 - b % 5);
  }
  const Mask start = Mask::make(32, 1, 24, 24, [](Index, Index) { return full_plane(24, 24); });
  const CheckResult result = check(
      {.start = maskctl::apply(start, chain_of(steps + "causal | batch:7{close:q=20,k=18}"))});
  REQUIRE(result.findings.size() == 1);
  const Finding& nearly = result.findings.front();
  CHECK(nearly.message.find("; 31 batches: doc of 3 documents) | causal)") != std::string::npos);
  CHECK(nearly.message.ends_with(" except for 1 cell: batch 7, query 20, key 18"));
  CHECK(nearly.message.size() < 160);
}

}  // namespace
}  // namespace maskctl::test
