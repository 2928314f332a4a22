// Judges whether a clause describes how a step of A became a step of B.
#pragma once

#include <regex>
#include <string>
#include <vector>

#include "inspect/sentences/document_words.h"
#include "inspect/sentences/plane_steps.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/scoped.h"

namespace maskctl::test {

class StepsSaid {
 public:
  /// For steps of planes with this many queries and keys. `shift` is keys - queries, or 0 inside
  /// documents.
  StepsSaid(Index queries, Index keys, Index shift)
      : queries_(queries), keys_(keys), shift_(shift) {}

  /// True if the clause describes how step `x` of A became step `y` of B.
  bool holds(const std::string& clause, const Step& x, const Step& y) const {
    std::smatch m;
    const auto is = [&](const std::string& pattern) {
      return std::regex_match(clause, m, compiled(pattern));
    };
    const auto n = [&](std::size_t i) { return static_cast<Index>(std::stoll(m[i].str())); };
    const auto text = [](const std::optional<Index>& side) {
      return side ? std::to_string(*side) : std::string("none");
    };
    const auto a = sides_of(x, shift_), b = sides_of(y, shift_);
    if (a && b) {
      const auto alignment_holds = [&](std::size_t group, const std::optional<Index>& low,
                                       const std::optional<Index>& high) {
        if (!m[group].matched) return true;
        return n(group) == shift_ && low && high && std::abs(*high - *low) == std::abs(shift_);
      };
      const std::string other = R"((?: \(moved by K - Q = (-?\d+), as by the other alignment\))?)";
      const auto left = [&](const std::optional<Index>& low) {
        return low ? text(a->centre - *low) : "none";
      };
      const auto right = [&](const std::optional<Index>& high) {
        return high ? text(*high - a->centre) : "none";
      };
      if (is("window left (-?\\d+|none) instead of (-?\\d+|none)" + other)) {
        return m[1] == left(b->low) && m[2] == left(a->low) && alignment_holds(3, a->low, b->low);
      }
      if (is(R"(window right (-?\d+|none) instead of (-?\d+|none)(?: \(causal offset (-?\d+) instead of 0\))?)" +
             other)) {
        if (m[3].matched && !(a->high && b->high && n(3) == *b->high - *a->high)) return false;
        return m[1] == right(b->high) && m[2] == right(a->high) &&
               alignment_holds(4, a->high, b->high);
      }
      if (is("causal offset (-?\\d+) instead of (-?\\d+)" + other)) {
        return a->is_causal && b->high && n(2) == a->offset &&
               n(1) == a->offset + *b->high - *a->high && alignment_holds(3, a->high, b->high);
      }
      static const std::string span = "(from -?\\d+ to -?\\d+|at least -?\\d+|at most -?\\d+|any)";
      if (is("key - query " + span + " instead of " + span)) {
        const auto words = [&](const Sides& sides) {
          if (!sides.low) return sides.high ? "at most " + text(*sides.high) : std::string("any");
          return sides.high ? "from " + text(*sides.low) + " to " + text(*sides.high)
                            : "at least " + text(*sides.low);
        };
        return m[1] == words(*b) && m[2] == words(*a) && m[1] != m[2];
      }
      if (is("the causal rule missing" + other)) return a->is_causal && !b->high;
      if (is("a causal rule" + other)) return b->is_causal && !a->high;
      if (is("window (?:and causal )?offset (-?\\d+) instead of (-?\\d+)(?:, as by window left "
             "(-?\\d+) instead of (-?\\d+) and causal offset (-?\\d+) instead of 0)?")) {
        if (!a->low || !a->high || !b->low || !b->high) return false;
        const Index by = *b->high - *a->high;
        if (*b->low - *a->low != by || n(2) != a->offset || n(1) != a->offset + by) return false;
        return !m[3].matched ||
               (n(3) == a->centre - *b->low && n(4) == a->centre - *a->low && n(5) == by);
      }
      if (is(R"(alignment (bottom-right|top-left) instead of (bottom-right|top-left)(?: \(moved by K - Q = (-?\d+) keys\))?)")) {
        return alignment_moved(m, x, y, *a, *b, shift_);
      }
    }
    if (is("(prefix|sinks) (\\d+) instead of (\\d+)")) {
      return first_keys(x) && first_keys(y) && n(3) == *first_keys(x) && n(2) == *first_keys(y) &&
             (m[1] == "prefix") == x.is<step::Prefix>();
    }
    const auto *block_x = x.get_if<step::Block>(), *block_y = y.get_if<step::Block>();
    if (block_x && block_y) return blocks_changed(clause, *block_x, *block_y);
    const auto *types_x = x.get_if<step::Tokens>(), *types_y = y.get_if<step::Tokens>();
    if (types_x && types_y &&
        is("token types of (\\d+) (token|query|key|tokens|queries|keys) changed, first "
           "(token|query|key) "
           "(\\d+)")) {
      if ((m[3] == "token") != types_x->shared || types_x->shared != types_y->shared) return false;
      const bool of_keys = m[3] == "key";
      const Tensor &before = of_keys ? types_x->kv.array : types_x->q.array,
                   &after = of_keys ? types_y->kv.array : types_y->q.array;
      Index differ = 0, first = -1;
      for (Index i = 0; i < before.elements(); ++i) {
        if (twin::number(before, i) == twin::number(after, i)) continue;
        if (differ++ == 0) first = i;
      }
      const std::string noun =
          m[3] == "query" && differ != 1 ? "queries" : m[3].str() + (differ == 1 ? "" : "s");
      return differ == n(1) && first == n(4) && m[2] == noun;
    }
    const auto *pad_x = x.get_if<step::Pad>(), *pad_y = y.get_if<step::Pad>();
    if (pad_x && pad_y) return pad_changed(clause, *pad_x, *pad_y);
    const auto ids_x = ids_of_step(x, queries_, keys_), ids_y = ids_of_step(y, queries_, keys_);
    const auto *within_x = x.get_if<step::Within>(), *within_y = y.get_if<step::Within>();
    if (within_x && within_y) return within_changed(clause, *within_x, *within_y);
    if (ids_x && ids_y && DocumentsSaid(*ids_x, *ids_y).holds(clause)) return true;
    const auto *region_x = x.get_if<step::Region>(), *region_y = y.get_if<step::Region>();
    if (region_x && region_y)
      return clause ==
             step_said(y, shift_, queries_) + " instead of " + step_said(x, shift_, queries_);
    if (clause == "another step") return &x.row() != &y.row();
    const std::string was = step_said(x, shift_, queries_), is_now = step_said(y, shift_, queries_);
    if (clause == is_now + " instead of " + was) return &x.row() != &y.row() && was != is_now;
    if (clause == step_said(y, shift_, queries_) + " changed")
      return &x.row() == &y.row() && !(x == y);
    if (is(R"(another array of [a-z]+ [A-Za-z]+)")) return &x.row() == &y.row() && !(x == y);
    if (is(R"(([a-z-]+) ([a-z]+) ([^ ]+|.* by (?:batch|document)) instead of ([^ ]+|.* by (?:batch|document)))")) {
      return has(x, m[1], m[2], m[4]) && has(y, m[1], m[2], m[3]) && m[3] != m[4];
    }
    return false;
  }

