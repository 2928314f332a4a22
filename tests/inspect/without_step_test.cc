// Words for forms that no step makes, held against plain cells.
#include "maskctl/inspect/recognise/without_step.h"

#include <cstdlib>
#include <random>

#include "inspect/random_masks.h"
#include "inspect/sentences/cause_said.h"
#include "inspect/sentences/form_words.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/inspect/recognise/steps.h"
#include "maskctl/mask/steps/chain_text.h"
#include "support/catch_compat.h"
#include "support/rounds.h"

namespace maskctl::test {
namespace {

/// Draws numbers from `low` to `high`.
class DrawnNumbers {
 public:
  explicit DrawnNumbers(std::uint64_t seed) : random_(seed) {}
  Index from(Index low, Index high) {
    return low + static_cast<Index>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  std::mt19937_64 random_;
};

std::vector<Index> lengths_of_documents(DrawnNumbers& draw) {
  std::vector<Index> out(static_cast<std::size_t>(draw.from(2, 5)));
  for (Index& length : out) length = draw.from(4, 12);
  return out;
}

/// Documents, each causal behind a prefix of its own, which may be all of it.
Dense documents_with_rules(DrawnNumbers& draw, const std::vector<Index>& lengths) {
  std::vector<Index> document, prefix, begin;
  for (const Index length : lengths) {
    begin.push_back(std::ssize(document));
    document.insert(document.end(), static_cast<std::size_t>(length), std::ssize(prefix));
    prefix.push_back(draw.from(0, 1) == 0 ? draw.from(1, length) : draw.from(0, 1) * length);
  }
  const Index tokens = std::ssize(document);
  return twin::make(1, 1, tokens, tokens, [&](Index, Index, Index q, Index k) {
    const auto own = static_cast<std::size_t>(document[static_cast<std::size_t>(q)]);
    if (document[static_cast<std::size_t>(k)] != static_cast<Index>(own)) return false;
    return k <= q || k - begin[own] < prefix[own];
  });
}

/// Draws a mask in which queries see the keys of earlier tokens, some of which were evicted.
Dense evicted_keys(DrawnNumbers& draw) {
  std::vector<Index> tokens;
  const Index queries = draw.from(4, 40);
  for (Index token = 0; token < queries; token += draw.from(0, 3)) tokens.push_back(token);
  return twin::make(1, 1, queries, std::ssize(tokens), [&](Index, Index, Index q, Index k) {
    return tokens[static_cast<std::size_t>(k)] <= q;
  });
}

/// Tokens in rows of `width` that see those at most `reach` rows and places away.
Dense clipped_grid(Index tokens, Index width, Index reach) {
  return twin::make(1, 1, tokens, tokens, [&](Index, Index, Index q, Index k) {
    return std::abs(q / width - k / width) <= reach && std::abs(q % width - k % width) <= reach;
  });
}

/// The words with one of their numbers larger by one.
std::string with_other_number(const std::string& words, DrawnNumbers& draw) {
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (std::isdigit(words[i]) && (i == 0 || !std::isdigit(words[i - 1]))) at.push_back(i);
  }
  const std::size_t begin = at[static_cast<std::size_t>(draw.from(0, std::ssize(at) - 1))];
  std::size_t used = 0;
  const Index number = std::stoll(words.substr(begin), &used);
  return words.substr(0, begin) + std::to_string(number + 1) + words.substr(begin + used);
}

TEST_CASE("grids and evicted keys are described truly", "[sentences]") {
  Index said = 0, caught = 0;
  for (Index seed = 0; seed < rounds(400); ++seed) {
    DrawnNumbers draw(static_cast<std::uint64_t>(seed));
    const Dense cells =
        seed % 4 == 0 ? clipped_grid(draw.from(40, 90), draw.from(6, 10), 1) : evicted_keys(draw);
    for (const std::string& words : forms_without_step(twin::mask_of(cells))) {
      INFO("seed " << seed << ": " << words);
      CHECK(form_holds(words, cells));
      ++said;
      const std::string other = with_other_number(words, draw);
      INFO("as false as " << other);
      const bool holds = form_holds(other, cells);
      CHECK_FALSE(holds);
      caught += !holds;
    }
  }
  CHECK(said == caught);
  CHECK(2 * said > rounds(400));
}

TEST_CASE("documents with rules of their own are recognised as such", "[recognise]") {
  Index exact = 0;
  for (Index seed = 0; seed < rounds(200); ++seed) {
    DrawnNumbers draw(static_cast<std::uint64_t>(seed));
    const Mask mask = twin::mask_of(documents_with_rules(draw, lengths_of_documents(draw)));
    const Recognised found = recognise(mask);
    CAPTURE(seed, to_text(found.chain));
    CHECK_FALSE(recognition::has_arrays(found.chain));
    CHECK(found.residue.cells <= 4);  // a rule of one document may be shorter to say by its cells
    exact += found.residue.cells == 0;
    CHECK(forms_without_step(mask).empty());
  }
  CHECK(10 * exact > 8 * rounds(200));
}

TEST_CASE("what diff says of documents with rules, grids and first keys is true", "[sentences]") {
  Index said = 0, others = 0;
  const auto ask = [&](const Dense& in_a, const Dense& in_b, DrawnNumbers& draw) {
    const Mask a = twin::mask_of(in_a), b = twin::mask_of(in_b);
    const auto cause = diff_cause(a, b);
    if (!cause) return;
    const std::string words = cause->text.substr(std::min<std::size_t>(cause->text.size(), 11));
    INFO(words);
    CHECK(CauseSaid(test::said(*cause), a, b).wrong().empty());
    const auto truth = forms_said(words, in_a, in_b);
    if (!truth) return;
    ++said;
    CHECK(*truth);
    others += forms_said(with_other_number(words, draw), in_a, in_b).value_or(false);
  };
  for (Index seed = 0; seed < rounds(25); ++seed) {
    DrawnNumbers draw(static_cast<std::uint64_t>(seed));
    const auto lengths = lengths_of_documents(draw);
    Dense a = documents_with_rules(draw, lengths), b = documents_with_rules(draw, lengths);
    ask(a, b, draw);
    for (Index q = lengths[0]; q < lengths[0] + lengths[1]; ++q) b.set(0, 0, q, 1, true);
    ask(a, b, draw);
    const Index tokens = draw.from(40, 60), width = draw.from(5, 7);
    ask(clipped_grid(tokens, width, 1), clipped_grid(tokens, width + 1, 1), draw);
    const auto first_keys = [&](Index closed) {
      return twin::make(5, 1, 1, 9, [&](Index n, Index, Index, Index k) {
        return k < 5 + n && (n < 2 || k >= closed * (n - 1));
      });
    };
    ask(first_keys(0), first_keys(1), draw);
  }
  CHECK(said >= rounds(25));
  CHECK(others == 0);
}

TEST_CASE("masks that steps can describe get no other description") {
  CHECK(forms_without_step(made(24, 24, "doc:lens=9+6+9 | causal")).empty());
  CHECK(forms_without_step(made(24, 24, "doc:lens=9+6+9")).empty());
  CHECK(forms_without_step(made(8, 24, "causal:align=bottom-right")).empty());
  CHECK(forms_without_step(made(24, 24, "within:lens=9+6+9{causal | prefix:n=4+0+9}")).empty());
}

}  // namespace
}  // namespace maskctl::test
