// One function for each command; all throw, none exits.
#pragma once

#include "app/cli/options.h"

namespace maskctl::app {

void info(const InfoOptions& options, const GlobalOptions& globals);
void show(const ShowOptions& options, const GlobalOptions& globals);
void apply(const ApplyOptions& options, const GlobalOptions& globals);
void gen(const GenOptions& options, const GlobalOptions& globals);
void stats(const StatsOptions& options, const GlobalOptions& globals);
void combine(const CombineOptions& options, const GlobalOptions& globals);
void ops(const OpsOptions& options);

}  // namespace maskctl::app
