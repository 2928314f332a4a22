// Whether what diff says of forms without a step is true: it makes B of A as the words say.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "support/twin.h"

namespace maskctl::test {

/// "1+2+3" as numbers.
inline std::vector<Index> summands(const std::string& text) {
  std::vector<Index> out;
  static const std::regex number(R"(\d+)");
  for (std::sregex_iterator i(text.begin(), text.end(), number), end; i != end; ++i)
    out.push_back(std::stoll(i->str()));
  return out;
}
/// "0, 2-4" as numbers.
inline std::vector<Index> listed_numbers(const std::string& text) {
  std::vector<Index> out;
  static const std::regex range(R"((\d+)(?:-(\d+))?)");
  for (std::sregex_iterator i(text.begin(), text.end(), range), end; i != end; ++i) {
    const Index first = std::stoll((*i)[1]), last = (*i)[2].matched ? std::stoll((*i)[2]) : first;
    for (Index n = first; n <= last; ++n) out.push_back(n);
  }
  return out;
}

/// How many tokens of a document of this length see each other, in the words for one of several.
inline Index said_prefix(const std::string& words, std::size_t which, Index length) {
  if (words == "causal") return 1;
  if (words.starts_with("seeing all of ")) return length;
  const std::vector<Index> prefixes = summands(words);
  return which < prefixes.size() ? prefixes[which] : -1;
}

/// The parts of a sentence about documents.
inline bool documents_said(const std::string& parts, const std::vector<Index>& lengths,
                           const twin::Dense& a, const twin::Dense& b) {
  twin::Dense made = a;
  const auto begin_of = [&](Index document) {
    Index out = 0;
    for (Index i = 0; i < document; ++i) out += lengths[static_cast<std::size_t>(i)];
    return out;
  };
  const auto each = [&](const auto& f) {
    for (Index n = 0; n < a.b; ++n)
      for (Index h = 0; h < a.h; ++h) f(n, h);
  };
  bool true_of_a = true;
  const Index documents = std::ssize(lengths);
  if (begin_of(documents) > a.q) return false;
  const auto known = [&](const std::vector<Index>& which) {
    return std::ranges::all_of(which, [&](Index one) { return one < documents; });
  };
  for (std::size_t from = 0; from <= parts.size();) {
    const std::size_t end = std::min(parts.find("; ", from), parts.size());
    const std::string part = parts.substr(from, end - from);
    from = end + 2;
    static const std::regex rule(
        R"(documents? ([\d, -]+) ((?:causal|seeing).*) instead of ((?:causal|seeing).*))"),
        across(
            R"(documents? ([\d, -]+) (not seeing|seeing) tokens? (\d+)(?:-(\d+))? of document (\d+))");
    std::smatch m;
    if (std::regex_match(part, m, across)) {
      const bool open = m[2] == "seeing";
      if (!known(listed_numbers(m[1])) || !known({std::stoll(m[5])})) return false;
      const Index other = begin_of(std::stoll(m[5])), first = other + std::stoll(m[3]);
      const Index last = m[4].matched ? other + std::stoll(m[4]) : first;
      if (last >= begin_of(std::stoll(m[5]) + 1)) return false;
      for (const Index document : listed_numbers(m[1]))
        for (Index q = begin_of(document); q < begin_of(document + 1); ++q)
          for (Index k = first; k <= last; ++k)
            each([&](Index n, Index h) {
              true_of_a = true_of_a && made.get(n, h, q, k) != open;
              made.set(n, h, q, k, open);
            });
    } else if (std::regex_match(part, m, rule)) {
      const auto which = listed_numbers(m[1]);
      if (!known(which)) return false;
      for (std::size_t i = 0; i < which.size(); ++i) {
        const Index begin = begin_of(which[i]),
                    length = lengths[static_cast<std::size_t>(which[i])];
        const Index is = said_prefix(m[2], i, length), was = said_prefix(m[3], i, length);
        for (Index q = 0; q < length; ++q)
          for (Index k = 0; k < length; ++k)
            each([&](Index n, Index h) {
              const auto open = [&](Index prefix) { return k <= q || (q < prefix && k < prefix); };
              true_of_a = true_of_a && made.get(n, h, begin + q, begin + k) == open(was);
              made.set(n, h, begin + q, begin + k, open(is));
            });
      }
    } else {
      return false;
    }
  }
  return true_of_a && made == b;
}

/// Sentences about forms without a step; nothing for others.
inline std::optional<bool> forms_said(const std::string& rest, const twin::Dense& a,
                                      const twin::Dense& b) {
  std::smatch m;
  static const std::regex documents(R"((documents? \d.*), in documents of ([\d+]+) tokens)"),
      rows(R"(rows of (\d+) tokens instead of (\d+), in a neighbourhood of (\d+)x(\d+) )"
           R"(in a grid with rows of (\d+) tokens)"),
      windows(R"(windows moved inwards at the borders instead of clipped, in a neighbourhood of )"
              R"((\d+)x(\d+) in a grid with rows of (\d+) tokens)"),
      first(R"(the first ([\d+]+) open keys of batch(?:es)? ([\d, -]+) closed)");
  const auto clipped = [&](Index width, Index down, Index along) {
    return twin::make(a.b, a.h, a.q, a.k, [&](Index, Index, Index q, Index k) {
      return std::abs(q / width - k / width) <= down && std::abs(q % width - k % width) <= along;
    });
  };
  if (std::regex_match(rest, m, documents)) return documents_said(m[1], summands(m[2]), a, b);
  if (std::regex_match(rest, m, rows)) {
    const Index down = std::stoll(m[3]) / 2, along = std::stoll(m[4]) / 2;
    return m[5] == m[2] && a == clipped(std::stoll(m[2]), down, along) &&
           b == clipped(std::stoll(m[1]), down, along);
  }
  if (std::regex_match(rest, m, windows)) {
    const Index down = std::stoll(m[1]) / 2, along = std::stoll(m[2]) / 2, width = std::stoll(m[3]);
    const Index height = a.k / width;
    const auto moved = [&](Index at, Index reach, Index extent) {
      return std::clamp(at, reach, extent - 1 - reach);
    };
    return a == clipped(width, down, along) &&
           b == twin::make(a.b, a.h, a.q, a.k, [&](Index, Index, Index q, Index k) {
             return std::abs(moved(q / width, down, height) - k / width) <= down &&
                    std::abs(moved(q % width, along, width) - k % width) <= along;
           });
  }
  if (std::regex_match(rest, m, first)) {
    const auto closed = summands(m[1]), batches = listed_numbers(m[2]);
    if (closed.size() != batches.size() || std::ranges::max(batches) >= a.b) return false;
    twin::Dense made = a;
    for (std::size_t i = 0; i < closed.size(); ++i) {
      Index left = closed[i];
      for (Index k = 0; k < a.k && left > 0; ++k) {
        left -= made.get(batches[i], 0, 0, k);
        made.set(batches[i], 0, 0, k, false);
      }
      if (left > 0) return false;
    }
    return a.h == 1 && a.q == 1 && made == b;
  }
  return std::nullopt;
}

}  // namespace maskctl::test
