#include "maskctl/attention/cpu/key_rows.h"

#include <algorithm>

namespace maskctl::attention {

void KeyRows::place(const RowArray& array, std::span<const Index> offsets) {
  array_ = array, count_ = static_cast<Index>(offsets.size());
  fours_.clear();
  const Index size = size_bytes(array.dtype), block = std::max<Index>(array.together / 4 * 4, 4);
  const auto* const data = static_cast<const std::byte*>(array.data);
  for (Index begin = 0; begin < count_; begin += block) {
    const Index end = std::min(begin + block, count_);
    for (Index u = 0; u < array.heads; ++u) {
      const std::byte* const head = data + u * array.head_stride * size;
      const auto row = [&](Index j) {
        return head + offsets[as_size(std::min(j, count_ - 1))] * size;
      };
      for (Index j = begin; j < end; j += 4) {
        fours_.push_back({{row(j), row(j + 1), row(j + 2), row(j + 3)}, j, u});
      }
    }
  }
}

}  // namespace maskctl::attention
