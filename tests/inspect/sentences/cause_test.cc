// Every sentence in which diff names a cause is true of the cells of both masks; and a sentence
// with one number changed is not.
#include <fmt/format.h>

#include <regex>

#include "inspect/sentences/cause_said.h"
#include "inspect/sentences/drawn_masks.h"
#include "inspect/sentences/draws_asked.h"
#include "maskctl/mask/steps/chain_text.h"
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
