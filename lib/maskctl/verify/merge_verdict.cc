#include "maskctl/verify/merge_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <numbers>
#include <utility>

#include "maskctl/base/text.h"
#include "maskctl/base/threads.h"
#include "maskctl/verify/merge_arrays.h"
#include "maskctl/verify/merge_mistakes.h"

namespace maskctl::attention {
namespace {

constexpr Index kRowsPerTask = 256;

/// Whether all of the rows pass the test.
template <typename Test>
bool all_pass(const std::vector<Index>& rows, Test test) {
  std::atomic<bool> passed = true;
  const auto count = static_cast<Index>(rows.size());
  parallel_for(ceil_div(count, kRowsPerTask), [&](Index task) {
    const Index end = std::min(count, (task + 1) * kRowsPerTask);
    for (Index n = task * kRowsPerTask; n < end && passed; ++n) {
      if (!test(rows[as_size(n)])) passed = false;
    }
  });
  return passed;
}

/// Judges the merged out by weight rules, or the merged lse by lse rules.
template <typename Rule>
class Judging {
 public:
  Judging(const Merge& merge, const std::vector<Rule>& rules, const std::vector<EmptyRule>& empty,
          double base)
      : merge_(merge), rules_(rules), empty_(empty), base_(base) {
    std::vector<std::uint8_t> off(as_size(merge.rows()));
    parallel_for(ceil_div(merge.rows(), kRowsPerTask), [&](Index task) {
      const Index end = std::min(merge.rows(), (task + 1) * kRowsPerTask);
      for (Index row = task * kRowsPerTask; row < end; ++row) {
        off[as_size(row)] = merge.untold(row) ? 2 : gives(right(), row) ? 0 : 1;
      }
    });
    for (Index row = 0; row < merge.rows(); ++row) {
      if (off[as_size(row)] == 0) right_.push_back(row);
      if (off[as_size(row)] == 1) off_.push_back(row);
    }
  }

  bool all_right() const { return off_.empty() && !right_.empty(); }

  MergeFinding run() {
    if (off_.empty() && right_.empty()) return {MergeVerdict::kUnclear};
    if (off_.empty()) return found_right();
    try_each(mistakes());
    if (fits_.empty() && in_part_.empty()) try_each(pairs());
    MergeFinding out;
    out.in_part = fits_.empty() && !in_part_.empty();
    out.fits = out.in_part ? in_part_ : fits_;
    out.verdict = out.fits.empty() ? MergeVerdict::kNone : MergeVerdict::kMistaken;
    out.tried = tried_;
    out.rows_off = static_cast<Index>(off_.size());
    out.where = merge_.where(off_);
    const Miss first = *merge_.miss(right(), off_.front(), base_);
    out.first = fmt::format("{}: {:.7g} instead of {:.7g}",
                            merge_.place(off_.front(), first.element), first.seen, first.expected);
    return out;
  }

 private:
  struct Mistake {
    Way<Rule> way;
    std::string text;
  };

  Way<Rule> right() const { return {&rules_.front(), &empty_.front()}; }
  bool gives(const Way<Rule>& way, Index row) const { return !merge_.miss(way, row, base_); }
  bool gives(const Way<Rule>& way, const std::vector<Index>& rows) const {
    return all_pass(rows, [&](Index row) { return gives(way, row); });
  }

  MergeFinding found_right() {
    MergeFinding out;
    for (const Mistake& mistake : mistakes()) {
      ++out.tried;
      const bool shows = mistake.way.rule != &rules_.front() && !mistake.way.rule->seldom_seen;
      if (shows && gives(mistake.way, right_)) out.same.push_back(mistake.text);
    }
    return out;
  }

  /// Each mistake alone.
  std::vector<Mistake> mistakes() const {
    std::vector<Mistake> out;
    for (const Rule& rule : rules_) {
      if (&rule == &rules_.front() || !merge_.changes(rule.rows)) continue;
      out.push_back({{&rule, &empty_.front()}, rule.text});
    }
    for (const EmptyRule& empty : empty_) {
      if (&empty == &empty_.front() || !merge_.concerns(empty)) continue;
      out.push_back({{&rules_.front(), &empty}, empty.text});
    }
    return out;
  }

  /// Pairs of mistakes: one about all rows, and one about parts without keys.
  std::vector<Mistake> pairs() const {
    std::vector<Mistake> out;
    for (const Mistake& one : mistakes()) {
      for (const EmptyRule& empty : empty_) {
        if (one.way.rule == &rules_.front() || &empty == &empty_.front()) continue;
        if (!merge_.concerns(empty)) continue;
        out.push_back({{one.way.rule, &empty}, fmt::format("{}, and {}", one.text, empty.text)});
      }
    }
    return out;
  }

