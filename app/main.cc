// The program: sets up signals and memory, then runs the command line.
#include <malloc.h>

#include <csignal>

#include "app/cli/cli.h"
#include "app/cli/launcher.h"
#include "maskctl/base/buffer_pool.h"

namespace {

/// The program dies quietly when its output is closed, even if the parent process ignores that.
void restore_closed_pipe_signal() {
  struct sigaction closed_pipe {};
  closed_pipe.sa_handler = SIG_DFL;
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
  maskctl::app::supervise_rank();
  restore_closed_pipe_signal();
  keep_freed_memory();
  return maskctl::app::run(argc, argv);
}
