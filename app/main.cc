// The program: sets up signals and memory, then runs the command line.
#include <malloc.h>
#include <unistd.h>

#include <csignal>

#include "app/cli/cli.h"
#include "maskctl/base/atomic_file.h"
#include "maskctl/base/buffer_pool.h"

namespace {

/// Removes half-written files, then ends the way the shell expects for the signal.
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
    if (old.sa_handler != SIG_IGN) sigaction(number, &ending, nullptr);  // keep the effect of nohup
  }
  struct sigaction closed_pipe {};
  closed_pipe.sa_handler = SIG_DFL;  // die quietly, even if the parent ignores the signal
  sigaction(SIGPIPE, &closed_pipe, nullptr);
}

/// Keeps freed memory in the process: arrays of all kinds and sizes come and go, and each new page
/// costs a page fault.
void keep_freed_memory() {
  maskctl::process_pool().limit(0);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the allowed maximum; larger arrays are given back
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

}  // namespace

int main(int argc, char** argv) {
  install_signals();
  keep_freed_memory();
  return maskctl::app::run(argc, argv);
}