 private:
  static bool alignment_moved(const std::smatch& m, const Step& x, const Step& y, const Sides& a,
                              const Sides& b, Index shift) {
    if (!m[3].matched) {  // inside documents, whose numbers of queries and keys are their own
      const auto align = [](const Step& step) {
        return step.is<step::Causal>() ? step.as<step::Causal>().align
                                       : step.as<step::Window>().align;
      };
      const auto word = [](Align at) {
        return at == Align::kBottomRight ? "bottom-right" : "top-left";
      };
      return m[1] == word(align(y)) && m[2] == word(align(x)) && align(x) != align(y);
    }
    const auto by = [](const std::optional<Index>& from, const std::optional<Index>& to) {
      return from && to ? *to - *from : Index{0};
    };
    if (a.low.has_value() != b.low.has_value() || a.high.has_value() != b.high.has_value())
      return false;
    const Index moved = m[1] == "bottom-right" ? shift : -shift;
    return m[1] != m[2] && std::stoll(m[3].str()) == shift &&
           (!a.low || by(a.low, b.low) == moved) && (!a.high || by(a.high, b.high) == moved);
  }
  static std::optional<Index> first_keys(const Step& step) {
    if (const auto* prefix = step.get_if<step::Prefix>()) return prefix->n;
    if (const auto* sinks = step.get_if<step::Sinks>()) return sinks->n;
    return std::nullopt;
  }
  static bool blocks_changed(const std::string& clause, const step::Block& x,
                             const step::Block& y) {
    std::smatch m;
    const auto is = [&](const char* pattern) {
      return std::regex_match(clause, m, compiled(pattern));
    };
    const auto n = [&](std::size_t i) { return static_cast<Index>(std::stoll(m[i].str())); };
    if (is("block (rows|columns) (\\d+) instead of (\\d+)")) {
      const bool rows = m[1] == "rows";
      return n(2) == (rows ? y.q_size : y.k_size) && n(3) == (rows ? x.q_size : x.k_size) &&
             n(2) != n(3);
    }
    const Tensor &before = x.map.array, &after = y.map.array;
    if (clause == "another block map") return before.shape() != after.shape();
    if (!is("(\\d+) of (\\d+) blocks changed, first block row (\\d+), column (\\d+)")) return false;
    if (before.shape() != after.shape()) return false;
    const Index columns = before.extent(before.rank() - 1);
    Index differ = 0, first = -1;
    for (Index i = 0; i < before.elements(); ++i) {
      if ((twin::number(before, i) != 0) == (twin::number(after, i) != 0)) continue;
      if (differ++ == 0) first = i;
    }
    return differ == n(1) && before.elements() == n(2) && first == n(3) * columns + n(4);
  }
  static bool pad_changed(const std::string& clause, const step::Pad& x, const step::Pad& y) {
    if (clause == "other padding") return !(x == y) && (!x.is_lengths || !y.is_lengths);
    if (clause == "padding rows closed") return y.both && !x.both;
    if (clause == "padding rows open") return x.both && !y.both;
    if (!x.is_lengths || !y.is_lengths) return false;
    const auto length = [](const step::Pad& pad) {
      return std::to_string(twin::number(pad.valid.array, 0));
    };
    const auto side = [&](const step::Pad& pad) {
      const std::string place = pad.left ? "after the left padding" : "before the right padding";
      if (pad.valid.array.elements() != 1) return "numbers of tokens " + place;
      return length(pad) + (length(pad) == "1" ? " token " : " tokens ") + place;
    };
    return clause == side(y) + " instead of " + (x.left != y.left ? side(x) : length(x));
  }
  /// True if the text of the step has this argument with this value; "none" if it has no such
  /// argument.
  static bool has(const Step& step, const std::string& name, const std::string& field,
                  const std::string& value) {
    const std::string text = to_text(Chain{step}, "ids.npz");
    std::smatch m;
    if (text.substr(0, text.find_first_of(":{")) != name) return false;
    if (std::regex_search(text, m, compiled("[:,]" + field + "=([^,}]*)"))) {
      std::string given = m[1];
      const std::size_t last = given.rfind('+');
      const std::size_t by = value.find(" by ");
      const bool listed = by != std::string::npos;
      if (!listed || last == std::string::npos) return given == value;
      given.replace(last, 1, " and ");
      return std::regex_replace(given, std::regex(R"(\+)"), ", ") + value.substr(by) == value;
    }
    return value == "none" || value == "0";
  }

