// One function per command; all may throw, none exits. Commands that answer a question return the
// exit status of the answer: 0 yes, 1 no.
#pragma once

#include "app/cli/options.h"

namespace maskctl::app {

/// Returns 2 when one of several SOURCEs could not be read; the others are reported.
int info(const InfoOptions& options, const GlobalOptions& globals);
void show(const ShowOptions& options, const GlobalOptions& globals);
void apply(const ApplyOptions& options, const GlobalOptions& globals);
void gen(const GenOptions& options, const GlobalOptions& globals);
void stats(const StatsOptions& options, const GlobalOptions& globals);
void cost(const CostOptions& options, const GlobalOptions& globals);
void combine(const CombineOptions& options, const GlobalOptions& globals);
void seq(const SeqOptions& options, const GlobalOptions& globals);
void blockmap(const BlockmapOptions& options, const GlobalOptions& globals);
void ops(const OpsOptions& options);
/// Returns 1 when cells remain unexplained.
int recognise(const RecogniseCommand& options, const GlobalOptions& globals);
/// Returns 1 when the masks differ.
int diff(const DiffOptions& options, const GlobalOptions& globals);
/// Returns 1 when a mask has changed.
int golden(const GoldenOptions& options, const GlobalOptions& globals);
/// Returns 1 when the pair is closed.
int why(const WhyOptions& options, const GlobalOptions& globals);
/// Returns 1 when an expectation does not hold, or a finding is an error or a warning.
int check(const CheckOptions& options, const GlobalOptions& globals);
/// Returns 1 when a library cannot express the mask.
int translate(const TranslateOptions& options, const GlobalOptions& globals);
/// Returns 1 when the map loses or gains attention.
int audit(const AuditOptions& options, const GlobalOptions& globals);
/// Returns 1 when --roundtrip finds a loss.
int convert(const ConvertOptions& options, const GlobalOptions& globals);

}  // namespace maskctl::app
