// Judges whether the sentence in which diff names a cause is true. Each part is compared with the
// plain cells of both masks and the steps of the printed pipelines.
#pragma once

#include <functional>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "inspect/sentences/clauses.h"
#include "inspect/sentences/forms_said.h"
#include "inspect/sentences/plane_rules.h"
#include "inspect/sentences/plane_said.h"
#include "inspect/sentences/plane_steps.h"
#include "maskctl/inspect/diff/diff.h"

namespace maskctl::test {

using twin::Dense;

/// A cause as diff prints it: the sentence, and the pipelines or the edit below it.
struct SaidCause {
  std::string text;
  bool by_pipelines = false;
  Chain a, b;  // what "A is" and "B is" print
  /// What "edit" prints; asked for only where the pipelines leave cells.
  std::function<Chain()> edit;
  /// Whether the documents that the user declared say that a query is in the one, and its key in
  /// the other; empty without such documents.
  std::function<bool(const Cell&, Index of_query, Index of_key)> crosses = {};
};
inline SaidCause said(const DiffCause& cause) {
  return {cause.text,
          cause.by_pipelines,
          cause.pipeline_a,
          cause.pipeline_b,
          [edit = cause.edit] { return edit; },
          {}};
}

class CauseSaid {
 public:
  CauseSaid(SaidCause said, const Mask& a, const Mask& b)
      : said_(std::move(said)),
        mask_a_(a),
        mask_b_(b),
        a_(broadcast(twin::dense_of(a), twin::dense_of(b))),
        b_(broadcast(twin::dense_of(b), twin::dense_of(a))) {
    const Dense full = twin::make(a_.b, a_.h, a_.q, a_.k, yes);
    if (!said_.by_pipelines) {
      told_ = by_edit();
      return;
    }
    told_ = twin::zip(
        Op::kXor, twin::zip(Op::kXor, a_, b_),
        twin::zip(Op::kXor, twin::run_chain(full, said_.a), twin::run_chain(full, said_.b)));
  }

  /// Returns what is false about the sentence; "" if it is true.
  std::string wrong() {
    const std::string& text = said_.text;
    if (text == "polarity inverted: B is open where A is closed") {
      return b_ == twin::complement(a_) ? "" : "not inverted";
    }
    if (text == "q and k swapped: B is A transposed") {
      return b_ == twin::transposed(a_) ? "" : "not transposed";
    }
    std::smatch m;
    if (std::regex_match(
            text, m,
            compiled("irregular: no rule, row, column or rectangle that was tried explains the "
                     "([0-9,]+) cells that differ"))) {
      return number(m[1]) == open(twin::zip(Op::kXor, a_, b_)) ? "" : "another number of cells";
    }
    if (!text.starts_with("B = A with ")) return "unknown sentence";
    const std::string rest = text.substr(11);
    if (const auto whole = whole_mask(rest)) return *whole ? "" : "of the whole mask";
    std::string first_error;
    for (const bool cells_only : {true, false}) {
      std::string error;
      // Where pipelines and edit both say the clauses, the cells may be those that either leaves.
      for (const Reading reading : {Reading::kFewer, Reading::kEdit, Reading::kPipelines}) {
        reading_ = reading;
        error = parts_wrong(rest, cells_only);
        if (error != kOtherCount) break;
      }
      if (error.empty()) return "";
      if (first_error.empty() || !cells_only) first_error = error;
    }
    return first_error;
  }

 private:
  static bool yes(Index, Index, Index, Index) { return true; }
  static Dense broadcast(const Dense& own, const Dense& other) {
    return twin::make(std::max(own.b, other.b), std::max(own.h, other.h), own.q, own.k,
                      [&](Index b, Index h, Index q, Index k) { return own.get(b, h, q, k); });
  }
  static Index open(const Dense& cells) {
    return std::ranges::count_if(cells.cells, [](std::uint8_t cell) { return cell != 0; });
  }
  static Index number(std::string text) {
    std::erase(text, ',');
    return std::stoll(text);
  }
  Index shift() const { return a_.k - a_.q; }