  static std::vector<Index> ends(const std::vector<Index>& lengths) {
    std::vector<Index> out;
    Index at = 0;
    for (const Index length : lengths) out.push_back(at += length);
    return out;
  }
  static Index differing(const std::vector<Index>& x, const std::vector<Index>& y) {
    Index out = 0;
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) out += x[i] != y[i];
    return out;
  }
  /// The chains that a step applies to one of its documents only.
  static std::vector<Chain> own_chains(const step::Within& within, Index document) {
    std::vector<Chain> out;
    for (const Step& step : within.chain) {
      const auto* scoped = step.get_if<step::Scoped>();
      if (!scoped) continue;
      for (const Range& members : scoped->members) {
        if (document >= members.begin && document < members.end) out.push_back(scoped->chain);
      }
    }
    return out;
  }
  /// Sentences about documents with their own numbers of queries and keys.
  static bool within_changed(const std::string& clause, const step::Within& x,
                             const step::Within& y) {
    if (clause.starts_with("other steps in document")) {
      std::vector<Range> differing;
      for (Index i = 0; i < std::max(std::ssize(x.lengths), std::ssize(y.lengths)); ++i) {
        if (own_chains(x, i) == own_chains(y, i)) continue;
        if (differing.empty() || differing.back().end < i) differing.push_back({i, i});
        differing.back().end = i + 1;
      }
      return !differing.empty() &&
             clause == "other steps in " + ranges_said(differing, "document", "documents");
    }
    if (x.lengths.empty() || y.lengths.empty()) return clause == "other documents" && !(x == y);
    const std::vector<Index>&qx = x.lengths, &qy = y.lengths;
    const std::vector<Index>&kx = x.kv_lengths.empty() ? qx : x.kv_lengths,
          &ky = y.kv_lengths.empty() ? qy : y.kv_lengths;
    std::smatch m;
    const auto is = [&](const std::string& pattern) {
      return std::regex_match(clause, m, compiled(pattern));
    };
    const auto n = [&](std::size_t i) { return static_cast<Index>(std::stoll(m[i].str())); };
    const auto at = [](const std::vector<Index>& some, Index i) {
      return i < std::ssize(some) ? some[static_cast<std::size_t>(i)] : Index{-1};
    };
    const bool as_many = qx.size() == qy.size();
    if (is(R"(document (\d+) of (?:(\d+) queries instead of (\d+))?(?: and )?(?:(\d+) keys instead of (\d+))?(, and all after it moved)?(?: and (\d+) more lengths?)?)")) {
      const Index i = n(1), more = m[7].matched ? n(7) : 0;
      const Index told = Index{m[2].matched} + Index{m[4].matched};
      return as_many && i < std::ssize(qx) && told > 0 &&
             (m[2].matched ? n(2) == at(qy, i) && n(3) == at(qx, i) && n(2) != n(3)
                           : at(qx, i) == at(qy, i)) &&
             (m[4].matched ? n(4) == at(ky, i) && n(5) == at(kx, i) && n(4) != n(5)
                           : at(kx, i) == at(ky, i)) &&
             differing(qx, qy) + differing(kx, ky) == told + more &&
             m[6].matched == (i + 1 < std::ssize(qx)) &&
             std::equal(qx.begin(), qx.begin() + i, qy.begin()) &&
             std::equal(kx.begin(), kx.begin() + i, ky.begin());
    }
    if (is(R"(document (\d+) starting at (?:query (\d+) instead of (\d+))?(?: and )?(?:key (\d+) instead of (\d+))?(?: and (\d+) more borders?)?)")) {
      const Index i = n(1) - 1, more = m[6].matched ? n(6) : 0;
      const Index told = Index{m[2].matched} + Index{m[4].matched};
      const auto eqx = ends(qx), eqy = ends(qy), ekx = ends(kx), eky = ends(ky);
      return as_many && i >= 0 && i + 1 < std::ssize(qx) && told > 0 &&
             (!m[2].matched || (n(2) == at(eqy, i) && n(3) == at(eqx, i) && n(2) != n(3))) &&
             (!m[4].matched || (n(4) == at(eky, i) && n(5) == at(ekx, i) && n(4) != n(5))) &&
             differing(eqx, eqy) + differing(ekx, eky) == told + more;
    }
    const auto merged = [&](Index first, Index last, const std::vector<Index>& from,
                            const std::vector<Index>& to) {
      std::vector<Index> out(from.begin(), from.begin() + first);
      Index sum = 0;
      for (Index i = first; i <= last; ++i) sum += at(from, i);
      out.push_back(sum);
      out.insert(out.end(), from.begin() + last + 1, from.end());
      return out == to;
    };
    if (is("all (\\d+) documents merged into one")) {
      return n(1) == std::ssize(qx) && merged(0, n(1) - 1, qx, qy) && merged(0, n(1) - 1, kx, ky);
    }
    if (is("documents (\\d+) (and|to) (\\d+) merged into one")) {
      return n(3) < std::ssize(qx) && n(1) < n(3) && (m[2] == "and") == (n(1) + 1 == n(3)) &&
             merged(n(1), n(3), qx, qy) && merged(n(1), n(3), kx, ky);
    }
    if (is("document (\\d+) split into (\\d+)")) {
      const Index last = n(1) + n(2) - 1;
      return last < std::ssize(qy) && merged(n(1), last, qy, qx) && merged(n(1), last, ky, kx);
    }
    if (is(R"((a further )?document (\d+) \((?:no query|quer(?:y|ies) (\d+)(?:-(\d+))?), (?:no key|keys? (\d+)(?:-(\d+))?)\)( left out)?)")) {
      if (m[1].matched == m[7].matched) return false;
      const auto &q = m[1].matched ? qy : qx, &k = m[1].matched ? ky : kx;
      const auto &q_rest = m[1].matched ? qx : qy, &k_rest = m[1].matched ? kx : ky;
      const auto part_holds = [&](const std::vector<Index>& lengths, std::size_t first) {
        const Index end = at(ends(lengths), n(2)), length = at(lengths, n(2));
        if (!m[first].matched) return length == 0;
        const Index last = m[first + 1].matched ? n(first + 1) : n(first);
        return n(first) == end - length && last == end - 1;
      };
      const auto without = [&](std::vector<Index> lengths) {
        lengths.erase(lengths.begin() + n(2));
        return lengths;
      };
      return n(2) < std::ssize(q) && part_holds(q, 3) && part_holds(k, 5) && without(q) == q_rest &&
             without(k) == k_rest;
    }
    if (is("(\\d+) instead of (\\d+) documents, the first that differs is document (\\d+)")) {
      Index first = 0;
      while (first < std::ssize(qx) && first < std::ssize(qy) && at(qx, first) == at(qy, first) &&
             at(kx, first) == at(ky, first)) {
        ++first;
      }
      return n(1) == std::ssize(qy) && n(2) == std::ssize(qx) && n(1) != n(2) && n(3) == first;
    }
    return false;
  }

  Index queries_, keys_, shift_;
};

}  // namespace maskctl::test
