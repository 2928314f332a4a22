// Runs code in a child process that has too little memory to start many threads.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <fstream>

namespace maskctl::test {

/// Runs f in a child process that may map 24 MiB more than it has now, enough for a few thread
/// stacks of 8 MiB. True when f returns true within 20 seconds; false after a hang, a crash or an
/// exception.
template <typename F>
bool holds_where_threads_fail(const F& f) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t bytes = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (24U << 20U);
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_AS, &limit);
    try {
      _exit(f() ? 0 : 1);
    } catch (...) {
      _exit(2);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace maskctl::test
