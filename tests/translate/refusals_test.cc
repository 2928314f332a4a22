// "Cannot" is a claim: where a library is said to have no call for a mask, a search through the
// values of its arguments finds none either, at all small sizes.
#include <fmt/format.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/translate/translate.h"
#include "pipeline/pipeline_support.h"
#include "support/catch_compat.h"
#include "support/rounds.h"
#include "translate/libraries.h"

namespace maskctl {
namespace {

constexpr Index kMostTokens = 7;

/// The cells of the chain's masks of all small sizes, of square ones alone if asked so; "" if it
/// does not fit one of them.
std::string cells_of(const Chain& chain, bool square) {
  std::string out;
  for (Index queries = 1; queries <= kMostTokens; ++queries) {
    for (Index keys = 1; keys <= kMostTokens; ++keys) {
      if (square && queries != keys) continue;
      const Mask mask = maskctl::apply(Mask(full_plane(queries, keys)), chain);
      for (Index q = 0; q < queries; ++q) {
        for (Index k = 0; k < keys; ++k) {
          out += mask.plane(0, 0)->count({q, q + 1}, {k, k + 1}) == 1 ? '1' : '0';
        }
      }
    }
  }
  return out;
}

/// What an argument is tried with; empty: it is left out.
std::vector<std::string> values_of(const Argument& argument) {
  std::vector<std::string> out = {""};
  const auto numbers = [&](Index from, Index to) {
    for (Index n = from; n <= to; ++n) out.push_back(std::to_string(n));
  };
  switch (argument.meaning) {
    case ArgumentMeaning::kCausal:
    case ArgumentMeaning::kBottomRight:
      return {"", "True", "False"};
    case ArgumentMeaning::kKeys:
    case ArgumentMeaning::kKeysAround:
    case ArgumentMeaning::kLeftKeys:
    case ArgumentMeaning::kChunk:
    case ArgumentMeaning::kCausalChunk:
      numbers(1, 4);
      return out;
    case ArgumentMeaning::kLeft:
    case ArgumentMeaning::kRight:
      numbers(0, 3);
      return out;
    case ArgumentMeaning::kOffset:
      numbers(-2, 2);
      out.emplace_back("KV_LEN - Q_LEN");
      return out;
    case ArgumentMeaning::kSides:
    case ArgumentMeaning::kSidesOrBoth:
    case ArgumentMeaning::kSignedSides:
      for (Index left = -1; left <= 3; ++left) {
        for (Index right = -1; right <= 3; ++right)
          out.push_back(fmt::format("({}, {})", left, right));
      }
      return out;
    case ArgumentMeaning::kMaskType:
      return {"", "\"no_mask\"", "\"causal\"", "\"causal_bottom_right\""};
    case ArgumentMeaning::kAlignment:
      return {"", "TOP_LEFT", "BOTTOM_RIGHT"};
    case ArgumentMeaning::kCausalWord:
      return {"", "\"causal\"", "\"full\""};
    default:
      return {""};
  }
}

/// Calls of the library by the cells of their masks, of all sizes and of square ones.
struct Calls {
  std::map<std::string, std::string> all, square;
};

Calls calls_of(const Library& library) {
  Calls out;
  for (const Convention& row : library.calls) {
    if (row.documents || !row.written) continue;
    std::vector<std::string> texts = {""};
    for (const Argument& argument : row.arguments) {
      std::vector<std::string> next;
      for (const std::string& value : values_of(argument)) {
        for (const std::string& text : texts) {
          next.push_back(value.empty() ? text
                                       : fmt::format("{}{}{}={}", text, text.empty() ? "" : ", ",
                                                     argument.name, value));
        }
      }
      texts = std::move(next);
    }
    for (const std::string& arguments : texts) {
      const std::string text = fmt::format("{}({})", row.call, arguments);
      try {
        const Chain chain = library.read(text);
        out.all.emplace(cells_of(chain, false), text);
        out.square.emplace(cells_of(chain, true), text);
      } catch (const Error&) {
        // The library refuses these values together.
      }
    }
  }
  return out;
}

std::string drawn_pipeline(std::mt19937& random, const std::string& align) {
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  const std::string at = align.empty() ? "" : ",align=" + align;
  std::string out;
  for (int n = pick(1, 2); n > 0; --n) {
    std::string step;
    switch (pick(0, 5)) {
      case 0:
        step = align.empty() ? "causal" : "causal:align=" + align;
        break;
      case 1:
        step = fmt::format("window:keys={}{}", pick(1, 4), at);
        break;
      case 2:
        step = fmt::format("window:left={},right={}{}", pick(0, 3), pick(0, 3), at);
        break;
      case 3:
        step = fmt::format("window:left={}{}", pick(0, 3), at);
        break;
      case 4:
        step = fmt::format("window:right={}{}", pick(0, 3), at);
        break;
      default:
        step = fmt::format("chunk:size={}{}", pick(2, 3), at);
    }
    out += (out.empty() ? "" : " | ") + step;
  }
  return out;
}

TEST_CASE("where a library cannot express a mask, none of its calls does") {
  std::mt19937 random(41);
  int refused = 0;
  for (const Library* library : libraries()) {
    const Calls calls = calls_of(*library);
    INFO(library->name << ": " << calls.all.size() << " masks");
    for (int round = 0; round < test::rounds(60); ++round) {
      const char* const kAligns[] = {"", "top-left", "bottom-right"};
      const std::string align = kAligns[random() % 3];
      const std::string pipeline = drawn_pipeline(random, align);
      const Chain chain = test::bound(pipeline);
      const Translation made =
          translate(chain, *library, [](const Step& step) { return to_text(Chain{step}); });
      if (made.ok()) continue;
      ++refused;
      // Without an alignment a mask is one of equally many queries and keys.
      const auto& known = align.empty() ? calls.square : calls.all;
      const auto found = known.find(cells_of(chain, align.empty()));
      INFO(pipeline << "\n" << made.refusal << "\n" << (found == known.end() ? "" : found->second));
      CHECK(found == known.end());
    }
  }
  CHECK(refused > 100);
}

}  // namespace
}  // namespace maskctl
