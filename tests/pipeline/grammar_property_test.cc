// Properties of the grammar: what print() writes is parsed to the same tree, and any bytes are
// parsed or refused with a message.
#include <rapidcheck.h>

#include <random>

#include "maskctl/pipeline/parse/grammar.h"
#include "pipeline/pipeline_support.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

rc::Gen<std::string> any_name() {
  return rc::gen::map(rc::gen::inRange(0, 5000), [](int i) {
    const char* tails[] = {"", "-", "_x", "9", "Ab-c_d"};
    return std::string(1, static_cast<char>('a' + i % 26)) + tails[i % 5];
  });
}

/// Random text of any bytes but zero, with more of the characters that the grammar uses.
rc::Gen<std::string> any_value() {
  return rc::gen::container<std::string>(rc::gen::oneOf(
      rc::gen::elementOf(std::string(" '\"|{}=,:#+-\n\t")),
      rc::gen::map(rc::gen::inRange(1, 256), [](int c) { return static_cast<char>(c); })));
}

rc::Gen<StepText> any_step(int depth) {
  return rc::gen::exec([depth] {
    StepText step;
    step.name = *any_name();
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
      Arg arg;
      if (*rc::gen::arbitrary<bool>()) arg.key = *any_name();
      arg.value = *any_value();
      step.args.push_back(std::move(arg));
    }
    step.has_nested = depth > 0 && *rc::gen::inRange(0, 3) == 0;
    if (step.has_nested) {
      for (int i = *rc::gen::inRange(1, 3); i > 0; --i) step.nested.push_back(*any_step(depth - 1));
    }
    return step;
  });
}

TEST_CASE("the printed text of any tree is parsed to an equal tree") {
  const bool holds = rc::check([] {
    Pipeline tree;
    for (int i = *rc::gen::inRange(1, 4); i > 0; --i) tree.steps.push_back(*any_step(3));
    const std::string text = print(tree);
    const Pipeline parsed = parse(text);
    RC_ASSERT(parsed == tree);
    RC_ASSERT(print(parsed) == text);
  });
  CHECK(holds);
}

/// Parses, prints and binds a text, which must end well or in an Error.
void survive(const std::string& text) {
  try {
    const Pipeline parsed = parse(text);
    REQUIRE(parse(print(parsed)) == parsed);
    bind(parsed, test::context());
  } catch (const PipelineError& error) {
    const std::string lines = std::string(error.what()) + error.display();
    REQUIRE(lines.size() < 2000);
    for (const char c : std::string(error.what())) REQUIRE(static_cast<unsigned char>(c) >= 0x20);
    REQUIRE(error.position() <= static_cast<Index>(text.size()));
  } catch (const Error&) {
  }
}

TEST_CASE("random bytes and damaged texts are parsed or refused with a message") {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const std::string words[] = {"causal",
                               "window",
                               "doc",
                               "heads",
                               "lens",
                               "ids.npy",
                               ":",
                               ",",
                               "=",
                               "|",
                               "{",
                               "}",
                               "'",
                               "\"",
                               "#",
                               "\n",
                               " ",
                               "0-3",
                               "none",
                               "-1",
                               "keys",
                               "slice",
                               "0:1",
                               "pad",
                               "q",
                               "+",
                               "\xC3",
                               "\xE2\x80\xAE",
                               "tokens",
                               "gen:not",
                               "9999999999999999999999"};
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (std::size_t i = below(12); i > 0; --i) text += words[below(std::size(words))];
    survive(text);
    for (std::size_t i = below(4); i > 0 && !text.empty(); --i) {
      text[below(text.size())] = static_cast<char>(random());
    }
    survive(text);
  }
  for (int round = 0; round < 2000; ++round) {
    std::string text(below(200), ' ');
    for (char& c : text) c = static_cast<char>(random());
    survive(text);
  }
}

TEST_CASE("long texts of one character are parsed or refused with a message") {
  for (const char sign : std::string("{}|,=:'\"#+-a \n\x80")) {
    survive(std::string(1 << 18, sign));
    survive("heads:0{" + std::string(1 << 18, sign));
  }
}

}  // namespace
}  // namespace maskctl
