#include "app/cli/launcher.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "app/cli/environment.h"
#include "app/cli/streams.h"

namespace maskctl::app {
namespace {

/// The environment variables in which OpenMPI and MPICH give the rank, the number of ranks, and the
/// number of ranks on this host.
struct Names {
  const char *rank, *size, *on_host;
};
constexpr Names kNames[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"}};

pid_t supervisor = 0, supervised = 0;  // the process that waits, and its child that works

/// The signals with which a launcher ends all ranks. It sends them to the supervisor.
constexpr int kStops[] = {SIGTERM, SIGINT, SIGHUP};
volatile std::sig_atomic_t launcher_stops = 0;

void pass_on(int number) {
  launcher_stops = 1;
  kill(supervised, number);
}

/// The signal that ended a process, or 0. A process that handles one of kStops exits with status
/// 128 + number (stop_signals.h).
int signal_of(int status) {
  if (WIFSIGNALED(status)) return WTERMSIG(status);
  const auto* const stop = std::ranges::find(kStops, WEXITSTATUS(status) - 128);
  return stop == std::end(kStops) ? 0 : *stop;
}

[[noreturn]] void end_like(int status, const LaunchedRank& own) {
  const int number = signal_of(status);
  if (number == 0) _exit(WEXITSTATUS(status));
  if (launcher_stops != 0) _exit(128 + number);
  print_error(fmt::format("rank {} of {} was ended by signal {} ({})", own.rank, own.size, number,
                          strsignal(number)));
  _exit(2);
}

}  // namespace

std::optional<LaunchedRank> launched_rank() {
  for (const Names& names : kNames) {
    const std::string_view rank = environment(names.rank), size = environment(names.size);
    if (rank.empty() || size.empty()) continue;
    return {{std::atoi(rank.data()), std::atoi(size.data()),
             std::max(std::atoi(environment(names.on_host)), 1)}};
  }
  return std::nullopt;
}

int threads_of(const LaunchedRank& rank) {
  cpu_set_t allowed;
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  const int share = std::max(cores / rank.on_host, 1);
  return sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? std::min(share, CPU_COUNT(&allowed))
                                                              : share;
}

void supervise_rank() {
  const std::optional<LaunchedRank> own = launched_rank();
  if (!own) return;
  supervisor = getpid();
  supervised = fork();
  if (supervised < 0) return;  // fork() failed: continue without a supervisor
  if (supervised == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != supervisor) _exit(2);
    return;
  }
  for (const int number : kStops) std::signal(number, pass_on);
  int status = 0;
  while (waitpid(supervised, &status, 0) < 0 && errno == EINTR) {
  }
  end_like(status, *own);
}

void report_lost_supervisor() {
  const std::optional<LaunchedRank> own = launched_rank();
  if (!own || getppid() == supervisor) return;
  print_error(
      fmt::format("rank {} of {}: the process that waits for it was killed", own->rank, own->size));
}

}  // namespace maskctl::app