  /// Judges sentences about the whole mask: moved cells, permuted heads or batches, one plane for
  /// all heads. Returns nothing for other sentences.
  std::optional<bool> whole_mask(const std::string& rest) const {
    std::smatch m;
    if (std::regex_match(rest, m,
                         compiled("all cells (moved|rolled) by (-?\\d+) (keys|queries|queries and "
                                  "keys)"))) {
      const bool rolled = m[1] == "rolled";
      const Index by = number(m[2]), down = m[3] == "keys" ? 0 : by,
                  right = m[3] == "queries" ? 0 : by;
      const auto from = [rolled](Index to, Index moved, Index all) {
        return rolled ? ((to - moved) % all + all) % all : to - moved;
      };
      return by != 0 &&
             b_ == twin::make(a_.b, a_.h, a_.q, a_.k, [&](Index b, Index h, Index q, Index k) {
               const Index from_q = from(q, down, a_.q), from_k = from(k, right, a_.k);
               return from_q >= 0 && from_q < a_.q && from_k >= 0 && from_k < a_.k &&
                      a_.get(b, h, from_q, from_k);
             });
    }
    if (const auto forms = forms_said(rest, a_, b_)) return *forms;
    if (std::regex_match(rest, m, compiled("(heads|batches) permuted: B's (.*)"))) {
      return permuted(m[1] == "heads", m[2]);
    }
    const auto heads = [&](bool any) {
      return twin::make(a_.b, a_.h, a_.q, a_.k, [&](Index b, Index, Index q, Index k) {
        bool out = !any;
        for (Index h = 0; h < a_.h; ++h)
          out = any ? out || a_.get(b, h, q, k) : out && a_.get(b, h, q, k);
        return out;
      });
    };
    if (rest == "head 0 for all heads") {
      return b_ == twin::make(a_.b, a_.h, a_.q, a_.k,
                              [&](Index b, Index, Index q, Index k) { return a_.get(b, 0, q, k); });
    }
    if (rest == "what is open in all heads for each head") return b_ == heads(false);
    if (rest == "what is open in any head for each head") return b_ == heads(true);
    return std::nullopt;
  }
  /// Judges "1 is A's 3, 3 is A's 1, and 4 more". Heads or batches that are not listed must be at
  /// their old place, unless they are among the 4.
  bool permuted(bool heads, std::string list) const {
    std::map<Index, Index> from;
    static const std::regex one(R"((\d+) is A's (\d+))"), more(R"(, and (\d+) more$)");
    for (std::sregex_iterator i(list.begin(), list.end(), one), end; i != end; ++i) {
      if (!from.emplace(number((*i)[1]), number((*i)[2])).second) return false;
    }
    std::smatch m;
    Index not_listed = std::regex_search(list, m, more) ? number(m[1]) : 0;
    const Index members = heads ? a_.h : a_.b;
    const auto same = [&](Index in_b, Index in_a) {
      return heads ? twin::sliced(b_, {0, b_.b}, {in_b, in_b + 1}, {0, b_.q}, {0, b_.k}) ==
                         twin::sliced(a_, {0, a_.b}, {in_a, in_a + 1}, {0, a_.q}, {0, a_.k})
                   : twin::sliced(b_, {in_b, in_b + 1}, {0, b_.h}, {0, b_.q}, {0, b_.k}) ==
                         twin::sliced(a_, {in_a, in_a + 1}, {0, a_.h}, {0, a_.q}, {0, a_.k});
    };
    std::set<Index> used;
    for (const auto& [i, source] : from) {
      if (i >= members || source >= members || same(i, i) || !same(i, source)) return false;
      if (!used.insert(source).second) return false;
    }
    for (Index i = 0; i < members; ++i)
      if (same(i, i) && !used.insert(i).second) return false;
    for (Index i = 0; i < members; ++i) {
      if (same(i, i) || from.contains(i)) continue;
      if (!from.empty() && i < from.rbegin()->first) return false;  // the first ones are listed
      Index source = 0;
      while (source < members && (used.contains(source) || !same(i, source))) ++source;
      if (!used.insert(source).second || source == members) return false;
      --not_listed;
    }
    return not_listed == 0;
  }

