// Judges whether a sentence about changed documents is true of the documents of both masks.
#pragma once

#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "inspect/sentences/patterns.h"
#include "inspect/sentences/plane_steps.h"

namespace maskctl::test {

inline const std::string kRangesSaid = R"(\d+(?:-\d+)?(?:, \d+(?:-\d+)?)*(?: and \d+ more)?)";
inline const std::string kDocumentSaid = R"(document \d+ \(tokens? )" + kRangesSaid + R"(\))";
inline const std::string kDocumentsSaid = kDocumentSaid + "(?:, " + kDocumentSaid + ")*(?: and " +
                                          kDocumentSaid + R"()?(?: and \d+ more)?)";
inline const std::string kGapsSaid = "(?:" + kDocumentsSaid +
                                     " (?:merged into one|instead of one); )*tokens? " +
                                     kRangesSaid + " in (?:no document|documents instead of none)";
inline const std::string kJoinsSaid =
    kDocumentsSaid + " (?:missing|added|merged into one|instead of one)";

class DocumentsSaid {
 public:
  DocumentsSaid(const TokenIds& a, const TokenIds& b) : a_(a), b_(b) {}

  /// True if the sentence describes exactly how the documents of B differ from those of A.
  bool holds(const std::string& text) const {
    std::smatch m;
    const auto is = [&](const std::string& pattern) {
      return std::regex_match(text, m, compiled(pattern));
    };
    const auto n = [&](std::size_t i) { return static_cast<Index>(std::stoll(m[i].str())); };
    if (is(R"(all (\d+) documents merged into one)")) {
      return n(1) == count(a_) && alike(joined(a_, all(a_)), b_);
    }
    if (is(R"(one document split into (\d+))")) {
      return n(1) == count(b_) && alike(joined(b_, all(b_)), a_);
    }
    if (is(kGapsSaid)) return gaps_hold(text);
    if (is(kJoinsSaid + "(?:; " + kJoinsSaid + ")*")) return joins_hold(text);
    if (is(R"(document (\d+) (starting|ending) at token (\d+) instead of (\d+)(?: and (\d+) more borders moved)?)")) {
      return borders_hold(n(1), m[2] == "starting", n(3), n(4), m[5].matched ? n(5) : 0);
    }
    if (is(R"(document (\d+), the last, of (\d+) instead of (\d+) tokens \(padding from token (\d+) instead of (\d+)\))")) {
      const auto in_a = parts(a_.k), in_b = parts(b_.k);
      return n(1) + 1 == std::ssize(in_a) && in_a.size() == in_b.size() &&
             size_of(in_a.back()) == n(3) && size_of(in_b.back()) == n(2) &&
             in_a.back().end == n(5) && in_b.back().end == n(4) &&
             alike(resized(n(1), n(2), 0), b_);
    }
    if (is(R"(document (\d+) of (\d+) instead of (\d+) tokens, and all after it moved by (-?\d+))")) {
      const auto in_a = parts(a_.k);
      return n(1) < std::ssize(in_a) && size_of(in_a[at(n(1))]) == n(3) && n(2) - n(3) == n(4) &&
             alike(resized(n(1), n(2), n(4)), b_);
    }
    if (is(R"(document (\d+) \(tokens? (\d+)(?:-(\d+))?\) left out, and all after it moved up)")) {
      return shifted_hold(a_, b_, n(1), n(2), m[3].matched ? n(3) : n(2));
    }
    if (is(R"(a further document (\d+) \(tokens? (\d+)(?:-(\d+))?\), and all after it moved down)")) {
      return shifted_hold(b_, a_, n(1), n(2), m[3].matched ? n(3) : n(2));
    }
    if (is(R"(documents of ([\d+]+) instead of ([\d+]+) tokens)")) {
      return lengths(b_) == m[1] && lengths(a_) == m[2];
    }
    if (is(R"((token|key|query) (\d+) in (no document|document \d+) instead of (no document|document \d+), the first that differs(?:, and (\d+) instead of (\d+) documents)?)")) {
      return first_holds(m[1], n(2), m[3], m[4], m[5].matched, m[5].matched ? n(5) : 0,
                         m[6].matched ? n(6) : 0);
    }
    return false;
  }

