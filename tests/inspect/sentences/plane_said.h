// Judges whether clauses explain all steps in which the chains for one plane of A and of B differ.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "inspect/sentences/plane_steps.h"
#include "inspect/sentences/step_words.h"
#include "maskctl/mask/steps/at.h"
#include "maskctl/mask/steps/scoped.h"

namespace maskctl::test {

struct Clause {
  std::string text;
  bool inside = false;  // "... in each document"
  Index steps = 1;      // "... in 3 steps"
};

class PlaneSaid {
 public:
  using Dense = twin::Dense;
  /// `told` are the cells that the sentence names one by one, or counts.
  PlaneSaid(Dense a, Dense b, Dense told)
      : a_(std::move(a)), b_(std::move(b)), told_(std::move(told)) {}

  /// Returns what is false about the clauses if the chains start from these cells; "" if all are
  /// true.
  std::string wrong(std::vector<Clause> clauses, const Dense& from_a, Chain in_a,
                    const Dense& from_b, Chain in_b) {
    idle_.clear();
    note_idle(from_a, in_a);
    note_idle(from_b, in_b);
    made_of_ = {{from_a, in_a}, {from_b, in_b}};
    if (!clauses.empty() && placed(clauses[0].text, in_a, in_b)) {
      clauses.erase(clauses.begin());
      made_of_.clear();
    }
    if (idle_in_one()) return "a step of both does nothing in one of them";
    cancel(in_a, in_b);
    clauses = one_by_one(clauses);
    Account account{in_a, in_b, std::vector<int>(in_a.size()), std::vector<int>(in_b.size()), {}};
    if (accounts(clauses, 0, account)) return "";
    std::string text;
    for (const Clause& clause : clauses) text += clause.text + " | ";
    return text + " does not turn " + text_of(in_a) + " into " + text_of(in_b);
  }

 private:
  /// What is said of several steps, as a clause for each of them.
  static std::vector<Clause> one_by_one(const std::vector<Clause>& clauses) {
    std::vector<Clause> out;
    for (const Clause& clause : clauses) {
      out.push_back(clause);
      if (clause.inside) continue;
      out.back().steps = 1;
      out.resize(out.size() + static_cast<std::size_t>(clause.steps - 1), out.back());
    }
    return out;
  }

  /// Inside a document, queries and keys are counted from the first ones of the document.
  Index shift() const { return inside_ ? 0 : a_.k - a_.q; }