  void try_each(const std::vector<Mistake>& mistakes) {
    for (const Mistake& mistake : mistakes) {
      ++tried_;
      if (!gives(mistake.way, off_)) continue;
      (gives(mistake.way, right_) ? fits_ : in_part_).push_back(mistake.text);
    }
  }

  const Merge& merge_;
  const std::vector<Rule>& rules_;
  const std::vector<EmptyRule>& empty_;
  double base_;
  std::vector<Index> right_, off_;  // rows as the right merge gives them, and the others
  std::vector<std::string> fits_, in_part_;
  Index tried_ = 0;
};

double base_factor(bool base_2) { return base_2 ? std::numbers::ln2 : 1; }

struct Findings {
  MergeFinding out;
  std::optional<MergeFinding> lse;
};

Findings findings(const Merge& merge, const MergeCall& call) {
  const double base = base_factor(call.base_2);
  const auto weights = weight_rules(merge.parts(), call.base_2);
  const auto of_out = empty_rules_of_out();
  Findings out{Judging(merge, weights, of_out, base).run(), {}};
  if (!call.lse) return out;
  const auto lses = lse_rules(merge.parts(), call.base_2);
  const auto of_lse = empty_rules_of_lse();
  out.lse = Judging(merge, lses, of_lse, base).run();
  return out;
}

bool right_to_base(const Merge& merge, const MergeCall& call, bool base_2) {
  const auto weights = weight_rules(merge.parts(), base_2);
  const auto of_out = empty_rules_of_out();
  if (!Judging(merge, weights, of_out, base_factor(base_2)).all_right()) return false;
  if (!call.lse) return true;
  const auto lses = lse_rules(merge.parts(), base_2);
  const auto of_lse = empty_rules_of_lse();
  return Judging(merge, lses, of_lse, base_factor(base_2)).all_right();
}

/// The verdicts from the best to the worst.
int badness(MergeVerdict verdict) {
  constexpr MergeVerdict kOrder[] = {MergeVerdict::kRight, MergeVerdict::kUnclear,
                                     MergeVerdict::kMistaken, MergeVerdict::kNone};
  return static_cast<int>(std::ranges::find(kOrder, verdict) - std::begin(kOrder));
}

}  // namespace

std::string_view name(MergeVerdict verdict) {
  constexpr std::string_view kNames[] = {"right", "mistaken", "none", "unclear"};
  return kNames[static_cast<std::size_t>(verdict)];
}

MergeJudgement judge_merge(const MergeCall& call) {
  const Merge merge(call);
  MergeJudgement out;
  auto [of_out, of_lse] = findings(merge, call);
  out.verdict = of_out.verdict;
  if (of_lse && badness(of_lse->verdict) > badness(out.verdict)) out.verdict = of_lse->verdict;
  out.out = std::move(of_out);
  out.lse = std::move(of_lse);
  out.shape = merge.shape();
  out.precision = merge.precision();
  out.rows = merge.rows();
  for (Index row = 0; row < merge.rows(); ++row) {
    const Index empty = merge.empty_parts(row);
    out.part_empty += empty > 0 ? 1 : 0;
    out.all_empty += empty == merge.parts() ? 1 : 0;
    out.untold += merge.untold(row) ? 1 : 0;
  }
  out.transposed_lse = merge.transposed_lse();
  out.right_to_other_base =
      out.verdict != MergeVerdict::kRight && right_to_base(merge, call, !call.base_2);
  return out;
}

std::string to_text(const MergeFinding& finding) {
  if (finding.verdict == MergeVerdict::kUnclear) {
    return "undecided: the lse of a part is NaN in every row";
  }
  if (finding.verdict == MergeVerdict::kRight) return "that of the right merge, up to rounding";
  const std::string off =
      fmt::format("{} off ({}), the first at {}", counted(finding.rows_off, "row"), finding.where,
                  finding.first);
  if (finding.verdict == MergeVerdict::kNone) {
    return fmt::format("not that of the right merge, and none of {} mistakes fits; {}",
                       finding.tried, off);
  }
  return fmt::format("wrong: {}{}; {}{}", joined(finding.fits, ", or "),
                     finding.fits.size() > 1 ? " (they fit alike)" : "", off,
                     finding.in_part ? "; the other rows are right" : "");
}

}  // namespace maskctl::attention
