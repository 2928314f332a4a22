// The mutants of one mask that Python goes through, and what its rule says of them; this file does
// not depend on Python.
#pragma once

#include "app/cli/commands/attention/mutant_subjects.h"
#include "app/cli/commands/command.h"
#include "app/reports/mutants_report.h"

namespace maskctl::app {

class MutantRun {
 public:
  explicit MutantRun(Subject subject);

  /// Makes mutant `number`, which last() and judge() are then about.
  void make(Index number);
  /// The mutant that was made last; its arrays may be moved away.
  attention::Mutant& last() { return last_; }
  const std::string& source() const { return subject_.source; }
  /// Notes an answer about the mutant that was made last. Throws Error(kInvalidArgument) if there
  /// is none.
  void judge(bool accepted, double bound);
  /// The report on all answers; status 1 if the rule fails.
  Answer answer() const;

 private:
  Subject subject_;
  attention::Mutant last_;
  bool any_ = false;
  MutantsReport report_;
};

}  // namespace maskctl::app
