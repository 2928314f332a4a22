#include "app/cli/launcher.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "app/cli/environment.h"
#include "app/cli/streams.h"

namespace maskctl::app {
namespace {

/// How launchers of OpenMPI and MPICH name a rank and the number of ranks.
struct Names {
  const char *rank, *size;
};
constexpr Names kNames[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                            {"PMI_RANK", "PMI_SIZE"}};

/// Signals by which a launcher ends all ranks; who sent them knows why.
bool ends_job(int number) { return number == SIGTERM || number == SIGINT || number == SIGHUP; }

[[noreturn]] void end_like(int status, const LaunchedRank& own) {
  if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  if (ends_job(number)) _exit(128 + number);
  print_error(fmt::format("rank {} of {} was ended by signal {} ({})", own.rank, own.size, number,
                          strsignal(number)));
  _exit(2);
}

}  // namespace

std::optional<LaunchedRank> launched_rank() {
  for (const Names& names : kNames) {
    const std::string_view rank = environment(names.rank), size = environment(names.size);
    if (!rank.empty() && !size.empty()) return {{std::atoi(rank.data()), std::atoi(size.data())}};
  }
  return std::nullopt;
}

void supervise_rank() {
  const std::optional<LaunchedRank> own = launched_rank();
  if (!own) return;
  const pid_t parent = getpid(), child = fork();
  if (child < 0) return;  // without one
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(2);
    return;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  end_like(status, *own);
}

}  // namespace maskctl::app
