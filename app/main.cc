// The entry point: sets up signals and memory, then runs the command line.
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>

#include "app/cli/cli.h"
#include "app/cli/launcher.h"
#include "maskctl/base/buffer_pool.h"
#include "maskctl/base/huge_pages.h"

namespace {

/// Restores the default action of SIGPIPE, so that the program ends silently when its output is
/// closed, even if the parent process ignores that signal.
void restore_closed_pipe_signal() {
  struct sigaction closed_pipe {};
  closed_pipe.sa_handler = SIG_DFL;
  sigaction(SIGPIPE, &closed_pipe, nullptr);
}

/// Makes a write beyond the limit for files (ulimit -f) fail, instead of ending the program with a
/// temporary file left behind.
void ignore_file_size_signal() { std::signal(SIGXFSZ, SIG_IGN); }

/// Keeps freed memory in the process instead of returning it to the system, because fresh memory
/// costs page faults when it is touched.
void keep_freed_memory() {
  maskctl::process_pool().limit(0);
  // 32 MiB is the largest allowed value; larger arrays are returned to the system when freed.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

/// Grows the heap by 64 MiB on huge pages, so that there is a page fault per 2 MiB instead of per 4
/// KiB.
void grow_heap_on_huge_pages() {
  mallopt(M_TOP_PAD, 64 << 20);
  auto* const end = static_cast<std::byte*>(sbrk(0));
  // Volatile, so that the compiler does not remove malloc and free.
  void* volatile grows = std::malloc(1 << 20);
  std::free(grows);
  const auto* const grown = static_cast<const std::byte*>(sbrk(0));
  maskctl::ask_for_huge_pages(end, static_cast<std::size_t>(grown - end));
}

}  // namespace

int main(int argc, char** argv) {
  maskctl::app::supervise_rank();
  restore_closed_pipe_signal();
  ignore_file_size_signal();
  keep_freed_memory();
  grow_heap_on_huge_pages();
  return maskctl::app::run(argc, argv);
}
