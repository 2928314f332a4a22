// Every sentence in which diff names a cause is true of the cells of both masks; and a sentence
// with one number changed is not.
#include <fmt/format.h>

#include <array>
#include <regex>

#include "inspect/sentences/cause_said.h"
#include "inspect/sentences/drawn_masks.h"
#include "inspect/sentences/draws_asked.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/pipeline/load.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

/// What is false about the cause of the differences of a drawn pair; "" if nothing is.
std::string wrong_cause(std::uint64_t seed) {
  const DrawnPair pair = MaskDraws(seed + 31000).pair();
  const auto cause = diff_cause(pair.a, pair.b);
  REQUIRE(cause);
  const std::string wrong = CauseSaid(said(*cause), pair.a, pair.b).wrong();
  if (wrong.empty()) return "";
  return fmt::format("pair {}: {}: {}\n  A is {}\n  B is {}\n  edit {}\n  cells {} {} {}", seed,
                     cause->text, wrong, to_text(cause->pipeline_a, "a.npz"),
                     to_text(cause->pipeline_b, "b.npz"), to_text(cause->edit, "e.npz"),
                     cause->residue_a.cells, cause->residue_b.cells, cause->edit_residue.cells);
}

TEST_CASE("diff: the cause of a difference is true", "[sentences]") {
  const Index draws = draws_asked(400);
  for (Index i = 0; i < draws; ++i) {
    const std::string wrong = wrong_cause(first_draw() + static_cast<std::uint64_t>(i));
    if (!wrong.empty()) FAIL_CHECK(wrong);
  }
}

TEST_CASE("diff: causes that were false once, or not understood, are true", "[sentences]") {
  // rows closed in each document, a dilation by batch, two arrays that change
  for (const std::uint64_t seed : {970012973, 970019826, 970022082}) CHECK(wrong_cause(seed) == "");
}

Mask made(Index tokens, const std::string& steps) {
  return maskctl::apply(Mask(full_plane(tokens, tokens)), load_chain(std::array{steps}, {}));
}

TEST_CASE("diff: what holds only in the middle of a chain is no cause", "[sentences]") {
  struct Pair {
    std::string a, b;
  };
  const std::vector<Pair> pairs{
      {"window:keys=6", "window:left=5 | global:tokens=12-23 | window:keys=7"},
      {"window:left=7,right=3", "window:left=7,right=3 | global:tokens=0-12 | causal"},
      {"chunk:size=8 | causal", "chunk:size=8 | causal | open:q=8-15,k=7"},
      {"causal | prefix:n=16", "causal | open:q=0-5,k=0-15 | open:q=12-23,k=0-15"},
      {"doc:lens=9+6+5 | causal", "doc:lens=9+6+5 | global:tokens=20-23 | causal"},
      {"causal | open:q=8-20,k=8-20", "causal | open:q=12-20,k=12-20"},
      {"block-causal:size=6", "block-causal:size=6 | close:q=6,k=7-11 | close:q=7,k=8-11"},
      {"causal", "causal:offset=-1"},
      {"dilated:stride=3 | causal", "at:keys=23+0-22{dilated:stride=3 | causal}"},
      {"window:keys=5 | sinks:n=2 | causal", "at:keys=23+0-22{window:keys=5 | sinks:n=2 | causal}"},
      {"doc:lens=9+6+9 | causal", "at:keys=23+0-22{doc:lens=9+6+9 | causal}"},
      {"doc:lens=4+11+9 | window:keys=4",
       "at:queries=23+0-22,keys=23+0-22{doc:lens=4+11+9 | window:keys=4}"},
  };
  for (const Pair& pair : pairs) {
    const Mask a = made(24, pair.a), b = made(24, pair.b);
    const auto cause = diff_cause(a, b);
    REQUIRE(cause);
    INFO(pair.a << " -> " << pair.b << ": " << cause->text);
    CHECK(CauseSaid(said(*cause), a, b).wrong() == "");
  }
}

/// The sentence with its i-th number one larger; nothing if it has fewer.
std::optional<std::string> with_number_changed(const std::string& text, Index i) {
  static const std::regex number(R"(\d+)");
  std::sregex_iterator at(text.begin(), text.end(), number), end;
  for (; i > 0 && at != end; --i) ++at;
  if (at == end) return std::nullopt;
  return text.substr(0, static_cast<std::size_t>(at->position())) +
         std::to_string(std::stoll(at->str()) + 1) +
         text.substr(static_cast<std::size_t>(at->position() + at->length()));
}

TEST_CASE("diff: a cause with one number or state changed is found to be false", "[sentences]") {
  Index planted = 0;
  const Index draws = draws_asked(90);
  for (Index i = 0; i < draws; ++i) {
    const DrawnPair pair = MaskDraws(first_draw() + static_cast<std::uint64_t>(i) + 52000).pair();
    const auto cause = diff_cause(pair.a, pair.b);
    REQUIRE(cause);
    std::vector<std::string> texts;
    for (Index n = 0; n < 8; ++n) {
      if (auto text = with_number_changed(cause->text, n)) texts.push_back(std::move(*text));
    }
    for (const auto& [from, to] :
         {std::pair(" open", " closed"), std::pair(" closed", " open"),
          std::pair(" missing", " added"), std::pair(" added", " missing")}) {
      const std::size_t at = cause->text.find(from);
      if (at == std::string::npos) continue;
      texts.push_back(std::string(cause->text).replace(at, std::string_view(from).size(), to));
    }
    for (const std::string& text : texts) {
      SaidCause lie = said(*cause);
      lie.text = text;
      ++planted;
      INFO("pair " << i << ": " << cause->text);
      CHECK_FALSE((text + ": " + CauseSaid(lie, pair.a, pair.b).wrong()) == text + ": ");
    }
  }
  CHECK(planted > 3 * draws);
}

}  // namespace
}  // namespace maskctl::test
