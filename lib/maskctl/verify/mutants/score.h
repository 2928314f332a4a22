// How a rule fares against mutants: how many wrong kernels it accepts, by kind, and how many right
// ones it refuses.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/verify/mutants/mutants.h"
#include "maskctl/verify/mutants/rules.h"

namespace maskctl::attention {

/// A mutant that a rule got wrong, without its arrays.
struct WrongAnswer {
  std::string mask;  // as the caller names it
  Index number = 0;
  MutantTruth truth;
  double bound = 0;  // RuleVerdict::bound
  /// For an accepted wrong kernel: whether it moved more weight than the rule itself says it may
  /// miss, or is wrong in its lse alone.
  bool above_bound() const { return truth.lse_only || truth.weight > bound; }
};

/// The answers of a rule about the mutants of one kind.
struct KindScore {
  std::string_view kind;
  MutantGroup group = MutantGroup::kMask;
  Index made = 0, accepted = 0, refused = 0, undecided = 0, errors = 0;
  Index unread = 0;       // wrong in the lse alone, which the rule does not see: not asked
  Index above_bound = 0;  // accepted wrong kernels that the rule does not say it may miss
  // Of accepted wrong kernels: the least and the most weight that was moved.
  std::optional<double> least_passed, most_passed;
};

/// All answers of a rule.
struct RuleScore {
  std::string rule, meaning, source;
  std::vector<KindScore> kinds;  // in the order of mutant_kinds(), those that were made
  double seconds = 0;            // spent in the rule
  /// The accepted wrong kernels with the most weight moved, then the refused right ones.
  std::vector<WrongAnswer> accepted, refused;
  std::string first_error;  // what the first error said

  static constexpr std::size_t kMostKept = 20;

  /// The sum of a member over the kinds of wrong, right or coarse mutants.
  Index sum(Index KindScore::*member, bool (*of)(MutantGroup)) const;
  Index errors() const;
  /// Whether the rule accepted a wrong kernel above its own bound, or refused a right or coarse
  /// one.
  bool fails() const;
  void add(const std::string& mask, const Mutant& mutant, const RuleVerdict& verdict,
           bool reads_lse);
};

/// For RuleScore::sum().
inline bool of_wrong(MutantGroup group) { return !is_right(group); }
inline bool of_right(MutantGroup group) { return group == MutantGroup::kRight; }
inline bool of_coarse(MutantGroup group) { return group == MutantGroup::kCoarse; }

}  // namespace maskctl::attention
