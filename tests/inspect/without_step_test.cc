// Words for forms that no step makes, held against plain cells.
#include "maskctl/inspect/recognise/without_step.h"

#include <random>

#include "inspect/random_masks.h"
#include "inspect/sentences/form_words.h"
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

/// Draws documents of 4 to 12 tokens that are causal except for a prefix, which may be the whole
/// document.
Dense documents_with_rules(DrawnNumbers& draw) {
  std::vector<Index> document, prefix, begin;
  const Index documents = draw.from(2, 5);
  for (Index i = 0; i < documents; ++i) {
    const Index length = draw.from(4, 12);
    begin.push_back(std::ssize(document));
    document.insert(document.end(), static_cast<std::size_t>(length), i);
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

TEST_CASE("documents with rules of their own, and evicted keys, are described truly",
          "[sentences]") {
  Index said = 0, caught = 0;
  for (Index seed = 0; seed < rounds(400); ++seed) {
    DrawnNumbers draw(static_cast<std::uint64_t>(seed));
    const Dense cells = seed % 2 == 0 ? documents_with_rules(draw) : evicted_keys(draw);
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

TEST_CASE("masks that steps can describe get no other description") {
  CHECK(forms_without_step(made(24, 24, "doc:lens=9+6+9 | causal")).empty());
  CHECK(forms_without_step(made(24, 24, "doc:lens=9+6+9")).empty());
  CHECK(forms_without_step(made(8, 24, "causal:align=bottom-right")).empty());
  const Chain prefix = chain_of("causal | prefix:n=4 | doc:lens=9+6+9");
  const Mask mask = maskctl::apply(Mask(full_plane(24, 24)), prefix);
  CHECK_FALSE(forms_without_step(mask).empty());
  CHECK(forms_without_step(mask, &prefix).empty());
}

}  // namespace
}  // namespace maskctl::test
