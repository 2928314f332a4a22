#include "maskctl/verify/mutants/score.h"

#include <algorithm>
#include <utility>

namespace maskctl::attention {
namespace {

/// The place of a kind in mutant_kinds().
std::ptrdiff_t place_of(std::string_view kind) {
  const auto kinds = mutant_kinds();
  return std::ranges::find(kinds, kind, &MutantKindInfo::name) - kinds.begin();
}

KindScore& score_of(const MutantTruth& truth, std::vector<KindScore>& kinds) {
  const auto at = std::ranges::lower_bound(
      kinds, place_of(truth.kind), {}, [](const KindScore& score) { return place_of(score.kind); });
  if (at != kinds.end() && at->kind == truth.kind) return *at;
  KindScore fresh;
  fresh.kind = truth.kind;
  fresh.group = truth.group;
  return *kinds.insert(at, fresh);
}

/// Keeps the worst answers in order: kernels that are right in every bit that they compute before
/// those with caches of 8 bits, and more weight before less.
void keep(WrongAnswer answer, std::vector<WrongAnswer>& answers) {
  const auto rank = [](const WrongAnswer& one) {
    return std::pair(one.truth.group != MutantGroup::kCoarse, one.truth.weight);
  };
  const auto at = std::ranges::upper_bound(answers, rank(answer), std::ranges::greater(), rank);
  answers.insert(at, std::move(answer));
  if (answers.size() > RuleScore::kMostKept) answers.pop_back();
}

}  // namespace

Index RuleScore::sum(Index KindScore::*member, bool (*of)(MutantGroup)) const {
  Index out = 0;
  for (const KindScore& kind : kinds) out += of(kind.group) ? kind.*member : 0;
  return out;
}

Index RuleScore::errors() const {
  return sum(&KindScore::errors, of_wrong) + sum(&KindScore::errors, is_right);
}

bool RuleScore::fails() const {
  return sum(&KindScore::above_bound, of_wrong) > 0 || sum(&KindScore::refused, is_right) > 0;
}

void RuleScore::add(const std::string& mask, const Mutant& mutant, const RuleVerdict& verdict,
                    bool reads_lse) {
  const MutantTruth& truth = mutant.truth;
  KindScore& score = score_of(truth, kinds);
  ++score.made;
  if (truth.lse_only && !reads_lse) {
    ++score.unread;
    return;
  }
  const WrongAnswer answer{mask, mutant.number, truth, verdict.bound};
  switch (verdict.answer) {
    case RuleAnswer::kUndecided:
      ++score.undecided;
      return;
    case RuleAnswer::kError:
      ++score.errors;
      if (first_error.empty()) first_error = verdict.text;
      return;
    case RuleAnswer::kRefuses:
      ++score.refused;
      if (is_right(truth.group)) keep(answer, refused);
      return;
    case RuleAnswer::kAccepts:
      break;
  }
  ++score.accepted;
  if (is_right(truth.group)) return;
  if (answer.above_bound()) ++score.above_bound;
  score.least_passed = std::min(score.least_passed.value_or(truth.weight), truth.weight);
  score.most_passed = std::max(score.most_passed.value_or(truth.weight), truth.weight);
  keep(answer, accepted);
}

}  // namespace maskctl::attention
