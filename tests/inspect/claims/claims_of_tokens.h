// Says when findings about the future, groups of tokens and rolled masks are true.
#pragma once

#include <regex>
#include <string>

#include "inspect/claims/claim.h"
#include "inspect/claims/predicates.h"
#include "maskctl/mask/arrays/dense.h"

namespace maskctl::test {

/// The image of a token: tokens 4 to 7 and 20 to 22 are in images, all others are text (0).
inline Index image(Index token) {
  if (4 <= token && token < 8) return 1;
  return 20 <= token && token < 23 ? 2 : 0;
}
/// A causal mask in which images see each other; those after them, too, if `joined`.
inline Tensor images(bool joined) {
  return bools(32, [joined](Index q, Index k) {
    return k <= q || (image(q) > 0 && (joined ? image(k) > 0 : image(q) == image(k)));
  });
}
/// Whether some plane has what a message about the future names: groups, rows that see every key,
/// columns that every query sees, or cells of the future in a plane other than that of the finding.
inline bool has_future_in(const Claimed& claim, const std::string& what) {
  const PlainCells& cells = claim.cells;
  return cells.planes([&](Index b, Index h) {
    const auto later = [&](Index q, Index k) { return k > q + cells.shift(); };
    if (what == "other planes") {
      return (b != claim.b() || h != claim.h()) && cells.open_cells(b, h, later) > 0;
    }
    for (Index q = 0; q + 1 < cells.queries(); ++q) {
      const Index next = q + cells.shift() + 1;
      if (what == "groups" && cells.are_group(b, h, next - 1, next)) return true;
      if (what == "rows that see every key" && cells.is_full(b, h, q)) return true;
      if (what != "columns that every query sees") continue;
      if (cells.open_in(b, h, {0, cells.queries()}, {next, next + 1}) == cells.queries())
        return true;
    }
    return false;
  }) > 0;
}

/// True if the message counts all cells of the future: those of the finding and, where it names
/// more, those that are in what it names.
inline bool counts_the_future(const Claimed& claim) {
  const PlainCells& cells = claim.cells;
  Index later = 0;
  cells.planes([&](Index b, Index h) {
    later += cells.open_cells(b, h, [&](Index q, Index k) { return k > q + cells.shift(); });
    return false;
  });
  const std::string& text = claim.finding.message;
  if (text.find(", in a mask that is causal otherwise: ") != std::string::npos) {
    return later == claim.count();
  }
  static const std::regex form("causal but for these and ([0-9,]+) cells?(?: in ([^:]*))?: ");
  std::smatch said;
  if (!std::regex_search(text, said, form)) return false;
  std::string number = said[1], list = said[2];
  std::erase(number, ',');
  if (later != claim.count() + std::stoll(number)) return false;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(" or "), list.size());
    if (!has_future_in(claim, list.substr(0, end))) return false;
    list.erase(0, end + 4);
  }
  return true;
}

template <>
struct Claim<FindingId::kFuturePart> {
  static Example example() {
    return {.has = "gen:causal:n=32 -t open:q=3-5,k=20-22",
            .lacks = "gen:causal:n=32 -t open:q=3-5,k=3-5"};
  }
  static bool holds(const Claimed& claim) {
    return counts_the_future(claim) && are_in_no_group(claim);
  }
  static bool are_in_no_group(const Claimed& claim) {
    const PlainCells& cells = claim.cells;
    return claim.count() >= cells_in_no_group(cells, claim.b(), claim.h()) &&
           cells.open(claim.b(), claim.h(), claim.q(), claim.k()) &&
           claim.k() > claim.q() + cells.shift() &&
           is_causal_otherwise(cells, claim.b(), claim.h());
  }
};

template <>
struct Claim<FindingId::kGroupsJoined> {
  static Example example() {
    return {.has = "a.npy --as dense",
            .lacks = "b.npy --as dense",
            .arrays = {{"a", images(true)}, {"b", images(false)}}};
  }
  static CheckedMask question() { return {.start = mask_from_dense(images(true))}; }
  static bool holds(const Claimed& claim) {
    return Claim<FindingId::kFuturePart>::are_in_no_group(claim) &&
           sees_across_causal(claim.cells, claim.b(), claim.h());
  }
};

