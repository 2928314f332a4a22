// Draws sound masks of families whose rules differ by batch entry and by head, and plants a fault
// in them: cells between documents or branches, a hole, a moved border or window, the rule of
// another batch entry.
#pragma once

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "maskctl/mask/arrays/dense.h"
#include "support/twin.h"

namespace maskctl::test {

/// For each token of a batch entry, the number of its document; -1 for padding.
using TokenNumbers = std::vector<std::int32_t>;

enum class Family : std::uint8_t {
  kCausal,
  kLeftPadded,
  kRightPadded,
  kDocuments,        // causal in each
  kWholeDocuments,   // each sees all of itself
  kPaddedDocuments,  // causal in each, padding at the end sees nothing
  kPrefix,
  kTree,      // each token sees its ancestors
  kRollouts,  // prompts, each with several answers that do not see each other
};
inline constexpr std::array kFamilies{
    std::pair(Family::kCausal, "causal"),
    std::pair(Family::kLeftPadded, "left-padded"),
    std::pair(Family::kRightPadded, "right-padded"),
    std::pair(Family::kDocuments, "documents"),
    std::pair(Family::kWholeDocuments, "whole documents"),
    std::pair(Family::kPaddedDocuments, "padded documents"),
    std::pair(Family::kPrefix, "prefix"),
    std::pair(Family::kTree, "tree"),
    std::pair(Family::kRollouts, "rollouts"),
};

inline bool is_tree(Family family) {
  return family == Family::kTree || family == Family::kRollouts;
}

/// How heads restrict the cells that the family opens.
enum class Heads : std::uint8_t { kSame, kAllLocal, kLocalAndGlobal, kSinks };
inline constexpr std::array kHeads{std::pair(Heads::kSame, "heads alike"),
                                   std::pair(Heads::kAllLocal, "windows"),
                                   std::pair(Heads::kLocalAndGlobal, "local and global heads"),
                                   std::pair(Heads::kSinks, "windows with sinks")};

enum class Fault : std::uint8_t {
  kNone,
  kLeak,         // 1 to 40 cells between documents, branches, or into the future
  kBlockLeak,    // a rectangle of such cells
  kHole,         // 1 to 4 cells that are closed
  kMovedBorder,  // documents, padding or prefix of one plane are off by one to three
  kMovedWindow,  // the window of one head is off by one
  kOtherRule,    // one plane has the rule of another batch entry
};
inline constexpr std::array kFaults{
    std::pair(Fault::kNone, "sound"),
    std::pair(Fault::kLeak, "leak"),
    std::pair(Fault::kBlockLeak, "block leak"),
    std::pair(Fault::kHole, "hole"),
    std::pair(Fault::kMovedBorder, "moved border"),
    std::pair(Fault::kMovedWindow, "moved window"),
    std::pair(Fault::kOtherRule, "other rule"),
};

/// A mask with a fault, the same without it, and the documents of its tokens.
struct FaultyMask {
  twin::Dense sound, faulty;
  std::vector<TokenNumbers> ids;  // of each batch entry
  /// True if the faulty mask is also a sound mask of the family, with other borders, windows or
  /// branches, or with an image; or if only rows of padding are faulty.
  bool sound_otherwise = false;
  /// True if the sound mask looks like a faulty one: all its planes differ from masks without
  /// windows, or from masks of documents, in only a few cells, which look like holes or leaks; or
  /// windows in all heads cut answers off their prompts, so that they look like documents.
  bool like_faults = false;
  std::string text;

  bool is_faulty() const { return sound != faulty; }
  /// How many open cells of the faulty mask are between two documents.
  Index crossing() const {
    Index out = 0;
    each_crossing([&](Index, Index, Index, Index) { ++out; });
    return out;
  }
  template <typename F>
  void each_crossing(const F& f) const {
    for (Index b = 0; b < faulty.b; ++b)
      for (Index h = 0; h < faulty.h; ++h)
        for (Index q = 0; q < faulty.q; ++q)
          for (Index k = 0; k < faulty.k; ++k) {
            const TokenNumbers& row = ids[static_cast<std::size_t>(b)];
            const auto of_q = row[static_cast<std::size_t>(q)],
                       of_k = row[static_cast<std::size_t>(k)];
            if (faulty.get(b, h, q, k) && of_q >= 0 && of_k >= 0 && of_q != of_k) f(b, h, q, k);
          }
  }
};

class FaultDraws {
 public:
  explicit FaultDraws(std::uint64_t seed) : random_(seed) {}

