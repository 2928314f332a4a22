// Makes the calls that mutants are made of: those of the user's SOURCEs, or the built-in ones of
// --usual.
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

/// The calls to make mutants of, and the kinds of mutants.
struct MutantOptions {
  SourceOptions source;
  Index seed = 0;
  attention::MutantChoice kinds;
  // If absent: the batch and heads of the mask (2 heads if it has one), and as many key heads.
  std::optional<Index> batch, heads, kv_heads;
  attention::MutantCall call;  // its mask, batch and heads are not used
};

void declare_mutants(OptionList& list, MutantOptions& options);

/// The mutants of one mask. Reports call the mask `source`.
struct Subject {
  std::string source;
  Index seed = 0;
  attention::Mutants mutants;
};

/// Throws Error(kLimit) before anything is allocated if the arrays of a mutant are too large.
Subject subject_of(const MutantOptions& options, const std::string& source, Session& session);

/// The mask and its call, as reports describe them.
MutatedMask described(const Subject& subject);

/// Masks of 256 to 1024 tokens as training and serving use them, with calls that have caps, sinks,
/// a bias, padding and shared key heads. Throws Error(kInvalidArgument) for options of a mask or of
/// such a call.
std::vector<Subject> usual_subjects(const MutantOptions& options, Session& session);

}  // namespace maskctl::app