template <>
struct Claim<FindingId::kGroupHoles> {
  static Example example() {
    return {.has = "gen:causal:n=32 -t 'open:q=4-8,k=4-8 | open:q=15-20,k=15-20 | close:q=5,k=7'",
            .lacks = "gen:causal:n=32 -t 'open:q=4-8,k=4-8 | open:q=15-20,k=15-20'"};
  }
  static CheckedMask question() {
    return {.start = mask_from_dense(bools(32, [](Index q, Index k) {
              return (k <= q || (image(q) > 0 && image(q) == image(k))) && (q != 5 || k != 6);
            }))};
  }
  /// The key is later, closed and of a token that sees the query, and both are in a group.
  static bool is_hole(const PlainCells& cells, Index b, Index h, Index q, Index k) {
    const std::vector<Index> ends = group_ends(cells, b, h);
    const auto end_of = [&](Index query) { return ends[static_cast<std::size_t>(query)]; };
    const Index own = q + cells.shift();
    if (k <= own || k >= end_of(q) || cells.open(b, h, q, k)) return false;
    if (!cells.open(b, h, k - cells.shift(), own)) return false;
    bool earlier = false;
    for (Index other = 0; other < q; ++other) {
      earlier = earlier || (cells.open(b, h, other, k) && k < end_of(other));
    }
    return earlier || cells.open_in(b, h, {q, q + 1}, {k + 1, end_of(q)}) > 0;
  }
  static bool holds(const Claimed& claim) {
    const PlainCells& cells = claim.cells;
    Index holes = 0;
    cells.planes([&](Index b, Index h) {
      for (Index q = 0; q < cells.queries(); ++q)
        for (Index k = cells.shift(); k < cells.keys(); ++k) holes += is_hole(cells, b, h, q, k);
      return false;
    });
    return claim.count() <= holes && is_hole(cells, claim.b(), claim.h(), claim.q(), claim.k());
  }
};

template <>
struct Claim<FindingId::kTokensMoved> {
  static Tensor moved(Index by) {
    return bools(8, [by](Index q, Index k) { return k <= (q + by) % 8; });
  }
  static Example example() {
    return {.has = "a.npy --as dense",
            .lacks = "b.npy --as dense",
            .arrays = {{"a", moved(7)}, {"b", moved(0)}}};
  }
  static CheckedMask question() { return {.start = mask_from_dense(moved(7))}; }
  static bool holds(const Claimed& claim) {
    static const std::regex form(
        R"(rolled (back|on) by (\d+) (quer(?:y|ies)|keys?), each query that sees a key sees its own, )"
        R"(and (none sees a later one|two tokens see each other or neither); as it is, (\d+) of )"
        R"((\d+) see their own( as the last)?, in .*)");
    std::smatch said;
    if (!std::regex_match(claim.finding.message, said, form)) return false;
    const PlainCells& cells = claim.cells;
    const Index n = cells.keys(), by = (said[1] == "back" ? 1 : -1) * std::stoll(said[2]);
    const bool keys = said[3].str().starts_with("key"), causal = said[4].str().starts_with("none");
    const auto is_open = [&](Index q, Index k) { return cells.open(claim.b(), claim.h(), q, k); };
    const auto rolled = [&](Index q, Index k) {
      return keys ? is_open(q, ((k + by) % n + n) % n) : is_open(((q + by) % n + n) % n, k);
    };
    Index rows = 0, right = 0;
    for (Index q = 0; q < n; ++q) {
      Index last = -1;
      bool sees = false;
      for (Index k = 0; k < n; ++k) {
        if (is_open(q, k)) last = k;
        sees = sees || rolled(q, k);
        if (causal ? k > q && rolled(q, k) : rolled(q, k) != rolled(k, q)) return false;
      }
      if (sees && !rolled(q, q)) return false;
      rows += last >= 0;
      right += causal ? last == q : is_open(q, q);
    }
    return std::stoll(said[5]) == right && std::stoll(said[6]) == rows && right < rows &&
           causal == said[7].matched;
  }
};

}  // namespace maskctl::test
