// Compares the documents of two masks; only which tokens share an id matters, not the ids.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/diff/change.h"

namespace maskctl {
namespace {

constexpr Index kManyChanges = 16;

/// The id of one token in A and in B.
struct IdPair {
  std::int32_t a, b;
  friend bool operator==(const IdPair&, const IdPair&) = default;
};

/// Returns the ids in A and in B of each query and each key, without repetitions of the pair
/// before.
std::vector<IdPair> pairs_of(const Ids& a, const Ids& b) {
  std::vector<IdPair> out;
  const auto add = [&out](const std::vector<std::int32_t>& in_a,
                          const std::vector<std::int32_t>& in_b) {
    for (std::size_t i = 0; i < std::min(in_a.size(), in_b.size()); ++i) {
      const IdPair pair{in_a[i], in_b[i]};
      if (out.empty() || out.back() != pair) out.push_back(pair);
    }
  };
  add(a.q, b.q);
  if (a.q != a.k || b.q != b.k) add(a.k, b.k);
  return out;
}

/// Maps each id in A to its id in B.
class IdMap {
 public:
  IdMap(const std::vector<IdPair>& pairs, std::int32_t none_a, std::int32_t none_b)
      : none_(none_b) {
    for (const auto& [from, to] : pairs) {
      if (from == none_a) {
        appears_ |= to != none_b;
        continue;
      }
      const auto [at, is_new] = to_.emplace(from, to);
      single_ &= is_new || at->second == to;
    }
  }

  /// True if each document of A is part of a single document of B or of none, and no token outside
  /// A's documents is in one of B's.
  bool only_joins_and_drops() const { return single_ && !appears_; }
  std::size_t documents() const { return to_.size(); }
  std::vector<std::int32_t> dropped() const {
    std::vector<std::int32_t> out;
    for (const auto& [from, to] : to_) {
      if (to == none_) out.push_back(from);
    }
    return out;
  }
  /// Groups of documents of A that are a single document in B.
  std::vector<std::vector<std::int32_t>> joined() const {
    std::map<std::int32_t, std::vector<std::int32_t>> by_target;
    for (const auto& [from, to] : to_) {
      if (to != none_) by_target[to].push_back(from);
    }
    std::vector<std::vector<std::int32_t>> out;
    for (auto& [to, group] : by_target) {
      if (group.size() > 1) out.push_back(std::move(group));
    }
    return out;
  }

