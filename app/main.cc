// The program: sets up signals and memory, then runs the command line.
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

/// Gives the heap 64 MiB at once, on huge pages: a page fault for 2 MiB instead of one for 4 KiB.
void grow_heap_on_huge_pages() {
  mallopt(M_TOP_PAD, 64 << 20);
  auto* const end = static_cast<std::byte*>(sbrk(0));
  void* volatile grows = std::malloc(1 << 20);  // volatile, or the pair of calls may be left out
  std::free(grows);
  const auto* const grown = static_cast<const std::byte*>(sbrk(0));
  maskctl::ask_for_huge_pages(end, static_cast<std::size_t>(grown - end));
}

}  // namespace

int main(int argc, char** argv) {
  maskctl::app::supervise_rank();
  restore_closed_pipe_signal();
  keep_freed_memory();
  grow_heap_on_huge_pages();
  return maskctl::app::run(argc, argv);
}
