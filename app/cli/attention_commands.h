// The commands that run attention; see commands.h.
#pragma once

#include "app/cli/options_attention.h"
#include "maskctl/attention/verify/judge.h"

namespace maskctl::app {

void attend(const AttendOptions& options, const GlobalOptions& globals);
/// What `verify` finds out, without a word of output.
attention::GivenReport verify_report(const VerifyOptions& options, const GlobalOptions& globals);
/// "obeys another mask: window left 32 instead of 31 (heads 0-3, queries 32-63)".
std::string verdict_text(const attention::Judgement& judgement);
/// 1 for another mask or none, 2 where it cannot be told.
int verify(const VerifyOptions& options, const GlobalOptions& globals);
/// 1 when the kernel applied another mask than the declared one.
int probe(const ProbeOptions& options, const GlobalOptions& globals);
void bench(const BenchOptions& options, const GlobalOptions& globals);
void backends(const BackendsOptions& options);

}  // namespace maskctl::app
