// Tests the conventions of libraries: how many keys a window of a given number opens, and which
// library arguments a chain of mask steps becomes.
#include "maskctl/translate/conventions.h"

#include <map>
#include <random>
#include <string>

#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/dilated.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/global.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/translate/mask_form.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

Index keys_seen(const step::Window& window) {
  const Mask mask = maskctl::apply(Mask(full_plane(64, 64)), Step{window});
  return mask.plane(0, 0)->count({32, 33}, {0, 64});
}

TEST_CASE("a window of 4 opens 4, 5, 7 or 9 keys, depending on the library") {
  std::map<Index, int> rows;
  for (const WindowConvention& row : window_conventions())
    ++rows[keys_seen(window_of(row.rule, 4))];
  CHECK(rows == std::map<Index, int>{{4, 11}, {5, 12}, {7, 2}, {9, 4}});
  CHECK_THROWS_AS(window_of(WindowRule::kKeys, 0), Error);
  CHECK_THROWS_AS(window_of(WindowRule::kInclusive, -1), Error);
  CHECK(keys_seen(window_of(WindowRule::kInclusive, 0)) == 1);
}

TEST_CASE("libraries are found by name") {
  for (const Library* library : libraries()) CHECK(find_library(library->name) == library);
  CHECK(!find_library("flash"));
}

std::string no_name(const Step&) { return "step"; }

std::mt19937& random_stream() {
  static std::mt19937 random(5);
  return random;
}
Index pick(Index low, Index high) {
  return low + static_cast<Index>(random_stream()() % static_cast<unsigned>(high - low + 1));
}

Step random_step() {
  switch (pick(0, 5)) {
    case 0:
      return {step::Causal{}};
    case 1: {
      step::Window window;
      if (pick(0, 2) > 0) window.left = pick(0, 5);
      if (pick(0, 2) > 0) window.right = pick(0, 3);
      window.offset = pick(-1, 1);
      return {window};
    }
    case 2:
      return {step::Chunk{pick(1, 6), pick(-1, 1)}};
    case 3:
      return {step::DocumentLengths{{pick(0, 5), pick(0, 5)}}};
    case 4:
      return {step::Sinks{pick(0, 3)}};
    default:
      return {step::Prefix{pick(0, 4)}};
  }
}

TEST_CASE("the arguments for a chain give its mask, or name the steps that are left over") {
  const Mask full(full_plane(11, 11));
  int whole = 0, rest = 0;
  for (int round = 0; round < 4000; ++round) {
    Chain chain;
    std::string text;
    for (Index n = pick(1, 4); n > 0; --n) {
      chain.push_back(random_step());
      text += " " + std::to_string(rule_index(chain.back()));
    }
    INFO(text);
    const MaskForm arguments = mask_form(chain, no_name);
    if (!arguments.rest.empty()) {
      ++rest;
      continue;
    }
    ++whole;
    const Mask want = maskctl::apply(full, chain), have = maskctl::apply(full, chain_of(arguments));
    REQUIRE(zip(Op::kXor, want, have).count() == 0);
  }
  CHECK(whole > 1000);
  CHECK(rest > 500);
}

TEST_CASE("a step that opens cells that are open already needs no argument") {
  const MaskForm found =
      mask_form({{step::Global{{{2, 3}}}}, {step::Sinks{2}}, {step::Causal{}}}, no_name);
  CHECK(found.rest.empty());
  CHECK(found.causal());
  CHECK(found.sinks == 0);
}

TEST_CASE("a step that no argument can express is named with the reason") {
  const auto rest = [](const Chain& chain) { return mask_form(chain, no_name).rest; };
  CHECK(rest({{step::Dilated{2}}}) == "step has no argument of its own");
  CHECK(rest({{step::Dilated{2}}, {step::Prefix{2}}}) == "step has no argument of its own");
  CHECK(rest({{step::Chunk{4, 0, Align::kUnset, {}, {}, fields::numbers({0, 1})}}}) ==
        "step has more than one size or offset");
  step::Causal top, bottom;
  top.align = Align::kTopLeft;
  bottom.align = Align::kBottomRight;
  CHECK(rest({{top}, {bottom}}) == "step is aligned differently from another step");
  CHECK(rest({{step::DocumentLengths{{3}}}, {step::Prefix{2}}}) ==
        "step opens keys in other documents");
}

}  // namespace
}  // namespace maskctl
