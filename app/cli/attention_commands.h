// The commands that run attention; see commands.h.
#pragma once

#include <vector>

#include "app/cli/options_attention.h"
#include "maskctl/attention/verify/verify.h"

namespace maskctl::app {

void attend(const AttendOptions& options, const GlobalOptions& globals);
/// What `verify` checks, without a word of output.
std::vector<attention::VerifyCheck> verify_checks(const VerifyOptions& options,
                                                  const GlobalOptions& globals);
/// 1 when a check fails.
int verify(const VerifyOptions& options, const GlobalOptions& globals);
/// 1 when the kernel applied another mask than the declared one.
int probe(const ProbeOptions& options, const GlobalOptions& globals);
void bench(const BenchOptions& options, const GlobalOptions& globals);
void backends(const BackendsOptions& options);

}  // namespace maskctl::app
