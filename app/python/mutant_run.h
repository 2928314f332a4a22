// The mutants of one mask, which Python asks for one by one, and the answers of its rule. This file
// does not depend on Python.
#pragma once

#include "app/cli/commands/attention/mutant_subjects.h"
#include "app/cli/commands/command.h"
#include "app/reports/mutants_report.h"

namespace maskctl::app {

class MutantRun {
 public:
  explicit MutantRun(Subject subject);

  /// Makes mutant `number`. Afterwards last() returns it, and judge() is about it.
  void make(Index number);
  /// The mutant that was made last; its arrays may be moved away.
  attention::Mutant& last() { return last_; }
  const std::string& source() const { return subject_.source; }
  /// Stores the rule's answer about the mutant that was made last. Throws Error(kInvalidArgument)
  /// if none was made.
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
