// Large storage without a page fault for every 4 KiB.
#pragma once

#include <cstddef>
#include <vector>

namespace maskctl {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Asks for huge pages where [data, data + bytes) is large and not yet written: the kernel hands
/// out small pages one fault at a time, which takes most of the time of filling a large array.
/// Advice only.
void ask_for_huge_pages(void* data, std::size_t bytes);

/// Reserves room for `size` elements of an empty vector, in huge pages where that is much.
template <typename T>
void reserve_huge(std::vector<T>& vector, std::size_t size) {
  vector.reserve(size);
  ask_for_huge_pages(vector.data(), size * sizeof(T));
}

/// `size` elements of one value.
template <typename T>
std::vector<T> filled_vector(std::size_t size, const T& value) {
  std::vector<T> out;
  reserve_huge(out, size);
  out.assign(size, value);
  return out;
}

}  // namespace maskctl
