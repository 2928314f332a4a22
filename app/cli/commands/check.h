// The options and the result of `check`, which Python asks too.
#pragma once

#include <string>
#include <vector>

#include "app/cli/commands/command.h"
#include "app/reports/check_report.h"
#include "app/session/options.h"

namespace maskctl::app {

struct CheckOptions {
  enum class Format { kText, kJson, kJunit, kSarif };

  SourceOptions source;
  std::vector<std::string> sources;
  std::vector<std::string> expectations;
  DocumentOptions documents;
  std::string bias;
  Format format = Format::kText;
  bool json = false;
  bool exit_zero = false;
};

/// Declares the operands SOURCE and all options.
void declare_check(OptionList& list, CheckOptions& options);
/// Tests what the options expect of one SOURCE; without expectations, looks for mistakes in it.
/// Throws like maskctl::check() of a CheckedMask and of an Expectation.
CheckReport check_source(const std::string& source, const CheckOptions& options, Session& session);
/// The answer about one SOURCE, in the format of the options.
Answer answer_of(const CheckReport& report, const CheckOptions& options);

}  // namespace maskctl::app