  /// Draws until the fault changes the mask.
  FaultyMask draw(Family family, Heads heads, Fault fault) {
    for (int tries = 0; tries < 100; ++tries) {
      FaultyMask out = attempt(family, heads, fault);
      if (out.is_faulty() == (fault != Fault::kNone)) return out;
    }
    return attempt(family, heads, Fault::kNone);
  }

 private:
  Index pick(Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, std::max(low, high))(random_);
  }

  /// The rule of one batch entry.
  struct Rule {
    Family family = Family::kCausal;
    TokenNumbers ids;
    Index prefix = 0;
    std::vector<Index> parent;

    bool open(Index q, Index k) const {
      const auto of_q = ids[static_cast<std::size_t>(q)], of_k = ids[static_cast<std::size_t>(k)];
      if (is_tree(family)) {
        while (q > k) q = parent[static_cast<std::size_t>(q)];
        return q == k;
      }
      if (family == Family::kLeftPadded || family == Family::kRightPadded) {
        return of_k >= 0 && k <= q;  // as libraries do: padding queries see the tokens before them
      }
      if (of_q < 0 || of_q != of_k) return false;
      return family == Family::kWholeDocuments || k <= q || (q < prefix && k < prefix);
    }
  };
  /// The keys that a head leaves open: those from `left` before the query on, and the first
  /// `sinks`.
  struct Head {
    Index left = 1000, sinks = 0;
    bool open(Index q, Index k) const { return (q - k <= left && k - q <= left) || k < sinks; }
  };

