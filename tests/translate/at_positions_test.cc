// What is written of rules inside documents and at the positions of tokens reads back as such.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>
#include <random>
#include <string>

#include "maskctl/mask/mask.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/translate/translate.h"
#include "pipeline/pipeline_support.h"
#include "support/catch_compat.h"
#include "support/rounds.h"
#include "translate/libraries.h"

namespace maskctl {
namespace {

using test::lib;

std::string code_for(const Library& library, const std::string& pipeline) {
  const Translation made = translate(test::bound(pipeline), library,
                                     [](const Step& step) { return to_text(Chain{step}); });
  INFO(pipeline << ": " << made.refusal);
  REQUIRE(made.ok());
  std::string out;
  for (const std::string& line : made.code) out += line + "\n";
  return out;
}

/// The mask that the chain makes of a full one, against that of the pipeline.
Index differing(const Chain& chain, const std::string& pipeline, Index queries, Index keys) {
  const Mask full(full_plane(queries, keys));
  return zip(Op::kXor, maskctl::apply(full, chain), maskctl::apply(full, test::bound(pipeline)))
      .count();
}

class Drawn {
 public:
  explicit Drawn(unsigned seed) : random_(seed) {}
  Index pick(Index low, Index high) {
    return low + static_cast<Index>(random_() % static_cast<unsigned>(high - low + 1));
  }
  std::string numbers(std::size_t count, Index low, Index high) {
    std::vector<Index> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(pick(low, high));
    return fmt::format("{}", fmt::join(out, "+"));
  }
  /// A chain inside `count` documents, with a list in most.
  std::string inside(std::size_t count) {
    switch (pick(0, 7)) {
      case 0:
        return fmt::format("window:keys={}", numbers(count, 1, 4));
      case 1:
        return fmt::format("causal | prefix:n={}", numbers(count, 0, 3));
      case 2:
        return fmt::format("causal:offset={}", numbers(count, 0, 2));
      case 3:
        return fmt::format("chunk:size={} | causal", numbers(count, 1, 4));
      case 4:
        return fmt::format("batch:{}{{causal}}", pick(0, static_cast<Index>(count) - 1));
      case 5:
        return "causal | window:keys=3";
      case 6:
        return fmt::format("window:keys={} | batch:0{{causal | prefix:n=1}}", pick(1, 4));
      default:
        return "causal | dilated:stride=2";
    }
  }

 private:
  std::mt19937 random_;
};

TEST_CASE("flex: 300 drawn rules inside documents, with a number for each, come back as such") {
  Drawn draw(81);
  for (int round = 0; round < test::rounds(300); ++round) {
    std::vector<Index> lengths;
    for (Index i = draw.pick(2, 4); i > 0; --i) lengths.push_back(draw.pick(1, 6));
    const Index tokens = std::accumulate(lengths.begin(), lengths.end(), Index{0});
    const std::string pipeline =
        fmt::format("within:lens={}{{{}}}", fmt::join(lengths, "+"), draw.inside(lengths.size()));
    for (const char* library : {"flex", "fa4"}) {
      const std::string code = code_for(lib(library), pipeline);
      INFO(library << ": " << pipeline << "\n" << code);
      const Chain back = lib(library).read(code);
      INFO(to_text(back));
      REQUIRE(differing(back, pipeline, tokens, tokens) == 0);
      REQUIRE(to_text(back).find(".npy") == std::string::npos);
    }
  }
}

TEST_CASE("flex: a list of numbers inside documents reads back as a list") {
  for (const auto& [pipeline, text] :
       {std::pair{"within:lens=4+5{causal | prefix:n=1+3}",
                  "within:lens=4+5{causal:align=top-left | prefix:n=1+3}"},
        {"within:lens=3+4{causal}", "within:lens=3+4{causal:align=top-left}"}}) {
    CHECK(to_text(lib("flex").read(code_for(lib("flex"), pipeline))) == text);
  }
}

TEST_CASE("flex: 300 drawn rules at the positions of tokens come back as such") {
  Drawn draw(82);
  for (int round = 0; round < test::rounds(300); ++round) {
    const auto tokens = [&] {
      std::string out;
      for (Index at = draw.pick(0, 3), i = draw.pick(1, 3); i > 0; --i) {
        const Index end = at + draw.pick(0, 4);
        out += fmt::format("{}{}-{}", out.empty() ? "" : "+", at, end);
        at = end + draw.pick(1, 4);
      }
      return out;
    };
    const auto count = [](const std::string& ranges) {
      const Chain one = test::bound("take:queries=" + ranges);
      return maskctl::apply(Mask(full_plane(64, 1)), one).queries();
    };
    const std::string q = tokens(), k = draw.pick(0, 1) ? tokens() : q;
    const char* inner[] = {"causal",
                           "window:keys=4",
                           "window:both=3 | causal",
                           "chunk:size=5 | causal",
                           "doc:lens=20+44 | causal",
                           "causal | prefix:n=3",
                           "causal:align=top-left | dilated:stride=2"};
    const std::string pipeline =
        fmt::format("at:queries={},keys={},n=64{{{}}}", q, k, inner[draw.pick(0, 6)]);
    for (const char* library : {"flex", "fa4"}) {
      const std::string code = code_for(lib(library), pipeline);
      INFO(library << ": " << pipeline << "\n" << code);
      const Chain back = lib(library).read(code);
      INFO(to_text(back));
      REQUIRE(differing(back, pipeline, count(q), count(k)) == 0);
    }
  }
}

TEST_CASE("flex: terms of the row beside terms of a document are refused or read by arrays") {
  const std::string start = "doc = torch.tensor([0, 0, 1, 1])\npos = torch.tensor([0, 1, 0, 1])\n";
  const auto read = [&](const std::string& mask) { return lib("flex").read(start + mask); };
  CHECK(to_text(read(
            "(doc[q_idx] == doc[kv_idx]) & (pos[kv_idx] <= pos[q_idx]) & (kv_idx <= q_idx)")) ==
        "within:lens=2+2{causal:align=top-left} | causal:align=top-left");
  CHECK_THROWS(read("(doc[q_idx] == doc[kv_idx]) & (pos[kv_idx] <= q_idx - 1)"));
  CHECK_THROWS(read("(pos[q_idx] - kv_idx <= 1)"));
}

}  // namespace
}  // namespace maskctl