  // ---- the words of steps, then cells ----

  using PlaneAt = std::pair<Index, Index>;  // batch and head
  struct Group {
    std::vector<Clause> clauses;
    std::vector<PlaneAt> planes;  // empty: all
    Index more = 0;               // how many planes are not listed
  };

  static bool take(const std::string& text, std::size_t& from, std::string_view word) {
    if (text.compare(from, word.size(), word) != 0) return false;
    from += word.size();
    return true;
  }

  std::string parts_wrong(const std::string& rest, bool cells_only) {
    std::size_t at = 0;
    std::vector<Group> groups;
    std::optional<std::string> cells;
    if (cells_only) {
      cells = rest;
    } else {
      for (;;) {
        Group group;
        for (;;) {
          const std::string clause = clause_at(rest, at);
          if (clause.empty()) return "not understood: " + rest.substr(at);
          at += clause.size();
          group.clauses.push_back({clause});
          if (take(rest, at, " in each document")) {
            for (Clause& one : group.clauses) one.inside = true;
          }
          static const std::regex several(" in (\\d+) steps");
          std::smatch steps;
          if (std::regex_search(rest.begin() + static_cast<std::ptrdiff_t>(at), rest.end(), steps,
                                several, std::regex_constants::match_continuous)) {
            group.clauses.back().steps = number(steps[1]);
            if (group.clauses.back().steps < 2) return "several steps are two at least";
            at += static_cast<std::size_t>(steps[0].length());
          }
          if (!take(rest, at, " and ")) break;
        }
        static const std::regex where(
            R"( \(((?:all (?:batches|heads)|batch(?:es)? |heads? )[^()]*)\))");
        std::smatch m;
        if (std::regex_search(rest.begin() + static_cast<std::ptrdiff_t>(at), rest.end(), m, where,
                              std::regex_constants::match_continuous)) {
          if (!planes_of(m[1], group)) return "planes: " + m[1].str();
          at += static_cast<std::size_t>(m[0].length());
        }
        groups.push_back(std::move(group));
        if (!take(rest, at, "; ")) break;
      }
      if (take(rest, at, ", and ")) cells = rest.substr(at);
      if (!cells && at != rest.size()) return "not understood: " + rest.substr(at);
    }
    const Dense told = told_;
    std::string error = groups_wrong(groups);
    if (error.empty()) error = cells_wrong(cells);
    told_ = told;
    return error;
  }

  /// "batches 1-6, all heads": the same heads of each of these batches.
  bool product_of(const std::string& text, Group& group) const {
    static const std::regex said(
        R"((?:(all batches|batch(?:es)? [0-9, -]+))?(?:, )?(?:(all heads|heads? [0-9, -]+))?)");
    std::smatch m;
    if (!std::regex_match(text, m, said)) return false;
    if (m[1].matched != (a_.b > 1) || m[2].matched != (a_.h > 1)) return false;
    bool inside = true;
    const auto numbers = [&inside](const std::string& words, Index all) {
      std::vector<Index> out;
      if (words.empty() || words.starts_with("all ")) {
        for (Index n = 0; n < all; ++n) out.push_back(n);
        return out;
      }
      static const std::regex range(R"((\d+)(?:-(\d+))?)");
      for (std::sregex_iterator at(words.begin(), words.end(), range), end; at != end; ++at) {
        const Index last = number((*at)[(*at)[2].matched ? 2 : 1]);
        inside = inside && last < all;
        for (Index n = number((*at)[1]); n <= last && n < all; ++n) out.push_back(n);
      }
      return out;
    };
    for (const Index b : numbers(m[1], a_.b)) {
      for (const Index h : numbers(m[2], a_.h)) group.planes.emplace_back(b, h);
    }
    return inside && group.planes.size() > 4;
  }