  TokenNumbers numbers(Index tokens, const std::vector<Index>& lengths) const {
    TokenNumbers out(static_cast<std::size_t>(tokens), -1);
    std::size_t at = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i)
      for (Index n = 0; n < lengths[i] && at < out.size(); ++n)
        out[at++] = static_cast<std::int32_t>(i);
    return out;
  }
  std::vector<Index> lengths(Index tokens) {
    const Index least = std::min<Index>(3, tokens);
    std::vector<Index> out;
    for (Index left = tokens; left > 0;) {
      const Index length = std::min(left, pick(least, std::max(least, tokens / 2)));
      out.push_back(left - length < least ? left : length);
      left -= out.back();
    }
    return out;
  }

  /// The parent of each token, -1 for the first of a prompt: one or two prompts with two to four
  /// answers each.
  std::vector<Index> rollouts(Index tokens) {
    std::vector<Index> out;
    for (Index left = tokens; left > 0; left = tokens - std::ssize(out)) {
      const Index all = pick(0, 1) == 0 || left < 12 ? left : pick(6, left);
      const Index start = std::ssize(out), prompt = start + pick(1, std::max<Index>(1, all / 2));
      const Index size = std::max<Index>(1, (start + all - prompt) / pick(2, 4));
      for (Index i = start; i < start + all; ++i) {
        const bool begins = i >= prompt && (i - prompt) % size == 0;
        out.push_back(i == start ? -1 : begins ? prompt - 1 : i - 1);
      }
    }
    return out;
  }

  Rule rule(Family family, Index tokens) {
    Rule out{family, {}, 0, {}};
    const Index real = pick(std::min<Index>(3, tokens), tokens);
    switch (family) {
      case Family::kDocuments:
      case Family::kWholeDocuments:
        out.ids = numbers(tokens, lengths(tokens));
        break;
      case Family::kPaddedDocuments:
        out.ids = numbers(tokens, lengths(real));
        break;
      case Family::kRightPadded:
        out.ids = numbers(tokens, {real});
        break;
      case Family::kLeftPadded:
        out.ids = numbers(tokens, {real});
        std::ranges::reverse(out.ids);
        break;
      case Family::kTree:
        for (Index i = 0; i < tokens; ++i) {
          out.parent.push_back(i < 2 ? i - 1 : pick(0, 2) > 0 ? i - 1 : pick(0, i - 1));
        }
        out.ids = numbers(tokens, {tokens});
        break;
      case Family::kRollouts:
        out.parent = rollouts(tokens);
        [[fallthrough]];
      default:
        out.ids = numbers(tokens, {tokens});
    }
    if (family == Family::kPrefix) out.prefix = pick(1, tokens);
    return out;
  }
  /// The rule with its borders moved by `by`.
  static Rule moved(Rule rule, Index by) {
    const auto before = rule.ids;
    for (std::size_t i = 0; i < rule.ids.size(); ++i) {
      const Index from = static_cast<Index>(i) - by;
      const Index last = std::ssize(before) - 1;
      rule.ids[i] = before[static_cast<std::size_t>(std::clamp<Index>(from, 0, last))];
    }
    if (rule.prefix > 0) rule.prefix = std::max<Index>(0, rule.prefix + by);
    return rule;
  }

  /// True if the cells follow one rule per batch entry and one window per head. Rules may have
  /// their borders moved by up to 3 tokens, and windows may differ by 1, as faults change them.
  static bool is_sound(const twin::Dense& cells, const std::vector<Rule>& rules,
                       const std::vector<Head>& heads) {
    // For each head, the windows of all heads as they are, one token narrower and one wider: the
    // entries' rules that fit, as bits.
    const std::size_t windows = heads.size() * 3;
    std::vector<std::vector<std::uint32_t>> fits(heads.size() * windows);
    for (Index b = 0; b < cells.b; ++b) {
      std::vector<Rule> known = rules;
      for (Index by = -3; by <= 3; ++by)
        known.push_back(moved(rules[static_cast<std::size_t>(b)], by));
      for (std::size_t i = 0; i < fits.size(); ++i) {
        const auto h = static_cast<Index>(i / windows);
        Head head = heads[i % windows / 3];
        head.left += static_cast<Index>(i % 3) - 1;
        std::uint32_t bits = 0;
        for (std::size_t r = 0; r < known.size(); ++r)
          bits |= static_cast<std::uint32_t>(is_plane(cells, b, h, known[r], head)) << r;
        fits[i].push_back(bits);
      }
    }
    return entries_fit(fits, windows, 0,
                       std::vector<std::uint32_t>(static_cast<std::size_t>(cells.b), ~0U));
  }
  static bool is_plane(const twin::Dense& cells, Index b, Index h, const Rule& rule,
                       const Head& head) {
    for (Index q = 0; q < cells.q; ++q)
      for (Index k = 0; k < cells.k; ++k)
        if (cells.get(b, h, q, k) != (rule.open(q, k) && head.open(q, k))) return false;
    return true;
  }
  /// Whether windows of the heads from one on leave a rule to each entry.
  static bool entries_fit(const std::vector<std::vector<std::uint32_t>>& fits, std::size_t windows,
                          std::size_t head, const std::vector<std::uint32_t>& left) {
    if (std::ranges::find(left, 0U) != left.end()) return false;
    if (windows * head == fits.size()) return true;
    for (std::size_t i = windows * head; i < windows * (head + 1); ++i) {
      std::vector<std::uint32_t> next = left;
      for (std::size_t b = 0; b < next.size(); ++b) next[b] &= fits[i][b];
      if (entries_fit(fits, windows, head + 1, next)) return true;
    }
    return false;
  }
  static constexpr Index kMostHoles = 4;  // in a plane
  static bool is_whole_but_for_holes(const twin::Dense& cells, const std::vector<Rule>& rules) {
    Index all = 0;
    for (Index b = 0; b < cells.b; ++b)
      for (Index h = 0; h < cells.h; ++h) {
        Index holes = 0;
        for (Index q = 0; q < cells.q; ++q)
          for (Index k = 0; k < cells.k; ++k)
            holes += rules[static_cast<std::size_t>(b)].open(q, k) != cells.get(b, h, q, k);
        if (holes > kMostHoles) return false;
        all += holes;
      }
    return all > 0;
  }
  /// True if the planes are documents except for a few cells each. A document ends where a token no
  /// longer sees all earlier tokens of it that its heads allow.
  static bool is_documents_but_for_leaks(const twin::Dense& cells, const std::vector<Head>& heads) {
    Index all = 0;
    for (Index b = 0; b < cells.b; ++b) {
      std::vector<Index> leaks(heads.size());
      for (Index q = 0, start = 0; q < cells.q; ++q) {
        for (std::size_t h = 0; h < heads.size(); ++h)
          for (Index k = start; k < q; ++k)
            if (heads[h].open(q, k) && !cells.get(b, static_cast<Index>(h), q, k)) start = q;
        for (std::size_t h = 0; h < heads.size(); ++h)
          for (Index k = 0; k < start; ++k) leaks[h] += cells.get(b, static_cast<Index>(h), q, k);
      }
      for (const Index cells_across : leaks) {
        if (cells_across > kMostHoles) return false;
        all += cells_across;
      }
    }
    return all > 0;
  }

  /// True if the cells are those of trees below the heads' windows. The parent of a token is the
  /// last token before it that some head sees.
  static bool is_trees(const twin::Dense& cells, const std::vector<Head>& heads) {
    for (Index b = 0; b < cells.b; ++b) {
      Rule rule{Family::kTree, TokenNumbers(static_cast<std::size_t>(cells.q)), 0, {}};
      for (Index q = 0; q < cells.q; ++q) {
        Index parent = q - 1;
        const auto is_seen = [&] {
          for (Index h = 0; h < cells.h; ++h)
            if (cells.get(b, h, q, parent)) return true;
          return false;
        };
        while (parent >= 0 && !is_seen()) --parent;
        rule.parent.push_back(parent);
      }
      for (std::size_t h = 0; h < heads.size(); ++h)
        if (!is_plane(cells, b, static_cast<Index>(h), rule, heads[h])) return false;
    }
    return true;
  }
  /// True if the masks differ in rows of padding alone, whose results nobody reads.
  static bool differ_in_padding(const twin::Dense& one, const twin::Dense& other,
                                const std::vector<TokenNumbers>& ids) {
    for (Index b = 0; b < one.b; ++b)
      for (Index h = 0; h < one.h; ++h)
        for (Index q = 0; q < one.q; ++q)
          for (Index k = 0; k < one.k; ++k)
            if (one.get(b, h, q, k) != other.get(b, h, q, k) &&
                ids[static_cast<std::size_t>(b)][static_cast<std::size_t>(q)] >= 0)
              return false;
    return true;
  }

  /// True if what a fault opens makes a range of tokens see each other in all heads: an image.
  static bool opens_group(const twin::Dense& sound, const twin::Dense& faulty) {
    bool some = false;
    for (Index b = 0; b < sound.b; ++b) {
      Index first = sound.q, last = -1;
      for (Index h = 0; h < sound.h; ++h)
        for (Index q = 0; q < sound.q; ++q)
          for (Index k = 0; k < sound.k; ++k) {
            if (!faulty.get(b, h, q, k) || sound.get(b, h, q, k)) continue;
            first = std::min({first, q, k});
            last = std::max({last, q, k});
          }
      some |= last >= 0;
      for (Index h = 0; h < sound.h; ++h)
        for (Index q = first; q <= last; ++q)
          for (Index k = first; k <= last; ++k)
            if (!faulty.get(b, h, q, k)) return false;
    }
    return some;
  }

  FaultyMask attempt(Family family, Heads heads, Fault fault) {
    const Index tokens = pick(0, 2) == 0 ? pick(8, 20) : pick(16, 64);
    const Index batch = pick(1, 3);
    const Index planes = heads == Heads::kSame ? pick(0, 1) * 2 + 1 : pick(2, 4);
    std::vector<Rule> rules;
    const bool each = pick(0, 3) > 0;
    for (Index b = 0; b < batch; ++b) {
      rules.push_back(b > 0 && !each ? rules[0] : rule(family, tokens));
    }
    std::vector<Head> of_head;
    const Head local{pick(2, std::max<Index>(2, tokens / 2)),
                     heads == Heads::kSinks ? pick(1, 3) : 0};
    const Index turn = pick(1, planes);
    for (Index h = 0; h < planes; ++h) {
      const bool global =
          heads == Heads::kSame || (heads == Heads::kLocalAndGlobal && h % turn == 0);
      of_head.push_back(global ? Head{} : local);
    }
    const auto cells = [&](const auto& of_plane) {
      return twin::make(batch, planes, tokens, tokens, of_plane);
    };
    const auto at = [](const auto& all, Index i) -> const auto& {
      return all[static_cast<std::size_t>(i)];
    };
    FaultyMask out;
    for (const Rule& one : rules) out.ids.push_back(one.ids);
    out.sound = cells([&](Index b, Index h, Index q, Index k) {
      return at(rules, b).open(q, k) && at(of_head, h).open(q, k);
    });
    out.faulty = out.sound;
    const Index b = pick(0, batch - 1), h = pick(0, planes - 1);
    const bool in_all_heads = pick(0, 3) == 0;
    const auto set = [&](Index q, Index k, bool open) {
      for (Index i = 0; i < planes; ++i)
        if (i == h || in_all_heads) out.faulty.set(b, i, q, k, open);
    };
    // A cell that no rule of the family opens: between documents or branches, or after the query.
    const auto is_outside = [&](Index q, Index k) {
      const TokenNumbers& ids = at(rules, b).ids;
      const auto of_q = at(ids, q), of_k = at(ids, k);
      if (of_q < 0 || of_k < 0 || out.sound.get(b, h, q, k)) return false;
      const bool one_document =
          std::ranges::find_if(ids, [](auto id) { return id > 0; }) == ids.end();
      if (is_tree(family)) return k < q;
      return one_document ? k > q : of_q != of_k;
    };
    const auto replan = [&](const Rule& new_rule, const Head& new_head) {
      for (Index q = 0; q < tokens; ++q)
        for (Index k = 0; k < tokens; ++k) set(q, k, new_rule.open(q, k) && new_head.open(q, k));
    };
    switch (fault) {
      case Fault::kNone:
        break;
      case Fault::kLeak: {
        std::vector<std::pair<Index, Index>> outside;
        for (Index q = 0; q < tokens; ++q)
          for (Index k = 0; k < tokens; ++k)
            if (is_outside(q, k)) outside.emplace_back(q, k);
        std::ranges::shuffle(outside, random_);
        const Index most = pick(0, 1) == 0 ? pick(1, 4) : pick(1, 40);
        for (Index i = 0; i < std::min(most, std::ssize(outside)); ++i) {
          set(at(outside, i).first, at(outside, i).second, true);
        }
        break;
      }
      case Fault::kBlockLeak: {
        const Index q0 = pick(0, tokens - 1), k0 = pick(0, tokens - 1), high = pick(1, 6),
                    wide = pick(1, 6);
        for (Index q = q0; q < std::min(tokens, q0 + high); ++q)
          for (Index k = k0; k < std::min(tokens, k0 + wide); ++k)
            if (is_outside(q, k)) set(q, k, true);
        break;
      }
      case Fault::kHole: {
        std::vector<std::pair<Index, Index>> open;
        for (Index q = 0; q < tokens; ++q)
          for (Index k = 0; k < tokens; ++k)
            if (out.sound.get(b, h, q, k) && q != k) open.emplace_back(q, k);
        std::ranges::shuffle(open, random_);
        const Index holes = std::min<Index>(pick(1, 4), std::ssize(open));
        for (Index i = 0; i < holes; ++i) set(at(open, i).first, at(open, i).second, false);
        break;
      }
      case Fault::kMovedBorder:
        replan(moved(at(rules, b), pick(0, 1) ? pick(1, 3) : -pick(1, 3)), at(of_head, h));
        break;
      case Fault::kMovedWindow: {
        Head off = at(of_head, h);
        off.left += pick(0, 1) ? 1 : -1;
        for (Index q = 0; q < tokens; ++q)
          for (Index k = 0; k < tokens; ++k)
            out.faulty.set(b, h, q, k, at(rules, b).open(q, k) && off.open(q, k));
        break;
      }
      case Fault::kOtherRule:
        replan(at(rules, (b + 1) % batch), at(of_head, h));
        break;
    }
    const bool opens = fault == Fault::kLeak || fault == Fault::kBlockLeak;
    out.sound_otherwise = is_sound(out.faulty, rules, of_head) ||
                          (is_tree(family) && is_trees(out.faulty, of_head)) ||
                          differ_in_padding(out.sound, out.faulty, out.ids) ||
                          (opens && out.crossing() == 0 && opens_group(out.sound, out.faulty));
    out.like_faults =
        (heads != Heads::kSame && is_whole_but_for_holes(out.sound, rules)) ||
        (is_tree(family) && is_documents_but_for_leaks(out.sound, of_head)) ||
        (family == Family::kRollouts && (heads == Heads::kAllLocal || heads == Heads::kSinks));
    out.text = std::to_string(batch) + " x " + std::to_string(planes) + " x " +
               std::to_string(tokens) + ", fault at batch " + std::to_string(b) +
               (in_all_heads ? ", all heads" : ", head " + std::to_string(h));
    return out;
  }

  std::mt19937_64 random_;
};

}  // namespace maskctl::test
