// The table that `bench` prints.
#pragma once

#include <span>
#include <string>

#include "app/reports/attention_json.h"

namespace maskctl::app {

/// The lines as a table of characters, or of Markdown.
std::string bench_text(const MachineReport& machine, std::span<const BenchLine> lines,
                       bool markdown);

}  // namespace maskctl::app