 private:
  std::map<std::int32_t, std::int32_t> to_;
  std::int32_t none_;
  bool single_ = true, appears_ = false;
};

/// A range of neighbouring tokens with the same id; tokens outside documents are in none.
struct Stretch {
  Range at;
  std::int32_t id;
};
std::vector<Stretch> stretches(const std::vector<std::int32_t>& ids, std::int32_t none) {
  std::vector<Stretch> out;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto at = static_cast<Index>(i);
    const bool goes_on = i > 0 && ids[i] == ids[i - 1];
    if (ids[i] == none) continue;
    if (goes_on) {
      out.back().at.end = at + 1;
    } else {
      out.push_back({{at, at + 1}, ids[i]});
    }
  }
  return out;
}

/// Words for a document: its number, in order of first appearance, and its tokens.
std::string document_words(const Ids& ids, std::int32_t id) {
  std::vector<std::int32_t> order;
  std::vector<Range> tokens;
  const auto& side = std::find(ids.k.begin(), ids.k.end(), id) != ids.k.end() ? ids.k : ids.q;
  std::set<std::int32_t> seen;
  Index number = -1;
  for (const Stretch& stretch : stretches(side, ids.none)) {
    if (stretch.id == id && number < 0) number = static_cast<Index>(seen.size());
    seen.insert(stretch.id);
    if (stretch.id == id) tokens.push_back(stretch.at);
  }
  return fmt::format("document {} ({})", number, range_words(tokens, "token", {}, kMostRanges));
}

std::string list_words(const Ids& ids, const std::vector<std::int32_t>& documents) {
  constexpr std::size_t kMost = 4;
  std::string out;
  for (std::size_t i = 0; i < std::min(documents.size(), kMost); ++i) {
    if (i > 0) out += i + 1 == documents.size() ? " and " : ", ";
    out += document_words(ids, documents[i]);
  }
  if (documents.size() > kMost) out += fmt::format(" and {} more", documents.size() - kMost);
  return out;
}

/// Words for how dropping and joining documents turns A into B, or with `reversed` B into A. `map`
/// maps the ids of `from`, the side that is changed.
MaybeReason joins_and_drops(const IdMap& map, const Ids& from, bool reversed) {
  if (!map.only_joins_and_drops()) return std::nullopt;
  const auto dropped = map.dropped();
  const auto joined = map.joined();
  if (dropped.empty() && joined.empty()) return std::nullopt;
  if (dropped.empty() && joined.size() == 1 && joined.front().size() == map.documents()) {
    return Reason{"document",
                  reversed ? fmt::format("one document split into {}", map.documents())
                           : fmt::format("all {} documents merged into one", map.documents())};
  }
  Reason out{"document", "", static_cast<Index>(dropped.size() + joined.size())};
  if (!dropped.empty()) {
    out.words = fmt::format("{} {}", list_words(from, dropped), reversed ? "added" : "missing");
  }
  for (const auto& group : joined) {
    if (!out.words.empty()) out.words += "; ";
    out.words += fmt::format("{} {}", list_words(from, group),
                             reversed ? "instead of one" : "merged into one");
  }
  return out;
}

/// True if queries and keys have the same documents, each of which is one stretch: only then do
/// borders between stretches say which tokens are in which document.
bool are_packed(const Ids& ids, const std::vector<Stretch>& found) {
  std::set<std::int32_t> seen;
  return ids.q == ids.k && std::ranges::all_of(found, [&](const Stretch& stretch) {
           return seen.insert(stretch.id).second;
         });
}

/// The tokens that are in a document of A and in none of B, in ranges.
std::vector<Range> left_out(const Ids& a, const Ids& b) {
  std::vector<Range> out;
  for (Index i = 0; i < std::ssize(a.k); ++i) {
    if (a.k[as_size(i)] == a.none || b.k[as_size(i)] != b.none) continue;
    append_range(out, {i, i + 1});
  }
  return out;
}

/// Words for documents of A that are joined in B while some of A's tokens are in no document of B;
/// with `reversed`, for those of B that are joined in A.
MaybeReason joins_with_gaps(const Ids& a, const Ids& b, bool reversed) {
  if (a.q != a.k || b.q != b.k) return std::nullopt;
  const std::vector<Range> gaps = left_out(a, b);
  if (gaps.empty() || gaps.size() > kMostRanges) return std::nullopt;
  Ids covered = a;
  for (const Range& gap : gaps) {
    for (Index i = gap.begin; i < gap.end; ++i) covered.k[as_size(i)] = a.none;
  }
  covered.q = covered.k;
  const IdMap map(pairs_of(covered, b), a.none, b.none);
  if (!map.only_joins_and_drops() || !map.dropped().empty()) return std::nullopt;
  Reason out{"document", "", std::ssize(gaps)};
  for (const auto& group : map.joined()) {
    out.words += fmt::format("{} {}; ", list_words(a, group),
                             reversed ? "instead of one" : "merged into one");
    ++out.changes;
  }
  out.words += fmt::format("{} in {}", range_words(gaps, "token"),
                           reversed ? "documents instead of none" : "no document");
  return out;
}

/// Words for moved borders of consecutive documents, which are the same for queries and keys.
MaybeReason moved_borders(const std::vector<Stretch>& a, const std::vector<Stretch>& b) {
  if (a.size() != b.size()) return std::nullopt;
  Index changes = 0;
  std::string words;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool begin = a[i].at.begin != b[i].at.begin;
    // Where one document ends and the next begins is a single border, which counts once.
    const bool shared =
        i > 0 && a[i - 1].at.end == a[i].at.begin && b[i - 1].at.end == b[i].at.begin;
    if (begin && !shared) {
      if (changes++ == 0) {
        words = fmt::format("document {} starting at token {}", i,
                            instead(b[i].at.begin, a[i].at.begin));
      }
    }
    if (a[i].at.end != b[i].at.end && changes++ == 0) {
      words = fmt::format("document {} ending at token {}", i,
                          instead(b[i].at.end - 1, a[i].at.end - 1));
    }
  }
  if (changes == 0) return std::nullopt;
  // A moved begin of the first document, or end of the last, is simpler to word as padding.
  const bool at_an_end =
      a.front().at.begin != b.front().at.begin || a.back().at.end != b.back().at.end;
  if (changes == 1 && at_an_end) return Reason{"parameter", words, 2};
  if (changes > 1) words += fmt::format(" and {} more borders moved", changes - 1);
  return Reason{"parameter", words, changes};
}

/// Words for one document that became longer or shorter, or was dropped or added, while all
/// documents after it moved along.
MaybeReason moved_tail(const std::vector<Stretch>& a, const std::vector<Stretch>& b) {
  std::size_t same = 0;
  while (same < a.size() && same < b.size() && a[same].at == b[same].at) ++same;
  if (same == a.size() || same == b.size()) return std::nullopt;
  const auto follows = [&](std::size_t in_a, std::size_t in_b, Index by) {
    while (in_a < a.size() && in_b < b.size() && a[in_a].at.begin + by == b[in_b].at.begin &&
           a[in_a].at.end + by == b[in_b].at.end) {
      ++in_a;
      ++in_b;
    }
    return in_a == a.size() && in_b == b.size();
  };
  const Range before = a[same].at, after = b[same].at;
  const Index longer = after.size() - before.size();
  if (before.begin == after.begin && longer != 0 && same + 1 == a.size() && a.size() == b.size()) {
    return Reason{
        "parameter",
        fmt::format("document {}, the last, of {} tokens (padding from token {})", same,
                    instead(after.size(), before.size()), instead(after.end, before.end))};
  }
  if (before.begin == after.begin && longer != 0 && follows(same + 1, same + 1, longer)) {
    return Reason{"parameter", fmt::format("document {} of {} tokens, and all after it moved by {}",
                                           same, instead(after.size(), before.size()), longer)};
  }
  if (a.size() == b.size() + 1 && follows(same + 1, same, -before.size())) {
    return Reason{"document", fmt::format("document {} ({}) left out, and all after it moved up",
                                          same, range_words(before, "token"))};
  }
  if (b.size() == a.size() + 1 && follows(same, same + 1, after.size())) {
    return Reason{"document", fmt::format("a further document {} ({}), and all after it moved down",
                                          same, range_words(after, "token"))};
  }
  return std::nullopt;
}