  bool planes_of(const std::string& text, Group& group) const {
    if (product_of(text, group)) return true;
    group.planes.clear();
    static const std::regex one(R"((?:batch (\d+))?(?:, )?(?:head (\d+))?)"), more(R"((\d+) more)");
    std::size_t from = 0;
    while (from <= text.size()) {
      const std::size_t end = std::min(text.find("; ", from), text.size());
      const std::string part = text.substr(from, end - from);
      std::smatch m;
      if (std::regex_match(part, m, more)) {
        group.more = number(m[1]);
      } else if (std::regex_match(part, m, one)) {
        if (m[1].matched != (a_.b > 1) || m[2].matched != (a_.h > 1)) return false;
        const Index b = m[1].matched ? number(m[1]) : 0, h = m[2].matched ? number(m[2]) : 0;
        if (b >= a_.b || h >= a_.h) return false;
        group.planes.emplace_back(b, h);
      } else {
        return false;
      }
      from = end + 2;
    }
    return !group.planes.empty();
  }

  /// "query 3, key 4 open and ..." or "12 cells, the first ...", against the cells that no step
  /// explains.
  std::string cells_wrong(const std::optional<std::string>& cells) const {
    const Index left = open(told_);
    if (!cells) return left == 0 ? "" : std::to_string(left) + " cells are not named";
    static const std::regex one(
        R"((?:batch (\d+), )?(?:head (\d+), )?query (\d+), key (\d+) (open|closed)(?: \(document (\d+) sees document (\d+)\))?)");
    static const std::regex many(
        R"(([0-9,]+) cells, (?:([0-9,]+) open and ([0-9,]+) closed, )?the first (.*))");
    std::smatch m;
    if (std::regex_match(*cells, m, many)) {
      if (number(m[1]) != left) return kOtherCount;
      const Index opened = open(twin::zip(Op::kAnd, told_, b_));
      const std::string first = m[4];
      std::smatch cell;
      if (!std::regex_match(first, cell, one)) return "not cells";
      if (m[2].matched ? number(m[2]) != opened || number(m[3]) != left - opened || opened == 0 ||
                             opened == left
                       : opened != (cell[5] == "open" ? left : 0)) {
        return "states of cells";
      }
      const std::string error = cell_wrong(cell, first_told());
      const bool crosses = error.empty() && cell[6].matched;
      if (!crosses) return error;
      return are_crossings({{cell_of(cell), number(cell[6]), number(cell[7])}})
                 ? ""
                 : "documents of a cell";
    }
    std::set<Cell, CellOrder> named;
    std::vector<Crossing> crossings;
    std::string text = *cells;
    for (;;) {
      if (!std::regex_search(text, m, one, std::regex_constants::match_continuous))
        return "not cells";
      if (std::string error = cell_wrong(m, {}); !error.empty()) return error;
      named.insert(cell_of(m));
      if (m[6].matched) crossings.push_back({cell_of(m), number(m[6]), number(m[7])});
      text = m.suffix();
      std::size_t at = 0;
      if (text.empty()) break;
      if (!take(text, at, "; ") && !take(text, at, " and ")) return "not cells";
      text = text.substr(at);
    }
    if (!are_crossings(crossings)) return "documents of cells";
    return std::ssize(named) == left ? "" : kOtherCount;
  }
  struct CellOrder {
    bool operator()(const Cell& x, const Cell& y) const {
      return std::tuple(x.batch, x.head, x.query, x.key) <
             std::tuple(y.batch, y.head, y.query, y.key);
    }
  };
  static Cell cell_of(const std::smatch& m) {
    return {m[1].matched ? number(m[1]) : 0, m[2].matched ? number(m[2]) : 0, number(m[3]),
            number(m[4])};
  }
  std::optional<Cell> first_told() const {
    for (Index b = 0; b < told_.b; ++b)
      for (Index h = 0; h < told_.h; ++h)
        for (Index q = 0; q < told_.q; ++q)
          for (Index k = 0; k < told_.k; ++k)
            if (told_.get(b, h, q, k)) return Cell{b, h, q, k};
    return {};
  }
  std::string cell_wrong(const std::smatch& m, const std::optional<Cell>& expected) const {
    if (m[1].matched != (a_.b > 1) || m[2].matched != (a_.h > 1)) return "a cell without its plane";
    const Cell cell = cell_of(m);
    if (cell.batch >= a_.b || cell.head >= a_.h || cell.query >= a_.q || cell.key >= a_.k) {
      return "a cell outside";
    }
    if (!told_.get(cell.batch, cell.head, cell.query, cell.key)) return "a cell that is explained";
    if (b_.get(cell.batch, cell.head, cell.query, cell.key) != (m[5] == "open"))
      return "a cell's state";
    if (m[6].matched && m[5] != "open") return "a closed cell, which sees nothing";
    if (expected && !(*expected == cell)) return "not the first cell";
    return "";
  }
  /// A cell whose query is in one document and whose key in another, by their numbers.
  struct Crossing {
    Cell cell;
    Index of_query, of_key;
  };
  /// True if the documents of one rule have these numbers for all cells of a plane: those of a
  /// printed pipeline, or of steps that make A's or B's plane except for a few cells.
  bool are_crossings(const std::vector<Crossing>& all) const {
    if (said_.crosses) {
      return std::ranges::all_of(all, [this](const Crossing& one) {
        return said_.crosses(one.cell, one.of_query, one.of_key);
      });
    }
    return std::ranges::all_of(all, [&](const Crossing& first) {
      const auto says = [&](const Chain& chain) {
        return std::ranges::all_of(all, [&](const Crossing& one) {
          const bool here = one.cell.batch == first.cell.batch && one.cell.head == first.cell.head;
          return !here || std::ranges::any_of(chain, [&](const Step& step) {
            return sees(step, one.cell, one.of_query, one.of_key);
          });
        });
      };
      const Cell& cell = first.cell;
      return says(steps_of_plane(said_.b, cell.batch, cell.head)) ||
             says(steps_of_plane(said_.a, cell.batch, cell.head)) ||
             any_rule_of(plane_in(mask_b_, cell), says) ||
             any_rule_of(plane_in(mask_a_, cell), says);
    });
  }
  static PlanePtr plane_in(const Mask& mask, const Cell& cell) {
    return mask.plane(mask.batch() == 1 ? 0 : cell.batch, mask.heads() == 1 ? 0 : cell.head);
  }
  /// True if the step has documents with these numbers, and the query is in the first, the key in
  /// the second.
  bool sees(const Step& step, const Cell& cell, Index of_query, Index of_key) const {
    const auto ids = ids_of_step(step, a_.q, a_.k);
    if (!ids) return false;
    const auto number_of = [&](Index id) -> Index {
      std::set<Index> before;
      for (const Index other : ids->k) {
        if (other == id) return std::ssize(before);
        if (other >= 0) before.insert(other);
      }
      return -1;
    };
    const Index in_q = ids->q[static_cast<std::size_t>(cell.query)],
                in_k = ids->k[static_cast<std::size_t>(cell.key)];
    if (in_q < 0 || in_k < 0 || in_q == in_k) return false;
    // Steps with lengths number their documents from 0 on, including empty ones.
    const bool lengths = step.is<step::DocumentLengths>() || step.is<step::Within>();
    return lengths ? in_q == of_query && in_k == of_key
                   : number_of(in_q) == of_query && number_of(in_k) == of_key;
  }
  // ---- groups: the steps in which the pipelines of a plane differ ----

