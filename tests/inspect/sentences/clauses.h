// The words in which diff says how steps differ, as patterns.
#pragma once

#include <regex>
#include <string>
#include <vector>

#include "inspect/sentences/document_words.h"

namespace maskctl::test {

/// "5 tokens after the left padding".
inline const std::string kPadded =
    "(?:1 token|\\d+ tokens|numbers of tokens) (?:after the left|before the right) padding";

/// "keys at positions 9+0-8".
inline const std::string kPlacedSaid =
    "(?:queries|keys) at positions [0-9+-]+(?: and keys at positions [0-9+-]+)?";

/// All clauses that a cause is made of, each up to what may follow it.
inline const std::vector<std::regex>& clauses() {
  static const std::vector<std::regex> all = [] {
    const std::string numbers = kRangesSaid, state = "(?:open|closed)";
    const std::string side = "(?:-?\\d+|none)";
    const std::string span = "(?:from -?\\d+ to -?\\d+|at least -?\\d+|at most -?\\d+|any)";
    const std::string by_shift = R"((?: \(moved by K - Q = -?\d+, as by the other alignment\))?)";
    const std::string end =
        R"((?=$| and | \(batch| \(head| \(all |; |, and | in each document| in \d+ steps))";
    const std::string region = "(?:the (?:rows? of quer(?:y|ies)|columns? of keys?) " + numbers +
                               "|quer(?:y|ies) " + numbers + ", keys? " + numbers + ") " + state;
    const std::string value = "(?:-?\\d+(?:, -?\\d+)* and -?\\d+ by (?:batch|document)|[^ ,;()]+)";
    const std::string step =
        "(?:causal(?: offset -?\\d+)?|chunks|chunk size \\d+|documents|padding|dilated stride "
        "\\d+|dilation|prefix \\d+|sinks \\d+|global tokens [0-9+-]+|token types|a block "
        "map|not|causal blocks of \\d+|diagonal|tree|take|grid|drafts of \\d+ tokens|positions of "
        "tokens|\\d+ of "
        "every \\d+ keys|compressed keys of \\d+ tokens every \\d+|neighbourhood [0-9x]+|block "
        "diffusion of \\d+ tokens|window left " +
        side + ", right " + side + ")";
    std::vector<std::string> some{
        "window left " + side + " instead of " + side + by_shift,
        "window right " + side + " instead of " + side +
            R"((?: \(causal offset -?\d+ instead of -?\d+\))?)" + by_shift,
        "key - query " + span + " instead of " + span,
        "causal offset -?\\d+ instead of -?\\d+" + by_shift,
        "the causal rule missing" + by_shift,
        "a causal rule" + by_shift,
        "window (?:and causal )?offset -?\\d+ instead of -?\\d+(?:, as by window left -?\\d+ "
        "instead of -?\\d+ and causal offset -?\\d+ instead of -?\\d+)?",
        "alignment (?:bottom-right|top-left) instead of (?:bottom-right|top-left)"
        R"((?: \(moved by K - Q = -?\d+ keys\))?)",
        "(?:prefix|sinks) \\d+ instead of \\d+",
        kPadded + " instead of (?:\\d+|" + kPadded + ")",
        "another block map",
        "block (?:rows|columns) \\d+ instead of \\d+",
        "\\d+ of \\d+ blocks changed, first block row \\d+, column \\d+",
        "other padding",
        "token types of \\d+ (?:tokens?|quer(?:y|ies)|keys?) changed, first (?:token|query|key) "
        "\\d+",
        "padding rows (?:closed|open)",
        "another array of [a-z]+ [A-Za-z]+",
        "another step",
        "(?:grid|positions of tokens) changed",
        "other steps in documents? " + numbers,
        "other documents",
        "[a-z-]+ [a-z]+ " + value + " instead of " + value,
        step + " (?:missing|added)(?: before " + step + ")?",
        step + " instead of " + step,
        kPlacedSaid + " instead of in order",
        "tokens in order instead of " + kPlacedSaid,
        "every cell " + state,
        region + " instead of " + region,
        "(?:opening|closing) of (?:every cell|" +
            region.substr(0, region.size() - state.size() - 1) + ") missing",
        "the (?:rows? of quer(?:y|ies)|columns? of keys?) " + numbers + " " + state,
        "quer(?:y|ies) " + numbers + ", keys? " + numbers + " " + state,
        "the document of tokens? " + numbers + " (?:added|missing)",
        kJoinsSaid + "(?:; " + kJoinsSaid + ")*",
        kGapsSaid,
        "all \\d+ documents merged into one",
        "one document split into \\d+",
        "document \\d+ (?:starting|ending) at token \\d+ instead of \\d+(?: and \\d+ more "
        "borders "
        "moved)?",
        R"(document \d+, the last, of \d+ instead of \d+ tokens \(padding from token \d+ instead of \d+\))",
        "document \\d+ of \\d+ instead of \\d+ tokens, and all after it moved by -?\\d+",
        R"((?:a further )?document \d+ \(tokens? \d+(?:-\d+)?\)(?: left out)?, and all after it moved (?:up|down))",
        "(?:token|key|query) \\d+ in (?:no document|document \\d+) instead of (?:no "
        "document|document \\d+), the first that differs(?:, and \\d+ instead of \\d+ "
        "documents)?",
        "documents of [\\d+]+ instead of [\\d+]+ tokens",
        // documents with numbers of queries and keys of their own
        "document \\d+ of \\d+ (?:queries|keys) instead of \\d+(?: and \\d+ keys instead of "
        "\\d+)?(?:, and all after it moved)?(?: and \\d+ more lengths?)?",
        "document \\d+ starting at (?:query|key) \\d+ instead of \\d+(?: and key \\d+ instead of "
        "\\d+)?(?: and \\d+ more borders?)?",
        "documents \\d+ (?:and|to) \\d+ merged into one",
        "document \\d+ split into \\d+",
        R"((?:a further )?document \d+ \((?:no query|quer(?:y|ies) [0-9-]+), (?:no key|keys? [0-9-]+)\)(?: left out)?)",
        "\\d+ instead of \\d+ documents, the first that differs is document \\d+",
    };
    std::vector<std::regex> out;
    for (const std::string& one : some) out.emplace_back("(?:" + one + ")" + end);
    return out;
  }();
  return all;
}
/// The longest clause that starts here.
inline std::string clause_at(const std::string& text, std::size_t from) {
  std::string best;
  for (const std::regex& one : clauses()) {
    std::smatch m;
    if (std::regex_search(text.begin() + static_cast<std::ptrdiff_t>(from), text.end(), m, one,
                          std::regex_constants::match_continuous) &&
        m[0].length() > static_cast<std::ptrdiff_t>(best.size())) {
      best = m[0].str();
    }
  }
  return best;
}

}  // namespace maskctl::test
