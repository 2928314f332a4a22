// Predicates that several claims share, and those that take more than a few lines.
#pragma once

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "inspect/claims/claimed.h"

namespace maskctl::test {

/// True if some query does not see its own token (or its own block, if a key stands for several
/// queries), and all later keys or most keys are open, or the closed cells are a square from token
/// 0 on.
inline bool hides_selves(const PlainCells& cells, Index b, Index h) {
  const Index queries = cells.queries(), keys = cells.keys(), all = queries * keys;
  const Index block = queries > keys && queries % keys == 0 ? queries / keys : 1;
  const auto own = [&](Index q) { return block > 1 ? q / block : q + cells.shift(); };
  const auto self = [&](Index q, Index k) { return k == own(q); };
  const auto later = [&](Index q, Index k) { return k > own(q); };
  if (cells.open_cells(b, h, self) == cells.all_cells(self)) return false;
  Index side = 0;
  while (side < std::min(queries, keys) && !cells.open(b, h, 0, side)) ++side;
  const auto inside = [&](Index q, Index k) { return q < side && k < side; };
  const Index ahead = cells.open_cells(b, h, later);
  return ahead == cells.all_cells(later) || 2 * cells.open_cells(b, h) > all ||
         (ahead == cells.open_cells(b, h) && 2 * ahead >= cells.all_cells(later)) ||
         (cells.open_cells(b, h) == all - side * side && cells.open_cells(b, h, inside) == 0);
}

/// True if queries see later keys and no earlier ones or, unless `none` are, less than half of them
/// and all later ones. Opened padding rows do not count. A key may stand for a block of queries.
inline bool is_transposed(const PlainCells& cells, Index b, Index h, bool none) {
  const Index queries = cells.queries(), keys = cells.keys();
  const Index block = queries > keys && queries % keys == 0 ? queries / keys : 1;
  const auto own = [&](Index q) { return block > 1 ? q / block : q + cells.shift(); };
  const auto holds = [&](bool all_rows) {
    const auto counts = [&](Index q) { return all_rows || !cells.is_opened_padding(b, h, q); };
    const auto earlier = [&](Index q, Index k) { return counts(q) && k < own(q); };
    const auto later = [&](Index q, Index k) { return counts(q) && k > own(q); };
    const Index open = cells.open_cells(b, h, earlier), ahead = cells.open_cells(b, h, later);
    if (none) return ahead > 0 && open == 0;
    return ahead == cells.all_cells(later) && 0 < open && 2 * open < cells.all_cells(earlier);
  };
  return holds(true) || holds(false);
}

/// The query sees itself, an earlier key and no later one.
inline bool is_causal_row(const PlainCells& cells, Index b, Index h, Index q) {
  const Index own = q + cells.shift();
  const auto in_row = [&](Index low, Index high) {
    return cells.open_in(b, h, {q, q + 1}, {low, high});
  };
  return in_row(own, own + 1) == 1 && in_row(0, own) > 0 && in_row(own + 1, cells.keys()) == 0;
}

/// Some token sees a later one across a causal token, which that later one sees.
inline bool sees_across_causal(const PlainCells& cells, Index b, Index h) {
  const Index shift = cells.shift();
  for (Index between = 1; between + 1 < cells.queries(); ++between) {
    if (!is_causal_row(cells, b, h, between)) continue;
    for (Index q = 0; q < between; ++q)
      for (Index later = between + 1; later < cells.queries(); ++later)
        if (cells.open(b, h, q, later + shift) && cells.open(b, h, later, between + shift))
          return true;
  }
  return false;
}

/// True if, for later keys, fewer cells are open than closed, in rows that see themselves but not
/// all keys, and outside of groups of tokens that see each other; and some query sees itself, an
/// earlier key and no later one.
inline bool is_causal_otherwise(const PlainCells& cells, Index b, Index h) {
  const auto alone = [&](Index q, Index k) {
    const Index own = q + cells.shift();
    return k > own && cells.open(b, h, q, own) && !cells.is_full(b, h, q) &&
           !cells.are_group(b, h, own, k);
  };
  Index causal = 0;
  for (Index q = 0; q < cells.queries(); ++q) causal += is_causal_row(cells, b, h, q);
  return causal > 0 && 2 * cells.open_cells(b, h, alone) < cells.all_cells(alone);
}

/// For each query: where the keys of the longest group that it is in end. A group is a range of
/// tokens in which, of three pairs in four, each sees the other.
inline std::vector<Index> group_ends(const PlainCells& cells, Index b, Index h) {
  const Index queries = cells.queries(), shift = cells.shift();
  std::vector<Index> out(static_cast<std::size_t>(std::max<Index>(queries, 0)), 0);
  if (shift < 0) return out;
  for (Index first = 0; first < queries; ++first) {
    Index mutual = 0;
    for (Index last = first + 1; last < queries; ++last) {
      for (Index q = first; q < last; ++q) {
        mutual += cells.open(b, h, q, last + shift) && cells.open(b, h, last, q + shift);
      }
      const Index rows = last - first + 1;
      if (8 * mutual < 3 * rows * (rows - 1)) continue;
      for (Index q = first; q <= last; ++q) {
        Index& longest = out[static_cast<std::size_t>(q)];
        longest = std::max(longest, last + 1 + shift);
      }
    }
  }
  return out;
}

/// How many later keys are open to rows that see themselves but not all keys, outside of groups
/// (group_ends()), and of tokens that see all keys and are seen by all queries.
inline Index cells_in_no_group(const PlainCells& cells, Index b, Index h) {
  const auto is_global = [&](Index k) {
    if (k < cells.shift() || !cells.is_full(b, h, k - cells.shift())) return false;
    for (Index q = 0; q < cells.queries(); ++q) {
      if (!cells.open(b, h, q, k)) return false;
    }
    return true;
  };
  const std::vector<Index> ends = group_ends(cells, b, h);
  return cells.open_cells(b, h, [&](Index q, Index k) {
    const Index own = q + cells.shift();
    return k > own && cells.open(b, h, q, own) && !cells.is_full(b, h, q) && !is_global(k) &&
           k >= ends[static_cast<std::size_t>(q)];
  });
}

/// True if some query sees a later key, in a plane that is not fully open. Without `all`, rows that
/// see all keys do not count. Planes in which at most one query sees itself hold padding and do not
/// count.
inline bool sees_future(const PlainCells& cells, Index b, Index h, bool all) {
  const auto self = [&](Index q, Index k) { return k == q + cells.shift(); };
  if (cells.open_cells(b, h, self) < 2) return false;
  if (cells.open_cells(b, h) == cells.queries() * cells.keys()) return false;
  return cells.open_cells(b, h, [&](Index q, Index k) {
    if (k <= q + cells.shift()) return false;
    const bool is_token = k >= cells.shift() && cells.is_full(b, h, k - cells.shift());
    return all || (!cells.is_full(b, h, q) && !is_token);
  }) > 0;
}

/// The numbers of a list such as "20+44+1*9" that begins there.
inline std::vector<Index> listed_at(const std::string& text, std::size_t at) {
  std::vector<Index> out;
  for (;; ++at) {
    std::size_t used = 0;
    out.push_back(std::stoll(text.substr(at), &used));
    at += used;
    if (text[at] == '*') {
      const Index times = std::stoll(text.substr(at + 1), &used);
      out.insert(out.end(), static_cast<std::size_t>(times - 1), out.back());
      at += 1 + used;
    }
    if (text[at] != '+') return out;
  }
}

/// The lengths that the message names, as in "are 20+44 tokens long".
inline std::vector<Index> lengths_of(const Claimed& claim) {
  return listed_at(claim.finding.message, claim.finding.message.find(" are ") + 5);
}

/// The number of the document of a token; tokens past the last are in one more.
inline Index document_of(Index token, const std::vector<Index>& lengths) {
  Index number = 0, end = 0;
  for (const Index length : lengths) {
    end += length;
    if (token < end) return number;
    ++number;
  }
  return number;
}

/// The open cells of a plane with query and key on two sides of a border between documents: how
/// many, and the first query of one. Rows of opened padding are left out at the first tokens, the
/// last, at both or nowhere.
struct AcrossBorders {
  Index cells = 0, first = -1;
  bool left_out = false;
};
inline AcrossBorders across_borders(const PlainCells& cells, Index b, Index h,
                                    const std::vector<Index>& lengths, bool first, bool last) {
  const Range left_out[] = {first ? cells.opened_padding(b, h, true) : Range{},
                            last ? cells.opened_padding(b, h, false) : Range{}};
  AcrossBorders out;
  for (Index q = 0; q < cells.queries(); ++q) {
    if (std::ranges::any_of(left_out,
                            [q](Range rows) { return q >= rows.begin && q < rows.end; })) {
      out.left_out = true;
      continue;
    }
    for (Index k = 0; k < cells.keys(); ++k) {
      if (!cells.open(b, h, q, k)) continue;
      if (document_of(q, lengths) == document_of(k, lengths)) continue;
      if (out.cells++ == 0) out.first = q;
    }
  }
  return out;
}

/// True if one batch entry or head differs from all others in the number of cells of the message,
/// and the others are equal.
inline bool differs_from_equals(const Claimed& claim) {
  const PlainCells& cells = claim.cells;
  const bool of_batch = claim.finding.message.starts_with("batch entry");
  const Index odd = of_batch ? claim.b() : claim.h();
  const Index lines = of_batch ? cells.batch() : cells.heads();
  const Index others = of_batch ? cells.heads() : cells.batch();
  const auto differing = [&](Index one, Index other) {
    Index out = 0;
    for (Index i = 0; i < others; ++i)
      for (Index q = 0; q < cells.queries(); ++q)
        for (Index k = 0; k < cells.keys(); ++k)
          out += of_batch ? cells.open(one, i, q, k) != cells.open(other, i, q, k)
                          : cells.open(i, one, q, k) != cells.open(i, other, q, k);
    return out;
  };
  const Index usual = odd == 0 ? 1 : 0;
  for (Index line = 0; line < lines; ++line) {
    if (line != odd && differing(line, usual) != 0) return false;
  }
  const bool here = cells.open(claim.b(), claim.h(), claim.q(), claim.k()) !=
                    (of_batch ? cells.open(usual, claim.h(), claim.q(), claim.k())
                              : cells.open(claim.b(), usual, claim.q(), claim.k()));
  return here && lines > 2 && differing(odd, usual) == claim.finding.count;
}

/// True if this row and all earlier ones see no key, and no query sees their tokens.
inline bool is_left_padding(const PlainCells& cells, Index b, Index h, Index q) {
  // Query i belongs to key i, also if a static cache has more keys than queries.
  const auto past_own = [](Index row, Index k) { return k > row; };
  return (cells.shift() == 0 || (cells.shift() > 0 && cells.open_cells(b, h, past_own) == 0)) &&
         cells.open_in(b, h, {0, q + 1}, {0, cells.keys()}) == 0 &&
         cells.open_in(b, h, {0, cells.queries()}, {0, q + 1}) == 0 && cells.open_cells(b, h) > 0;
}

/// True if the number of rows without keys is as the message says, and if no query sees the tokens
/// of all or of some of them, as it says.
inline bool empty_rows_are_true(const Claimed& claim) {
  const PlainCells& cells = claim.cells;
  const auto is_empty = [&](Index b, Index h, Index q) { return cells.seen(b, h, q) == 0; };
  const auto is_unseen = [&](Index b, Index h, Index q) {
    return is_empty(b, h, q) && !cells.is_seen(b, h, q);
  };
  const std::string& text = claim.finding.message;
  const std::string some = ", and no query sees the tokens of ";
  const bool tells = text.find(", and no query sees") != std::string::npos;
  const Index unseen = !tells                                 ? 0
                       : text.find(some) != std::string::npos ? claim.number_after(some)
                                                              : claim.finding.count;
  // Where these are all the rows without a key, so are their tokens.
  const bool are_all =
      claim.finding.count == cells.rows(is_empty) && cells.queries() == cells.keys();
  return is_empty(claim.b(), claim.h(), claim.q()) && claim.finding.count <= cells.rows(is_empty) &&
         (are_all ? unseen == cells.rows(is_unseen) : unseen <= cells.rows(is_unseen));
}

/// True if the row has keys, but none in the first block of 128 keys that its block of 128 queries
/// sees.
inline bool comes_late(const PlainCells& cells, Index b, Index h, Index q) {
  constexpr Index kBlock = 128;
  const Range rows{q / kBlock * kBlock, (q / kBlock + 1) * kBlock};
  Range keys{0, kBlock};
  while (keys.begin < cells.keys() && cells.open_in(b, h, rows, keys) == 0) {
    keys = {keys.end, keys.end + kBlock};
  }
  return cells.seen(b, h, q) > 0 && cells.open_in(b, h, {q, q + 1}, keys) == 0;
}

/// The number of rows of documents that see keys, all of which are padding.
inline Index rows_of_padding_keys(const Claimed& claim) {
  const Documents documents = *claim.documents();
  Index out = 0;
  for (Index b = 0; b < Claimed::batches(claim.cells, documents); ++b)
    for (Index h = 0; h < claim.cells.heads(); ++h)
      for (Index q = 0; q < claim.cells.queries(); ++q) {
        const auto in_row = [&](bool all) {
          return claim.cells.open_cells(b, h, [&](Index row, Index k) {
            return row == q && (all || Claimed::id(documents, documents.kv, b, k));
          });
        };
        out += Claimed::id(documents, documents.q, b, q) && in_row(true) > 0 && in_row(false) == 0;
      }
  return out;
}

/// The number of cells that the step of the finding opens, of those that the closing step in its
/// message had closed.
inline Index reopened(const Claimed& claim) {
  const Index closing = claim.number_after("(step ");
  const twin::Dense closed = twin::zip(Op::kSub, claim.before(closing), claim.after(closing));
  const twin::Dense opened =
      twin::zip(Op::kSub, claim.after(claim.step()), claim.before(claim.step()));
  const twin::Dense both = twin::zip(Op::kAnd, opened, closed);
  const bool here = both.get(claim.b(), claim.h(), claim.q(), claim.k());
  return here ? std::ranges::count(both.cells, 1) : 0;
}

/// The steps that a message names: "documents and causal (doc:lens=3+4 | causal) except for ...".
inline std::string steps_of(const Claimed& claim) {
  const std::string named =
      claim.finding.message.substr(0, claim.finding.message.rfind(" except for "));
  const std::size_t open = named.find(" (");
  return open == std::string::npos ? named : named.substr(open + 2, named.size() - open - 3);
}

/// True if the cells of the mask, read row by row, are those of the steps in the message, in rows
/// of another length.
inline bool is_in_other_rows(const Claimed& claim) {
  const PlainCells& cells = claim.cells;
  const Index queries = cells.queries(), keys = cells.keys();
  const std::string rows =
      std::to_string(keys) + " rows of " + std::to_string(queries) + " keys are ";
  const std::size_t at = claim.finding.message.find(rows);
  if (at == std::string::npos) return false;
  const Chain chain = load_chain(std::array{claim.finding.message.substr(at + rows.size())}, {});
  const twin::Dense made = twin::run_chain(twin::Dense(1, 1, keys, queries, true), chain);
  return cells.planes([&](Index b, Index h) {
    for (Index i = 0; i < queries * keys; ++i) {
      const bool open = cells.open(b, h, i / keys, i % keys);
      if (open != made.get(0, 0, i / queries, i % queries)) return false;
    }
    return true;
  }) == cells.batch() * cells.heads();
}

/// True if all cells of the rectangles in the message differ from the steps, and their number is as
/// it says. Messages that list single cells are taken as true.
inline bool are_differing_pieces(const Claimed& claim, const twin::Dense& steps) {
  static const std::regex piece(
      R"((?:batch (\d+), )?(?:head (\d+), )?quer(?:y|ies) (\d+)(?:-(\d+))?, keys? )"
      R"((\d+)(?:-(\d+))?)");
  const std::string& text = claim.finding.message;
  std::string named = text.substr(text.rfind(" except for "));
  // What a step reopens, and what the rule says of the first cell, have predicates of their own.
  named = named.substr(0, named.find(", as "));
  named = named.substr(0, named.find("; in the first, "));
  Index cells = 0;
  for (std::sregex_iterator at(named.begin(), named.end(), piece), end; at != end; ++at) {
    const auto number = [&](std::size_t i, Index absent) {
      return (*at)[i].matched ? std::stoll((*at)[i]) : absent;
    };
    const Index b = number(1, 0), h = number(2, 0), q0 = number(3, 0), k0 = number(5, 0);
    for (Index q = q0; q <= number(4, q0); ++q)
      for (Index k = k0; k <= number(6, k0); ++k, ++cells)
        if (claim.cells.open(b, h, q, k) == steps.get(b, h, q, k)) return false;
  }
  return cells == claim.count() || named.ends_with(" more");
}

/// The stretches from the root of a tree to that of a token, as numbers, the last six of them.
inline std::string branch_of(const std::vector<Index>& lens, const std::vector<Index>& after,
                             Index token) {
  std::size_t stretch = 0;
  while (token >= lens[stretch]) token -= lens[stretch++];
  std::vector<std::string> path{std::to_string(stretch)};
  while (static_cast<std::size_t>(after[stretch]) != stretch) {
    stretch = static_cast<std::size_t>(after[stretch]);
    path.push_back(std::to_string(stretch));
  }
  std::string out = path.size() > 6 ? "..." : "";
  for (std::size_t i = std::min<std::size_t>(path.size(), 6); i-- > 0;)
    out += (out.empty() ? "" : "-") + path[i];
  return out;
}

/// What the message says of the first cell, whose query and key are those of the finding, follows
/// from the numbers that it names: branches of a tree, tokens of a compressed key, places in a
/// grid.
inline bool is_off_as_said(const Claimed& claim, bool opened) {
  const std::string& text = claim.finding.message;
  const std::size_t at = text.find("; in the first, ");
  if (at == std::string::npos) return true;
  const std::string said = text.substr(at + 16, text.find(", as ", at) - at - 16);
  const auto numbers = [](const std::string& from, const std::string& name) {
    return listed_at(from, from.find(name + "=") + name.size() + 1);
  };
  std::smatch part;
  if (std::regex_match(said, part,
                       std::regex(R"(token (\d+) of branch (\S+) (sees|does not see) token (\d+) )"
                                  R"(of branch (\S+))"))) {
    const auto steps = text.substr(0, at);
    // Behind a context, the last query is the last token.
    const bool behind = steps.find("align=bottom-right") != std::string::npos;
    const Index token = claim.q() + (behind ? claim.cells.shift() : 0);
    bool in_a_tree = false;  // batch entries and heads may have trees of their own
    for (std::size_t tree = steps.find("tree:lens="); tree != std::string::npos;
         tree = steps.find("tree:lens=", tree + 1)) {
      const auto from = steps.substr(tree);
      const auto lens = numbers(from, "lens"), after = numbers(from, "after");
      in_a_tree = in_a_tree || (part[2] == branch_of(lens, after, token) &&
                                part[5] == branch_of(lens, after, claim.k()));
    }
    return in_a_tree && std::stoll(part[1]) == token && std::stoll(part[4]) == claim.k() &&
           (part[3] == "sees") == opened;
  }
  if (std::regex_match(said, part,
                       std::regex(R"(key (\d+) stands for tokens (\d+) to (\d+), query (\d+) is )"
                                  R"(token (\d+))"))) {
    return std::stoll(part[1]) == claim.k() && std::stoll(part[4]) == claim.q() &&
           (std::stoll(part[3]) > std::stoll(part[5])) == opened;
  }
  const std::string query = "query " + std::to_string(claim.q());
  return said.find(query) != std::string::npos || said.find("key") != std::string::npos;
}

/// The mask is what the steps that the message names make, and most queries do not see themselves.
inline bool is_inverse(const Claimed& claim) {
  const PlainCells& cells = claim.cells;
  const std::string steps = claim.finding.message.substr(claim.finding.message.find(": ") + 2);
  const auto [all, real] = claim.differing(claim.made_by(steps));
  return (all == 0 || real == 0) && cells.planes([&](Index b, Index h) {
    return 2 * cells.selves(b, h) < cells.queries();
  }) == cells.batch() * cells.heads();
}

}  // namespace maskctl::test
