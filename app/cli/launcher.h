// Detects processes that mpirun has started, and supervises them.
#pragma once

#include <optional>

namespace maskctl::app {

struct LaunchedRank {
  int rank = 0, size = 1;
  int on_host = 1;  // number of ranks on this machine
};
/// The rank of this process according to the launcher; nothing if no launcher has started it.
std::optional<LaunchedRank> launched_rank();

/// The default number of threads of a rank: the cores of this host divided by its ranks here, but
/// not more than the cores that this process is allowed to use.
int threads_of(const LaunchedRank& rank);

/// In a process started by a launcher, forks: the child continues with the work, and this process
/// waits for it and exits with its status. If the child is killed, this process prints a line that
/// says so and exits with 2; otherwise the launcher would only report a signal number. The child
/// ends when this process does. Does nothing without a launcher. Call it before any thread starts.
void supervise_rank();
/// In the child: if the waiting process was killed, prints a line that says so, because the
/// launcher will end all ranks without a reason.
void report_lost_supervisor();

}  // namespace maskctl::app
