// The calls of which mutants are made: those of SOURCEs, and the usual ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/parser/option_list.h"
#include "app/reports/mutants_report.h"
#include "app/session/options.h"
#include "app/session/session.h"
#include "maskctl/verify/mutants/mutants.h"

namespace maskctl::app {

/// Of which calls, and which kinds, mutants are made.
struct MutantOptions {
  SourceOptions source;
  Index seed = 0;
  attention::MutantChoice kinds;
  // Absent: those of the mask, and 2 heads where it has one.
  std::optional<Index> batch, heads, kv_heads;
  attention::MutantCall call;  // its mask, batch and heads are not used
};

void declare_mutants(OptionList& list, MutantOptions& options);

/// The mutants of a mask, which reports call `source`.
struct Subject {
  std::string source;
  Index seed = 0;
  attention::Mutants mutants;
};

/// Throws Error(kLimit) before anything is allocated if the arrays of a mutant are too large.
Subject subject_of(const MutantOptions& options, const std::string& source, Session& session);

/// What a report says of the mask.
MutatedMask described(const Subject& subject);

/// Masks of 256 to 1024 tokens as training and serving use them, with calls that have caps, sinks,
/// a bias, padding and shared key heads. Throws Error(kInvalidArgument) for options of a mask or of
/// such a call.
std::vector<Subject> usual_subjects(const MutantOptions& options, Session& session);

}  // namespace maskctl::app
