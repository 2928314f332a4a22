// The commands that run attention; see commands.h.
#pragma once

#include "app/cli/options_attention.h"
#include "maskctl/attention/verify/judge.h"

namespace maskctl::app {

void attend(const AttendOptions& options, const GlobalOptions& globals);
/// The findings of `verify`, without any output.
attention::GivenReport verify_report(const VerifyOptions& options, const GlobalOptions& globals);
/// "obeys another mask: window left 32 instead of 31 (heads 0-3, queries 32-63)".
std::string verdict_text(const attention::Judgement& judgement);
/// Returns 1 when the kernel applied another mask or none, 2 when that cannot be decided.
int verify(const VerifyOptions& options, const GlobalOptions& globals);
/// Returns 1 when the kernel applied a mask other than the declared one.
int probe(const ProbeOptions& options, const GlobalOptions& globals);
void bench(const BenchOptions& options, const GlobalOptions& globals);
void backends(const BackendsOptions& options);

}  // namespace maskctl::app
