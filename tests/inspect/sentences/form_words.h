// Judges the words for forms that no step makes by the cells of a mask.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <regex>
#include <string>
#include <vector>

#include "inspect/sentences/printed_lines.h"

namespace maskctl::test {

inline std::vector<Index> numbers_said(const std::string& text) {
  static const std::regex number(R"((\d+)(?:-(\d+)|\*(\d+))?)");
  std::vector<Index> out;
  for (std::sregex_iterator at(text.begin(), text.end(), number), end; at != end; ++at) {
    const Index first = number_said((*at)[1]);
    const Index last = (*at)[2].matched ? number_said((*at)[2]) : first;
    const Index times = (*at)[3].matched ? number_said((*at)[3]) : 1;
    for (Index i = first; i <= last; ++i) out.insert(out.end(), static_cast<std::size_t>(times), i);
  }
  return out;
}

/// Judges "documents 0, 2 are causal; document 1 sees all of itself, in documents of 6+9+5 tokens":
/// the plane must have these cells and no others.
inline bool documents_with_rules_hold(const std::string& text, const Dense& cells, Index b,
                                      Index h) {
  static const std::regex form(R"((.*), in documents of ([0-9+*]+) tokens)"),
      part(R"(documents? ([0-9, -]+) (is|are|sees|see) ([^;]*))"),
      prefix(R"(causal behind (?:a prefix|prefixes) of ([0-9+*]+))");
  std::smatch m;
  if (!std::regex_match(text, m, form)) return false;
  const std::vector<Index> lengths = numbers_said(m[2]);
  const std::string parts = m[1];
  std::vector<Index> prefixes(lengths.size(), -1);
  for (std::sregex_iterator at(parts.begin(), parts.end(), part), end; at != end; ++at) {
    const std::vector<Index> documents = numbers_said((*at)[1]);
    const std::string rule = (*at)[3];
    std::smatch own;
    const bool prefixed = std::regex_match(rule, own, prefix);
    const std::vector<Index> its = prefixed ? numbers_said(own[1]) : std::vector<Index>{};
    if (prefixed && its.size() != documents.size()) return false;
    for (std::size_t i = 0; i < documents.size(); ++i) {
      const auto at_document = static_cast<std::size_t>(documents[i]);
      if (at_document >= lengths.size() || prefixes[at_document] >= 0) return false;
      prefixes[at_document] = prefixed ? its[i] : rule == "causal" ? 0 : lengths[at_document];
    }
  }
  if (std::ranges::find(prefixes, -1) != prefixes.end()) return false;
  if (std::accumulate(lengths.begin(), lengths.end(), Index{0}) > cells.q) return false;
  const auto document_of = [&](Index token) {
    std::size_t document = 0;
    Index end = 0;
    for (; document < lengths.size(); ++document) {
      if (token < (end += lengths[document])) break;
    }
    return std::pair(document, document < lengths.size() ? token - end + lengths[document] : 0);
  };
  for (Index q = 0; q < cells.q; ++q) {
    for (Index k = 0; k < cells.k; ++k) {
      const auto [document, at_q] = document_of(q);
      const auto [other, at_k] = document_of(k);
      const bool open = document < lengths.size() && document == other &&
                        (at_k <= at_q || at_k < prefixes[document]);
      if (cells.get(b, h, q, k) != open) return false;
    }
  }
  return true;
}

/// Judges "causal, where the keys are of tokens 0-3, 7 (2 times) and of 3 more keys, and query q is
/// token q".
inline bool order_of_keys_holds(const std::string& text, const Dense& cells, Index b, Index h) {
  static const std::regex form(
      R"(causal, where the keys are of tokens (.*?)(?: and of (\d+) more keys)?, and query q is token q)");
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
  // The sentence leaves out keys that no query sees.
  Index seen = 0;
  for (Index k = 0; k < cells.k; ++k) seen += cells.get(b, h, cells.q - 1, k);
  if (std::ssize(tokens) + (m[2].matched ? number_said(m[2]) : 0) != seen) return false;
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
  return documents_with_rules_hold(words, cells, b, h) || order_of_keys_holds(words, cells, b, h) ||
         clipped_grid_holds(words, cells, b, h);
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