/// The number of each token's document, keys before queries. Documents are numbered by first
/// appearance; -1 means no document.
std::vector<Index> numbers_of(const Ids& ids) {
  std::map<std::int32_t, Index> numbers;
  std::vector<Index> out;
  for (const auto* side : {&ids.k, &ids.q}) {
    for (const std::int32_t id : *side) {
      out.push_back(id == ids.none ? -1 : numbers.emplace(id, std::ssize(numbers)).first->second);
    }
  }
  return out;
}

/// "documents of 6+14 instead of 10+5+5 tokens", where few documents follow each other from token 0
/// on in both masks.
MaybeReason other_lengths(const std::vector<Stretch>& a, const std::vector<Stretch>& b) {
  constexpr std::size_t kMostDocuments = 12;
  const auto lengths_of = [](const std::vector<Stretch>& some) {
    std::vector<Index> out;
    Index end = 0;
    for (const Stretch& one : some) {
      if (one.at.begin != end) return std::vector<Index>{};
      out.push_back(one.at.size());
      end = one.at.end;
    }
    return out.size() <= kMostDocuments ? out : std::vector<Index>{};
  };
  const std::vector<Index> in_a = lengths_of(a), in_b = lengths_of(b);
  if (in_a.empty() || in_b.empty()) return std::nullopt;
  return Reason{
      "parameter",
      fmt::format("documents of {} instead of {} tokens", joined(in_b, "+"), joined(in_a, "+")),
      kManyChanges};
}

/// Names the first token that is in another document, if there is no simpler difference.
Reason first_difference(const Ids& a, const Ids& b) {
  const std::vector<Index> in_a = numbers_of(a), in_b = numbers_of(b);
  const Index at =
      std::mismatch(in_a.begin(), in_a.end(), in_b.begin(), in_b.end()).first - in_a.begin();
  const auto place = [at](const std::vector<Index>& numbers) {
    const Index number = at < std::ssize(numbers) ? numbers[static_cast<std::size_t>(at)] : -1;
    return number < 0 ? std::string("no document") : fmt::format("document {}", number);
  };
  const auto documents = [](const std::vector<Index>& numbers) {
    return numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end()) + 1;
  };
  const Index keys = std::ssize(a.k);
  const char* what = at >= keys ? "query" : a.q == a.k ? "token" : "key";
  std::string words = fmt::format("{} {} in {} instead of {}, the first that differs", what,
                                  at >= keys ? at - keys : at, place(in_b), place(in_a));
  if (documents(in_a) != documents(in_b)) {
    words += fmt::format(", and {} documents", instead(documents(in_b), documents(in_a)));
  }
  return {"parameter", words, kManyChanges};
}

}  // namespace

MaybeReason documents_change(const Ids& a, const Ids& b) {
  std::vector<IdPair> pairs = pairs_of(a, b);
  const IdMap there(pairs, a.none, b.none);
  for (IdPair& pair : pairs) std::swap(pair.a, pair.b);
  const IdMap back(pairs, b.none, a.none);
  if (auto found = joins_and_drops(there, a, false)) return found;
  if (auto found = joins_and_drops(back, b, true)) return found;
  if (there.only_joins_and_drops() && back.only_joins_and_drops())
    return std::nullopt;  // the documents are equal
  const auto stretches_a = stretches(a.k, a.none), stretches_b = stretches(b.k, b.none);
  const auto otherwise = [&] {
    if (auto gaps = joins_with_gaps(a, b, false)) return *gaps;
    if (auto gaps = joins_with_gaps(b, a, true)) return *gaps;
    return first_difference(a, b);
  };
  if (!are_packed(a, stretches_a) || !are_packed(b, stretches_b)) return otherwise();
  auto best = moved_tail(stretches_a, stretches_b);
  const auto borders = moved_borders(stretches_a, stretches_b);
  if (borders && (!best || borders->changes < best->changes)) best = borders;
  if (!best) best = other_lengths(stretches_a, stretches_b);
  return best ? *best : otherwise();
}

}  // namespace maskctl
