// Judges the words for forms that no step makes by the cells of a mask.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <string>
#include <vector>

#include "inspect/sentences/printed_lines.h"

namespace maskctl::test {

/// Judges "causal, where the keys are of tokens 0-3, 7 (2 times) and of 3 more keys, and query q is
/// token q".
inline bool order_of_keys_holds(const std::string& text, const Dense& cells, Index b, Index h) {
  static const std::regex form(
      R"(causal, where the keys are of tokens (.*?)(?: and of (\d+) more keys)?(?:, no query sees the last (\d+))?, and query q is token q)");
  static const std::regex item(R"((\d+)(?:-(\d+)| \((\d+) times\))?)");
  std::smatch m;
  if (!std::regex_match(text, m, form)) return false;
  const std::string list = m[1];
  std::vector<Index> tokens;
  for (std::sregex_iterator at(list.begin(), list.end(), item), end; at != end; ++at) {
    const Index first = number_said((*at)[1]);
    const Index last = (*at)[2].matched ? number_said((*at)[2]) : first;
    const Index times = (*at)[3].matched ? number_said((*at)[3]) : 1;
    for (Index token = first; token <= last; ++token) tokens.insert(tokens.end(), times, token);
  }
  Index seen = 0;
  for (Index k = 0; k < cells.k; ++k) seen += cells.get(b, h, cells.q - 1, k);
  if (std::ssize(tokens) + (m[2].matched ? number_said(m[2]) : 0) != seen) return false;
  if ((m[3].matched ? number_said(m[3]) : 0) != cells.k - seen) return false;
  for (Index q = 0; q < cells.q; ++q) {
    bool ended = false;
    for (Index k = 0; k < cells.k; ++k) {
      const bool open = cells.get(b, h, q, k);
      if (open && (ended || k >= seen)) return false;
      ended = ended || !open;
      if (k < std::ssize(tokens) && open != (tokens[static_cast<std::size_t>(k)] <= q)) {
        return false;
      }
    }
  }
  return true;
}

/// "neighbourhood of 5x3 in a grid with rows of 10 tokens, clipped at its borders".
inline bool clipped_grid_holds(const std::string& text, const Dense& cells, Index b, Index h) {
  static const std::regex form(
      R"(neighbourhood of (\d+)x(\d+) in a grid with rows of (\d+) tokens, )"
      R"(clipped at its borders)");
  std::smatch m;
  if (!std::regex_match(text, m, form)) return false;
  const Index high = number_said(m[1]), wide = number_said(m[2]), width = number_said(m[3]);
  if (high % 2 == 0 || wide % 2 == 0) return false;
  for (Index q = 0; q < cells.q; ++q) {
    for (Index k = 0; k < cells.k; ++k) {
      const bool near =
          2 * std::abs(q / width - k / width) < high && 2 * std::abs(q % width - k % width) < wide;
      if (cells.get(b, h, q, k) != near) return false;
    }
  }
  return true;
}

/// Any of them, of one plane.
inline bool form_holds_of(const std::string& words, const Dense& cells, Index b, Index h) {
  return order_of_keys_holds(words, cells, b, h) || clipped_grid_holds(words, cells, b, h);
}

/// Judges the sentences about the planes of one mask in their order. A sentence is about all
/// planes, those of a batch entry, or a single one, and must not also be true of planes that were
/// skipped.
class FormsTold {
 public:
  bool holds(const std::string& text, const Dense& cells) {
    static const std::regex place(R"((?:batch (\d+)(?:, head (\d+))?: )?(.*))");
    std::smatch m;
    if (!std::regex_match(text, m, place)) return false;
    const std::string words = m[3];
    const bool whole = !m[1].matched, of_head = m[2].matched;
    const Index first = whole ? 0 : number_said(m[1]) * cells.h + (of_head ? number_said(m[2]) : 0);
    const Index count = whole ? cells.b * cells.h : of_head ? 1 : cells.h;
    if (first < told_ || first + count > cells.b * cells.h) return false;
    if (of_head && number_said(m[2]) >= cells.h) return false;
    for (Index plane = told_; plane + count <= first; plane += count) {
      if (hold(words, cells, plane, count)) return false;
    }
    told_ = first + count;
    return hold(words, cells, first, count);
  }

 private:
  static bool hold(const std::string& words, const Dense& cells, Index first, Index count) {
    for (Index plane = first; plane < first + count; ++plane) {
      if (!form_holds_of(words, cells, plane / cells.h, plane % cells.h)) return false;
    }
    return true;
  }

  Index told_ = 0;  // how many planes are told, or passed over
};

inline bool form_holds(const std::string& text, const Dense& cells) {
  return FormsTold().holds(text, cells);
}

}  // namespace maskctl::test
