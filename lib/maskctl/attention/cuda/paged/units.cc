#include "maskctl/attention/cuda/paged/units.h"

#include <cstdint>

namespace maskctl::attention::cuda {

bool is_aligned(const PagedCache& cache) {
  const Index bytes = size_bytes(cache.dtype);
  const auto address = [](const std::byte* p) {
    return static_cast<Index>(reinterpret_cast<std::uintptr_t>(p) % kUnitBytes);
  };
  const Index all = address(cache.keys) | address(cache.values) |
                    (cache.dim | cache.page_stride | cache.slot_stride | cache.head_stride) * bytes;
  return all % kUnitBytes == 0;
}

}  // namespace maskctl::attention::cuda