  /// Judges "keys at positions 9+0-8 instead of in order", and the opposite: one chain is the step
  /// `at` with these arguments. Then that chain becomes the one inside, and true is returned.
  static bool placed(const std::string& clause, Chain& a, Chain& b) {
    std::smatch m;
    static const std::regex to("(.*) instead of in order"), from("tokens in order instead of (.*)");
    const bool in_b = std::regex_match(clause, m, to);
    if (!in_b && !std::regex_match(clause, m, from)) return false;
    Chain& outer = in_b ? b : a;
    const auto* at = outer.size() == 1 ? outer[0].get_if<step::At>() : nullptr;
    if (!at) return false;
    std::string arguments = std::regex_replace(m[1].str(), std::regex(" at positions "), "=");
    arguments = std::regex_replace(arguments, std::regex(" and "), ",");
    const std::string text = to_text(outer, "ids.npz");
    if (!text.starts_with("at:" + arguments + "{") && !text.starts_with("at:" + arguments + ",n="))
      return false;
    outer = Chain(at->chain);
    return true;
  }
  /// Removes the steps that both chains have.
  static void cancel(Chain& a, Chain& b) {
    for (std::size_t i = 0; i < a.size();) {
      const auto at = std::ranges::find(b, a[i]);
      if (at == b.end()) {
        ++i;
        continue;
      }
      b.erase(at);
      a.erase(a.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  /// Collects the steps that change no cell at their place in the chain.
  void note_idle(Dense cells, const Chain& chain) {
    for (const Step& step : chain) {
      Dense next = twin::run_step(cells, step);
      if (next == cells) idle_.push_back(step);
      cells = std::move(next);
    }
  }
  static std::string text_of(const Chain& chain) {
    std::string out;
    for (const Step& step : chain) out += step_said(step, 0, 0) + ", ";
    return "(" + out + ")";
  }

  /// The steps that are explained so far: alone (1), or as a pair of which one became the other
  /// (2).
  struct Account {
    Chain a, b;
    std::vector<int> a_used, b_used;
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
  };

  bool accounts(const std::vector<Clause>& clauses, std::size_t from, Account account) {
    if (from == clauses.size()) return nothing_left(std::move(account));
    const Clause& clause = clauses[from];
    if (clause.inside) return accounts_inside(clauses, from, account, 0);
    const Account before = account;
    const StepsSaid steps(a_.q, a_.k, shift());
    for (std::size_t i = 0; i < account.a.size(); ++i) {
      if (account.a_used[i] != 0 || !misses(clause.text, account.a[i])) continue;
      if (!reads_true(clause.text, account.a[i], true)) continue;
      account.a_used[i] = 1;
      if (accounts(clauses, from + 1, account)) return true;
      account = before;
    }
    for (std::size_t j = 0; j < account.b.size(); ++j) {
      if (account.b_used[j] != 0 || !adds(clause.text, account.b[j])) continue;
      if (!reads_true(clause.text, account.b[j], false)) continue;
      account.b_used[j] = 1;
      if (accounts(clauses, from + 1, account)) return true;
      account = before;
    }
    for (std::size_t i = 0; i < account.a.size(); ++i) {
      for (std::size_t j = 0; j < account.b.size(); ++j) {
        const bool known = std::ranges::find(account.pairs, std::pair(i, j)) != account.pairs.end();
        if (!known && (account.a_used[i] != 0 || account.b_used[j] != 0)) continue;
        const bool documents = clause.text.find(" by document") != std::string::npos;
        if (documents && !inside_) continue;
        if (clause.text.find(" by batch") != std::string::npos && inside_) continue;
        if (!steps.holds(clause.text, account.a[i], account.b[j])) continue;
        if (!known) account.pairs.emplace_back(i, j);
        account.a_used[i] = account.b_used[j] = 2;
        if (accounts(clauses, from + 1, account)) return true;
        account = before;
      }
    }
    return false;
  }
  /// Judges clauses "... in each document", which explain how the steps inside a `within` step
  /// differ; `done` of the steps of which they are said are explained.
  bool accounts_inside(const std::vector<Clause>& clauses, std::size_t from, const Account& account,
                       Index done) {
    std::size_t end = from;
    std::vector<Clause> inner;
    while (end < clauses.size() && clauses[end].inside) inner.push_back({clauses[end++].text});
    if (done == clauses[end - 1].steps) return accounts(clauses, end, account);
    for (std::size_t i = 0; i < account.a.size(); ++i) {
      for (std::size_t j = 0; j < account.b.size(); ++j) {
        const auto* in_a = account.a[i].get_if<step::Within>();
        const auto* in_b = account.b[j].get_if<step::Within>();
        if (!in_a || !in_b || account.a_used[i] != 0 || account.b_used[j] != 0) continue;
        Chain steps_a = in_a->chain, steps_b = in_b->chain;
        // What is said of single documents is a clause of its own.
        const auto of_some = [](const Step& step) { return step.is<step::Scoped>(); };
        std::erase_if(steps_a, of_some);
        std::erase_if(steps_b, of_some);
        cancel(steps_a, steps_b);
        const bool was = inside_;
        inside_ = true;
        const Account parts{steps_a,
                            steps_b,
                            std::vector<int>(steps_a.size()),
                            std::vector<int>(steps_b.size()),
                            {}};
        const bool holds = accounts(inner, 0, parts);
        inside_ = was;
        if (!holds) continue;
        Account next = account;
        next.pairs.emplace_back(i, j);
        next.a_used[i] = next.b_used[j] = 2;
        if (accounts_inside(clauses, from, next, done + 1)) return true;
      }
    }
    return false;
  }
  /// True if the steps that no clause explains change nothing, or form pairs that make the same
  /// cells.
  bool nothing_left(Account account) const {
    for (std::size_t i = 0; i < account.a.size(); ++i) {
      if (account.a_used[i] != 0) continue;
      const auto same = [&](std::size_t j) {
        return account.b_used[j] == 0 && same_cells(account.a[i], account.b[j]);
      };
      std::size_t j = 0;
      while (j < account.b.size() && !same(j)) ++j;
      if (j < account.b.size()) account.a_used[i] = account.b_used[j] = 2;
    }
    const auto pass_idle = [&](const Chain& chain, std::vector<int>& used) {
      for (std::size_t i = 0; i < chain.size(); ++i) {
        if (used[i] == 0 && std::ranges::find(idle_, chain[i]) != idle_.end()) used[i] = 2;
      }
    };
    pass_idle(account.a, account.a_used);
    pass_idle(account.b, account.b_used);
    const auto all = [](const std::vector<int>& used) {
      return std::ranges::all_of(used, [](int one) { return one != 0; });
    };
    return all(account.a_used) && all(account.b_used);
  }
  bool same_cells(const Step& x, const Step& y) const {
    for (const bool open : {true, false}) {
      const auto all = [open](Index, Index, Index, Index) { return open; };
      const Dense start = twin::make(1, 1, a_.q, a_.k, all);
      try {
        if (twin::run_step(start, x) != twin::run_step(start, y)) return false;
      } catch (const twin::Refused&) {
        return false;
      }
    }
    return true;
  }

  std::string words(const Step& step) const { return step_said(step, shift(), a_.q); }

  /// True if all cells of the region have this state in B, except those that are named one by one.
  bool is_region(const step::Region& region, bool open) const {
    const auto in = [](const std::vector<Range>& ranges, Index i) {
      return ranges.empty() || std::ranges::any_of(ranges, [i](const Range& range) {
               return i >= range.begin && i < range.end;
             });
    };
    for (Index q = 0; q < a_.q; ++q)
      for (Index k = 0; k < a_.k; ++k)
        if (in(region.q, q) && in(region.k, k) && b_.get(q, k) != open && !told_.get(q, k) &&
            a_.get(q, k) != open)
          return false;
    return true;
  }
  static Index differing(const Dense& x, const Dense& y) {
    Index out = 0;
    for (std::size_t i = 0; i < x.cells.size(); ++i) out += x.cells[i] != y.cells[i];
    return out;
  }
  static Chain without_step(Chain chain, const Step& step) {
    chain.erase(std::ranges::find(chain, step));
    return chain;
  }

  /// True if a step that both chains have does something in one of them only: then a reader does
  /// not take the mask in which it does nothing for that chain. Of a mask that is all open or all
  /// closed, no step but the last does anything.
  bool idle_in_one() const {
    if (made_of_.empty() ||
        std::ranges::adjacent_find(a_.cells, std::ranges::not_equal_to()) == a_.cells.end())
      return false;
    const auto idle = [](const std::pair<Dense, Chain>& made, const Step& step) {
      return twin::run_chain(made.first, made.second) ==
             twin::run_chain(made.first, without_step(made.second, step));
    };
    return std::ranges::any_of(made_of_[0].second, [&](const Step& step) {
      return std::ranges::find(made_of_[1].second, step) != made_of_[1].second.end() &&
             idle(made_of_[0], step) != idle(made_of_[1], step);
    });
  }

  /// True if the clause, which says that a step is added or missing, is true of the cells as it
  /// reads: the step alone, on top of all others, does what it does in its chain; most of these
  /// cells differ in A and B; and no other step, which does nothing in the chain, does the same
  /// once this one is gone. A step "before" another one may be undone in part by what follows.
  bool reads_true(const std::string& clause, const Step& step, bool missing) const {
    if (inside_ || made_of_.empty()) return true;
    const auto* region = step.get_if<step::Region>();
    if (missing && region && clause == region_words(*region, !region->open, a_.q)) return true;
    const auto& [from, whole] = made_of_[missing ? 0 : 1];
    Chain chain = whole;
    const auto own = std::ranges::find(chain, step);
    if (own == chain.end()) return true;  // the step is one of the documents' own
    // Regions are read in their order: what follows is said in clauses of its own.
    chain.erase(std::remove_if(own + 1, chain.end(),
                               [](const Step& later) { return later.is<step::Region>(); }),
                chain.end());
    const Chain others = without_step(chain, step);
    const Dense with = twin::run_chain(from, chain), without = twin::run_chain(from, others);
    const Dense on_top = twin::run_step(without, step);
    Index shown = 0;
    for (std::size_t i = 0; i < with.cells.size(); ++i) {
      shown += with.cells[i] != without.cells[i] && a_.cells[i] != b_.cells[i];
    }
    const Index done = differing(with, without);
    const bool most = 2 * shown >= done || (region && !missing);  // later regions may undo one
    if (done == 0 || !most) return false;
    const bool all = region && region->k.empty() && region->q == std::vector<Range>{{0, a_.q}};
    for (std::size_t i = 0; missing && !all && i < others.size(); ++i) {
      const bool idle = twin::run_chain(from, without_step(chain, others[i])) == with;
      if (idle && twin::run_chain(from, without_step(others, others[i])) != without) return false;
    }
    const std::size_t before = clause.find(" before ");
    if (before == std::string::npos) return on_top == with;
    const std::string last = clause.substr(before + 8);
    const auto later = std::ranges::find(whole, step) + 1;
    return 2 * done >= differing(on_top, without) &&
           std::any_of(later, whole.end(), [&](const Step& one) { return words(one) == last; });
  }

  bool misses(const std::string& said, const Step& step) const {
    const std::string clause = said.substr(0, said.find(" before "));
    if (const auto* region = step.get_if<step::Region>()) {
      std::string cells = words(step);
      std::string lines = region_words(*region, region->open, -1);
      cells.resize(cells.rfind(' ')), lines.resize(lines.rfind(' '));
      const std::string what = region->open ? "opening of " : "closing of ";
      if (clause == what + cells + " missing" || clause == what + lines + " missing") return true;
      return clause == region_words(*region, !region->open, a_.q) &&
             is_region(*region, !region->open);
    }
    return clause == words(step) + " missing";
  }
  bool adds(const std::string& said, const Step& step) const {
    const std::string clause = said.substr(0, said.find(" before "));
    if (const auto* region = step.get_if<step::Region>()) {
      return clause == words(step) || clause == region_words(*region, region->open, -1) ||
             is_document(clause, *region);
    }
    return clause == words(step) + " added";
  }
  /// Judges "the document of tokens 3-5 missing": these tokens must see only each other.
  bool is_document(const std::string& clause, const step::Region& region) const {
    const auto& lines = region.k.empty() ? region.q : region.k;
    if ((!region.q.empty() && !region.k.empty()) || lines.size() != 1 || a_.q != a_.k) return false;
    const Range at = lines[0];
    if (clause != "the document of " + ranges_said({at}, "token", "tokens") +
                      (region.open ? " added" : " missing")) {
      return false;
    }
    const Dense& fuller = region.open ? b_ : a_;
    const Dense& other = region.open ? a_ : b_;
    Index inside = 0;
    for (Index q = 0; q < a_.q; ++q) {
      for (Index k = 0; k < a_.k; ++k) {
        const bool in_q = q >= at.begin && q < at.end, in_k = k >= at.begin && k < at.end;
        const bool open = fuller.get(q, k);
        if (open && in_q != in_k) return false;
        inside += open && in_q && in_k;
        if ((in_q || in_k) && other.get(q, k) && !told_.get(q, k)) {
          return false;
        }
      }
    }
    return inside > 0;
  }

  Dense a_, b_, told_;
  bool inside_ = false;
  std::vector<Step> idle_;
  std::vector<std::pair<Dense, Chain>> made_of_;  // A and B; empty if one is of tokens moved
};

}  // namespace maskctl::test