 private:
  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
  static Index size_of(const Range& range) { return range.end - range.begin; }
  /// "6+14" for documents that follow each other from token 0 on; "" for others.
  static std::string lengths(const TokenIds& ids) {
    if (ids.q != ids.k || recurs(ids.k)) return "";
    std::string out;
    Index end = 0;
    for (const Range& part : parts(ids.k)) {
      if (part.begin != end) return "";
      out += (out.empty() ? "" : "+") + std::to_string(size_of(part));
      end = part.end;
    }
    return out;
  }
  static std::set<Index> all(const TokenIds& ids) {
    std::set<Index> out;
    for (const auto* side : {&ids.q, &ids.k})
      for (const Index id : *side)
        if (id >= 0) out.insert(id);
    return out;
  }
  static Index count(const TokenIds& ids) { return std::ssize(all(ids)); }
  static TokenIds mapped(TokenIds ids, const std::map<Index, Index>& to) {
    for (auto* side : {&ids.q, &ids.k})
      for (Index& id : *side)
        if (const auto found = to.find(id); found != to.end()) id = found->second;
    return ids;
  }
  static TokenIds joined(const TokenIds& ids, const std::set<Index>& group) {
    std::map<Index, Index> to;
    for (const Index id : group) to[id] = *group.begin();
    return mapped(ids, to);
  }
  /// True if tokens that share a document in one share one in the other, and the same tokens are in
  /// no document.
  static bool alike(const TokenIds& x, const TokenIds& y) {
    std::map<Index, Index> there{{-1, -1}}, back{{-1, -1}};
    for (const auto& [in_x, in_y] : {std::pair{&x.q, &y.q}, std::pair{&x.k, &y.k}}) {
      if (in_x->size() != in_y->size()) return false;
      for (std::size_t i = 0; i < in_x->size(); ++i) {
        const Index u = (*in_x)[i], v = (*in_y)[i];
        if (there.emplace(u, v).first->second != v || back.emplace(v, u).first->second != u) {
          return false;
        }
      }
    }
    return true;
  }
  /// The ranges of adjacent tokens of the same document, in order.
  static std::vector<Range> parts(const std::vector<Index>& ids) {
    std::vector<Range> out;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0) continue;
      const auto token = static_cast<Index>(i);
      if (i > 0 && ids[i - 1] == ids[i]) {
        out.back().end = token + 1;
      } else {
        out.push_back({token, token + 1});
      }
    }
    return out;
  }
  static bool recurs(const std::vector<Index>& ids) {
    std::set<Index> seen;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0 || (i > 0 && ids[i - 1] == ids[i])) continue;
      if (!seen.insert(ids[i]).second) return true;
    }
    return false;
  }

  /// The id of "document 2 (tokens 3-5)", if there is such a document.
  static std::optional<Index> named(const TokenIds& ids, const std::string& text) {
    std::smatch m;
    if (!std::regex_match(text, m, compiled(R"(document (\d+) \(tokens? (.*)\))"))) return {};
    for (const Index id : all(ids)) {
      const auto& side = std::ranges::find(ids.k, id) != ids.k.end() ? ids.k : ids.q;
      std::set<Index> before;
      std::vector<Range> tokens;
      Index number = -1;
      for (const Range& part : parts(side)) {
        const Index own = side[at(part.begin)];
        if (own == id && number < 0) number = std::ssize(before);
        before.insert(own);
        if (own == id) tokens.push_back(part);
      }
      if (number == std::stoll(m[1].str()) && numbers_text(tokens, ", ", 4) == m[2].str())
        return id;
    }
    return {};
  }

  bool joins_hold(const std::string& text) const {
    TokenIds from_a = a_, from_b = b_;
    static const std::regex clause("(" + kDocumentsSaid +
                                   ") (missing|added|merged into one|instead of one)");
    for (std::sregex_iterator i(text.begin(), text.end(), clause), end; i != end; ++i) {
      const std::string list = (*i)[1].str(), what = (*i)[2].str();
      const bool in_a = what == "missing" || what == "merged into one";
      std::set<Index> group;
      const TokenIds& own = in_a ? a_ : b_;
      if (!list_holds(list, own, own, in_a ? b_ : a_, what, group)) return false;
      TokenIds& from = in_a ? from_a : from_b;
      if (what == "missing" || what == "added") {
        std::map<Index, Index> none;
        for (const Index id : group) none[id] = -1;
        from = mapped(from, none);
      } else {
        from = joined(from, group);
      }
    }
    return alike(from_a, from_b);
  }
  /// Judges "...; tokens 5-9 in no document": removing these tokens from the documents of one side,
  /// and joining the documents that are listed before, must give the documents of the other side.
  bool gaps_hold(const std::string& text) const {
    const bool in_a = text.ends_with("in no document");
    const std::size_t last = text.rfind("; ");
    const std::size_t from = last == std::string::npos ? 0 : last + 2;
    TokenIds gapped = in_a ? a_ : b_;
    static const std::regex range(R"((\d+)(?:-(\d+))?)");
    const std::string gaps = text.substr(from);
    for (std::sregex_iterator i(gaps.begin(), gaps.end(), range), end; i != end; ++i) {
      const Index first = std::stoll((*i)[1]), to = (*i)[2].matched ? std::stoll((*i)[2]) : first;
      for (Index token = first; token <= to; ++token) {
        if (token >= std::ssize(gapped.k) || gapped.k[at(token)] < 0) return false;
        gapped.k[at(token)] = gapped.q[at(token)] = -1;
      }
    }
    const std::string joins = from == 0 ? "" : text.substr(0, from - 2);
    if (joins.empty()) return alike(gapped, in_a ? b_ : a_);
    // The sentence names documents by the tokens that are left after the removal.
    TokenIds out = gapped;
    static const std::regex clause("(" + kDocumentsSaid + ") (merged into one|instead of one)");
    for (std::sregex_iterator i(joins.begin(), joins.end(), clause), end; i != end; ++i) {
      if (((*i)[2] == "merged into one") != in_a) return false;
      std::set<Index> group;
      if (!list_holds((*i)[1], in_a ? a_ : b_, gapped, in_a ? b_ : a_, (*i)[2], group))
        return false;
      out = joined(out, group);
    }
    return alike(out, in_a ? b_ : a_);
  }
  /// Adds the documents of a list to `group`; they are named as in `names`. "and 3 more" stands for
  /// the other documents whose tokens are in the same document of `other`, or also in none; there
  /// must be 3 of these. False if that does not hold.
  static bool list_holds(const std::string& list, const TokenIds& names, const TokenIds& from,
                         const TokenIds& other, const std::string& what, std::set<Index>& group) {
    static const std::regex one(kDocumentSaid), more(R"(and (\d+) more$)");
    for (std::sregex_iterator j(list.begin(), list.end(), one), end; j != end; ++j) {
      const auto id = named(names, j->str());
      if (!id || !group.insert(*id).second) return false;
    }
    std::smatch m;
    if (!std::regex_search(list, m, more)) return true;
    std::map<Index, std::set<Index>> to;
    for (const auto& [in, out] : {std::pair{&from.q, &other.q}, std::pair{&from.k, &other.k}})
      for (std::size_t i = 0; i < in->size(); ++i)
        if ((*in)[i] >= 0) to[(*in)[i]].insert((*out)[i]);
    const bool dropped = what == "missing" || what == "added";
    const std::set<Index> target = dropped ? std::set<Index>{-1} : to[*group.begin()];
    if (!std::ranges::all_of(group, [&](Index id) { return to[id] == target; })) return false;
    const Index listed = std::ssize(group);
    for (const auto& [id, targets] : to)
      if (targets == target) group.insert(id);
    return std::ssize(group) == listed + std::stoll(m[1].str());
  }

  bool borders_hold(Index document, bool start, Index now, Index before, Index more) const {
    const auto in_a = parts(a_.k), in_b = parts(b_.k);
    if (in_a.size() != in_b.size() || document >= std::ssize(in_a)) return false;
    if (recurs(a_.k) || recurs(b_.k)) return false;
    const Range &x = in_a[at(document)], &y = in_b[at(document)];
    if (start ? x.begin != before || y.begin != now : x.end - 1 != before || y.end - 1 != now) {
      return false;
    }
    // A border is the start of a document, or its end unless the next document starts there.
    Index moved = 0;
    for (std::size_t i = 0; i < in_a.size(); ++i) {
      const bool touches =
          i > 0 && in_a[i - 1].end == in_a[i].begin && in_b[i - 1].end == in_b[i].begin;
      moved += in_a[i].begin != in_b[i].begin && !touches;
      moved += in_a[i].end != in_b[i].end;
    }
    return before != now && moved == more + 1;
  }

  /// A's documents, with `document` changed to `size` tokens and all later documents moved by `by`.
  TokenIds resized(Index document, Index size, Index by) const {
    const auto in_a = parts(a_.k);
    TokenIds out;
    out.k.assign(a_.k.size(), -1);
    for (std::size_t i = 0; i < in_a.size(); ++i) {
      const auto number = static_cast<Index>(i);
      Range part = in_a[i];
      if (number == document) part.end = part.begin + size;
      if (number > document) part = {part.begin + by, part.end + by};
      for (Index token = part.begin; token < part.end && token < std::ssize(out.k); ++token) {
        out.k[at(token)] = a_.k[at(in_a[i].begin)];
      }
    }
    out.q = out.k;
    return out;
  }
  /// True if removing this document from `with`, and moving all later ones up, gives `without`.
  static bool shifted_hold(const TokenIds& with, const TokenIds& without, Index document,
                           Index first, Index last) {
    const auto in = parts(with.k), rest = parts(without.k);
    if (document >= std::ssize(in) || in.size() != rest.size() + 1) return false;
    if (in[at(document)] != Range{first, last + 1} || recurs(with.k) || recurs(without.k))
      return false;
    const Index by = last + 1 - first;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (static_cast<Index>(i) == document) continue;
      const bool after = static_cast<Index>(i) > document;
      const Range moved{in[i].begin - (after ? by : 0), in[i].end - (after ? by : 0)};
      if (rest[after ? i - 1 : i] != moved) return false;
    }
    return true;
  }

  /// Numbers documents in the order in which they first appear among the keys, then the queries.
  static std::vector<Index> numbered(const TokenIds& ids) {
    std::map<Index, Index> numbers;
    std::vector<Index> out;
    for (const auto* side : {&ids.k, &ids.q})
      for (const Index id : *side)
        out.push_back(id < 0 ? -1 : numbers.emplace(id, std::ssize(numbers)).first->second);
    return out;
  }
  bool first_holds(const std::string& what, Index token, const std::string& now,
                   const std::string& before, bool counts, Index many, Index were) const {
    const auto in_a = numbered(a_), in_b = numbered(b_);
    const auto words = [](Index number) {
      return number < 0 ? std::string("no document") : "document " + std::to_string(number);
    };
    std::size_t first = 0;
    while (first < in_a.size() && in_a[first] == in_b[first]) ++first;
    const Index keys = std::ssize(a_.k);
    const bool query = static_cast<Index>(first) >= keys;
    if (first == in_a.size() || (what == "query") != query) return false;
    if (what == "token" && a_.q != a_.k) return false;
    if (token != static_cast<Index>(first) - (query ? keys : 0)) return false;
    if (words(in_a[first]) != before || words(in_b[first]) != now) return false;
    return counts ? many == count(b_) && were == count(a_) && many != were : count(a_) == count(b_);
  }

  const TokenIds &a_, &b_;
};

}  // namespace maskctl::test
