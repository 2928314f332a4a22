// Processes that mpirun has started, each a rank.
#pragma once

#include <optional>

namespace maskctl::app {

struct LaunchedRank {
  int rank = 0, size = 1;
  int on_host = 1;  // how many of them share this machine
};
/// Which rank the launcher says this process is; nothing when none has started it.
std::optional<LaunchedRank> launched_rank();

/// How many threads a rank has unless somebody says it: its share of the cores, and no more than it
/// may run on.
int threads_of(const LaunchedRank& rank);

/// In a rank the work goes on in a child, which this process waits for: it then ends with the
/// child's status, or says in one line that the rank was killed and ends with 2. A launcher would
/// give the number of the signal instead. The child ends with this process. Does nothing in a
/// process that no launcher has started. Call it before any thread begins.
void supervise_rank();
/// In such a child, says in one line that the process waiting for it was killed, if it was: the
/// launcher then ends all ranks without a reason.
void report_lost_supervisor();

}  // namespace maskctl::app
