// Expectations read from text.
#include "maskctl/pipeline/expectations.h"

#include "pipeline/pipeline_support.h"
#include "support/catch_compat.h"
#include "support/contains.h"
#include "support/error_of.h"

namespace maskctl {
namespace {

Expectation parsed(const std::string& text) {
  ExpectationContext context;
  context.bind = test::context();
  context.bind.pad_id = -7;
  return parse_expectation(text, context);
}

template <typename Rule>
Rule rule(const std::string& text) {
  return std::get<Rule>(parsed(text).rule);
}

std::string refusal(const std::string& text) {
  return test::error_of([&] { parsed(text); });
}

bool says(const std::string& text, const std::string& words) {
  return test::contains(refusal(text), words);
}

TEST_CASE("expectations without arguments are read") {
  CHECK_NOTHROW(rule<expect::NoEmptyRows>("no-empty-rows"));
  CHECK_NOTHROW(rule<expect::Symmetric>("symmetric"));
  CHECK(parsed("symmetric").text == "symmetric");
  CHECK(says("symmetric:1", "takes no arguments"));
}

TEST_CASE("any step that closes cells can be an expectation") {
  CHECK(to_text(rule<expect::Within>("causal:align=bottom-right").chain) ==
        "causal:align=bottom-right");
  CHECK(to_text(rule<expect::Within>("window:keys=4").chain) == "window:keys=4");
  CHECK(to_text(rule<expect::Within>("doc:ids4.npy").chain) == "doc:ids4.npy,pad-id=-7");
  CHECK(says("window:4", "ambiguous"));
  CHECK(says("causal | window:keys=4", "equals:PIPELINE"));
  CHECK(says("prefix:n=3", "equals:PIPELINE"));
}

TEST_CASE("no-leak accepts documents in every form") {
  const expect::NoLeak ids = rule<expect::NoLeak>("no-leak:ids4.npy");
  CHECK(ids.documents.form == DocumentForm::kSegments);
  CHECK(ids.documents.pad_id == -7);
  CHECK_FALSE(ids.documents.kv);
  const expect::NoLeak two = rule<expect::NoLeak>("no-leak:kv=ids6.npy,q=ids4.npy");
  CHECK(two.documents.q.extent(0) == 4);
  CHECK(two.documents.kv->extent(0) == 6);
  CHECK(rule<expect::NoLeak>("no-leak:positions=ids4.npy").documents.form ==
        DocumentForm::kPositions);
  CHECK(rule<expect::NoLeak>("no-leak:cu_seqlens=lens.npy").documents.form ==
        DocumentForm::kCuSeqlens);
  CHECK(says("no-leak", "no documents"));
  CHECK(says("no-leak:q=ids4.npy", "q=SRC,kv=SRC"));
  CHECK(says("no-leak:ids=ids4.npy", "positions="));
  CHECK(says("no-leak:missing.npy", "no such file"));
}

TEST_CASE("expectations read block sizes and shares") {
  CHECK(rule<expect::BlockAligned>("block-aligned:64").block == BlockSize{64, 64});
  CHECK(rule<expect::RowSafe>("row-safe:block=64x128").block == BlockSize{64, 128});
  const expect::Density both = rule<expect::Density>("density:0.25..50%");
  CHECK(both.min == 0.25);
  CHECK(both.max == 0.5);
  CHECK_FALSE(rule<expect::Density>("density:..0.5").min);
  CHECK_FALSE(rule<expect::Density>("density:0.5..").max);
  for (const char* text : {"block-aligned", "block-aligned:0", "block-aligned:4x", "row-safe:64",
                           "row-safe:block=-1", "density:0.5", "density:..", "density:0.6..0.5",
                           "density:a..b", "density:0..2", "density:0..200%"}) {
    INFO(text);
    CHECK(says(text, "expectation"));
  }
}

TEST_CASE("expectations read other masks and pipelines to compare with") {
  CHECK(rule<expect::SubsetOf>("subset-of:other.npy").mask.queries() == 4);
  CHECK(to_text(rule<expect::Equals>("equals:causal | sinks:n=2").chain) == "causal | sinks:n=2");
  CHECK(says("equals:", "equals:PIPELINE"));
  CHECK(to_text(rule<expect::Covers>("covers:causal | sinks:n=2").chain) == "causal | sinks:n=2");
  CHECK(says("covers:", "covers:PIPELINE"));
  CHECK(says("subset-of", "subset-of:SOURCE"));
}

TEST_CASE("the argument of an expectation may be quoted as a whole") {
  const Mask plain = rule<expect::SubsetOf>("subset-of:other.npy").mask;
  for (const char* text : {"subset-of:\"other.npy\"", "subset-of:'other.npy'"}) {
    INFO(text);
    CHECK(rule<expect::SubsetOf>(text).mask.count() == plain.count());
    CHECK(parsed(text).text == text);
  }
  for (const char* text : {"equals:'causal | window:keys=3'", "equals:\"causal | window:keys=3\"",
                           "equals:causal | window:keys=3"}) {
    INFO(text);
    CHECK(to_text(rule<expect::Equals>(text).chain) == "causal | window:keys=3");
  }
  CHECK(says("subset-of:'other.npy", "'"));
  CHECK(says("subset-of:'other.npy',n=4", "quoted as a whole"));
  CHECK(says("equals:'causal' | window:keys=3", "quoted as a whole"));
  CHECK(says("subset-of:'missing.npy'", "missing.npy"));
}

TEST_CASE("the error about a mistyped expectation names the nearest") {
  CHECK(refusal("no-leek") == "unknown expectation 'no-leek'; did you mean 'no-leak'?");
  CHECK(says("foo", "known: no-empty-rows"));
}

}  // namespace
}  // namespace maskctl
