#include "maskctl/base/huge_pages.h"

#include <sys/mman.h>

#include <memory>

namespace maskctl {

void ask_for_huge_pages(void* data, std::size_t bytes) {
  if (bytes < 2 * kHugePage || !std::align(kHugePage, kHugePage, data, bytes)) return;
  madvise(data, bytes, MADV_HUGEPAGE);
}

}  // namespace maskctl