  std::string groups_wrong(const std::vector<Group>& groups) {
    std::set<PlaneAt> named;
    for (const Group& group : groups) {
      std::vector<PlaneAt> planes = group.planes;
      if (planes.empty()) {
        if (groups.size() > 1) return "a group without planes";
        for (Index b = 0; b < a_.b; ++b)
          for (Index h = 0; h < a_.h; ++h) planes.emplace_back(b, h);
      }
      for (const PlaneAt& at : planes) {
        if (!named.insert(at).second) return "a plane in two groups";
        if (!differs(at)) return "a plane that does not differ";
        const auto [error, by_edit] = plane_truth(group.clauses, at);
        if (!error.empty()) {
          return "batch " + std::to_string(at.first) + ", head " + std::to_string(at.second) +
                 ": " + error;
        }
        if (by_edit) tell_by_edit(at);
      }
    }
    std::vector<PlaneAt> others;
    for (Index b = 0; b < a_.b; ++b)
      for (Index h = 0; h < a_.h; ++h)
        if (!named.contains({b, h}) && differs({b, h})) others.emplace_back(b, h);
    std::vector<Index> more;
    for (const Group& group : groups) more.push_back(group.more);
    return are_of_groups(others, 0, groups, more) ? "" : "planes that are not named";
  }
  bool differs(const PlaneAt& at) const {
    return twin::plane_of(a_, at.first, at.second) != twin::plane_of(b_, at.first, at.second);
  }

