// The program: signals, memory, then the command line.
#include <malloc.h>
#include <unistd.h>

#include <csignal>

#include "app/cli/cli.h"
#include "maskctl/base/atomic_file.h"
#include "maskctl/base/kept_memory.h"

namespace {

/// Leaves nothing half-written behind, then ends as the shell expects of the signal.
extern "C" void on_signal(int number) {
  maskctl::remove_temporary_files();
  _exit(128 + number);
}

void install_signals() {
  struct sigaction ending {};
  ending.sa_handler = on_signal;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old {};
    sigaction(number, nullptr, &old);
    if (old.sa_handler != SIG_IGN) sigaction(number, &ending, nullptr);  // nohup stays nohup
  }
  struct sigaction closed_pipe {};
  closed_pipe.sa_handler = SIG_DFL;  // die quietly, also under a parent that ignores it
  sigaction(SIGPIPE, &closed_pipe, nullptr);
}

/// Freed memory stays with the process, for arrays of any kind and size: they come and go, and each
/// new page costs a fault.
void keep_freed_memory() {
  maskctl::process_pool().limit(0);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that is allowed; larger arrays are given back
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

}  // namespace

int main(int argc, char** argv) {
  install_signals();
  keep_freed_memory();
  return maskctl::app::run(argc, argv);
}
