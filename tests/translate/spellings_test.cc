// Steps that make the same mask get the same answers, however they are spelled.
#include <algorithm>
#include <string>
#include <vector>

#include "maskctl/inspect/check/lint.h"
#include "maskctl/inspect/diff/diff.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/translate/translate.h"
#include "pipeline/pipeline_support.h"
#include "support/catch_compat.h"
#include "translate/libraries.h"

namespace maskctl {
namespace {

using test::lib;

using test::bound;

struct Spellings {
  std::string a, b;
};

/// Pairs of steps that make the same 4 x 4 mask, of 2 batch entries where they have arrays.
const std::vector<Spellings>& spellings() {
  static const std::vector<Spellings> kAll = {
      {"pad:lens=3", "kv-lengths:lens=3"},           {"pad:lens=3+2", "kv-lengths:lens=3+2"},
      {"pad:lens.npy", "kv-lengths:lens.npy"},       {"window:keys=3", "window:left=2,right=0"},
      {"window:both=1", "window:left=1,right=1"},    {"chunk:size=2", "chunk:size=2,offset=0"},
      {"pad:lens=3", "pad:lens=3,side=right,of=kv"},
  };
  return kAll;
}

Mask full_start() { return full_mask(2, 1, 4, 4); }

/// The findings of check by rule and count, without the texts of the steps.
std::vector<std::string> findings(const std::string& text) {
  const Chain chain = bound(text);
  std::vector<std::string> texts;
  for (const Step& step : chain) texts.push_back(to_text({step}));
  std::vector<std::string> out;
  for (const Finding& one : lint_chain(full_start(), chain, texts).findings) {
    out.push_back(std::string(one.rule->id) + " " + std::to_string(one.count));
  }
  return out;
}

Translation translated(const std::string& text, const Library& library) {
  return translate(bound(text), library, [](const Step&) { return std::string("the step"); });
}

TEST_CASE("steps with the same meaning make the same mask") {
  for (const auto& [a, b] : spellings()) {
    CAPTURE(a, b);
    CHECK(differing_cells(maskctl::apply(full_start(), bound(a)),
                          maskctl::apply(full_start(), bound(b))) == 0);
  }
}

TEST_CASE("steps with the same meaning have equal findings, whatever step follows") {
  for (const auto& [a, b] : spellings()) {
    for (const char* then : {"", " | prefix:n=4", " | causal", " | open:q=0", " | not"}) {
      CAPTURE(a, b, then);
      CHECK(findings(a + then) == findings(b + then));
    }
  }
}

TEST_CASE("steps with the same meaning have equal translations") {
  for (const auto& [a, b] : spellings()) {
    for (const Library* library : libraries()) {
      for (const char* then : {"", " | causal"}) {
        CAPTURE(a, b, library->name, then);
        const Translation x = translated(a + then, *library);
        const Translation y = translated(b + then, *library);
        CHECK(x.code == y.code);
        CHECK(x.refusal == y.refusal);
      }
    }
  }
}

TEST_CASE("every step that is defined by its cells can be translated to a function") {
  for (const char* text :
       {"close:q=0-1,k=2", "open:q=0", "and:other.npy", "or:other.npy", "xor:other.npy",
        "sub:other.npy", "causal | slice:q=1:4,k=1:4", "not", "tokens:ids4.npy,combine=replace",
        "block:map.npy,size=2", "global:tokens=0", "within:lens=2+2{pad:lens=1}"}) {
    CAPTURE(text);
    CHECK(translated(text, lib("flex")).refusal.empty());
  }
  const Translation random = translated("random:sparsity=0.5", lib("flex"));
  CHECK(random.refusal.find("its cells are drawn") != std::string::npos);
}

std::string cause_of(const std::string& a, const std::string& b) {
  const KnownChains known{bound(a), bound(b)};
  const Mask full = full_mask(1, 1, 64, 64);
  const Mask left = maskctl::apply(full, *known.a);
  const Mask right = maskctl::apply(full, *known.b);
  const auto cause = diff_cause(left, right, diff(left, right), known);
  return cause ? cause->text : "equal";
}

TEST_CASE("diff names the argument that differs between two known chains") {
  CHECK(cause_of("close:k=3", "close:k=4") == "B = A with close k 4 instead of 3");
  CHECK(cause_of("random:sparsity=0.5,seed=1", "random:sparsity=0.5,seed=2") ==
        "B = A with random seed 2 instead of 1");
  CHECK(cause_of("causal | chunk:size=8", "causal | chunk:size=16") ==
        "B = A with chunk size 16 instead of 8");
  CHECK(cause_of("open:q=1 | close:k=3", "open:q=1 | close:k=3-4") ==
        "B = A with close k 3-4 instead of 3");
  CHECK(cause_of("dilated:stride=2", "dilated:stride=3") ==
        "B = A with dilated stride 3 instead of 2");
  CHECK(cause_of("causal:offset=1 | pad:lens=60", "causal:offset=1 | pad:lens=60,of=both") ==
        "B = A with padding rows closed");
}

/// The text of the chain that recognise finds for a mask of two batch entries.
std::string recognised_as(const std::string& text) {
  const Mask mask = maskctl::apply(full_mask(2, 1, 16, 16), bound(text));
  return to_text(recognise(mask).chain);
}

TEST_CASE("recognise finds one step with a number for each batch entry") {
  CHECK(recognised_as("causal:offset=0+2") == "causal:offset=0+2");
  CHECK(recognised_as("window:keys=4,offset=0+3") == "window:keys=4,offset=0+3");
  CHECK(recognised_as("causal | sinks:n=2+3") == recognised_as("causal | prefix:n=2+3"));
  CHECK(recognised_as("pad:lens=9+12") == "pad:lens=9+12");
  CHECK(recognised_as("window:keys=4+6") == "window:keys=4+6");
  CHECK(recognised_as("window:both=2+3") == "window:both=2+3");
  CHECK(recognised_as("window:left=2+3,right=1") == "window:left=2+3,right=1");
  CHECK(recognised_as("chunk:size=4+5") == "chunk:size=4+5");
  CHECK(recognised_as("chunk:size=4,offset=1+3") == "chunk:size=4,offset=1+3");
  CHECK(recognised_as("dilated:stride=2+3") == "dilated:stride=2+3");
  CHECK(recognised_as("dilated:stride=1+3 | causal") == "dilated:stride=1+3 | causal");
}

}  // namespace
}  // namespace maskctl