  /// A sentence names the first planes of each group of planes with the same cause, and counts the
  /// others (`more`). True if the planes from index `from` on, which are not named, can be
  /// distributed among the groups so that these counts are right and the clauses of the group are
  /// true of each plane; planes without any difference in steps need no group.
  bool are_of_groups(const std::vector<PlaneAt>& planes, std::size_t from,
                     const std::vector<Group>& groups, std::vector<Index>& more) {
    if (from == planes.size()) return std::ranges::all_of(more, [](Index n) { return n == 0; });
    const PlaneAt at = planes[from];
    for (std::size_t i = 0; i <= groups.size(); ++i) {
      const bool none = i == groups.size();
      if (!none && (more[i] == 0 || at < groups[i].planes.back())) continue;
      const auto [error, by_edit] =
          plane_truth(none ? std::vector<Clause>{} : groups[i].clauses, at);
      if (!error.empty()) continue;
      if (!none) --more[i];
      if (are_of_groups(planes, from + 1, groups, more)) {
        if (by_edit) tell_by_edit(at);
        return true;
      }
      if (!none) ++more[i];
    }
    return false;
  }

  struct PlaneTruth {
    std::string error;     // empty: the clauses are true
    bool by_edit = false;  // of the edit, so that the cells that it leaves are told
  };
  /// Judges the clauses by the pipelines of the plane, or as an edit of A: whichever they match,
  /// and of both the one that is to be read.
  PlaneTruth plane_truth(const std::vector<Clause>& clauses, const PlaneAt& at) {
    const auto [b, h] = at;
    const Dense a = twin::plane_of(a_, b, h);
    std::string error = "no pipelines";
    if (said_.by_pipelines) {
      const Dense full = twin::make(1, 1, a_.q, a_.k, yes);
      error = PlaneSaid(a, twin::plane_of(b_, b, h), twin::plane_of(told_, b, h))
                  .wrong(clauses, full, steps_of_plane(said_.a, b, h), full,
                         steps_of_plane(said_.b, b, h));
    }
    const Index left = open(twin::plane_of(told_, b, h));
    if (error.empty() && left == 0) return {};
    const Index left_by_edit = open(twin::plane_of(by_edit(), b, h));
    const std::string other = PlaneSaid(a, twin::plane_of(b_, b, h), twin::plane_of(told_, b, h))
                                  .wrong(clauses, a, {}, a, steps_of_plane(*edit_, b, h));
    const bool as_pipelines =
        reading_ == Reading::kFewer ? left <= left_by_edit : reading_ == Reading::kPipelines;
    if (error.empty() && (!other.empty() || as_pipelines)) return {};
    if (!other.empty()) return {said_.by_pipelines ? error : other};
    return {"", true};
  }
  void tell_by_edit(const PlaneAt& at) {
    for (Index q = 0; q < a_.q; ++q)
      for (Index k = 0; k < a_.k; ++k)
        told_.set(at.first, at.second, q, k, by_edit().get(at.first, at.second, q, k));
  }
  const Dense& by_edit() {
    if (!edit_) {
      edit_ = said_.edit();
      by_edit_ = twin::zip(Op::kXor, twin::run_chain(a_, *edit_), b_);
    }
    return by_edit_;
  }

  static constexpr const char* kOtherCount = "another number of cells";
  /// Where a plane's clauses are true of the pipelines and of the edit.
  enum class Reading : std::uint8_t { kFewer, kEdit, kPipelines };

  SaidCause said_;
  Reading reading_ = Reading::kFewer;
  const Mask &mask_a_, &mask_b_;
  Dense a_, b_;
  std::optional<Chain> edit_;
  Dense told_, by_edit_;  // the differences that no step explains, and those that no edit does
};

}  // namespace maskctl::test
