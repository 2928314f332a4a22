// Huge pages for large storage: with pages of 4 KiB, every page costs a fault when first written.
#pragma once

#include <cstddef>
#include <vector>

namespace maskctl {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Advises the kernel to use huge pages for [data, data + bytes) if the range is large. Call it
/// before the first write: with small pages, page faults take most of the time of filling a large
/// array.
void ask_for_huge_pages(void* data, std::size_t bytes);

/// Reserves room for `size` elements of an empty vector, with huge pages if that is large.
template <typename T>
void reserve_huge(std::vector<T>& vector, std::size_t size) {
  vector.reserve(size);
  ask_for_huge_pages(vector.data(), size * sizeof(T));
}

/// A vector of `size` elements, all of one value.
template <typename T>
std::vector<T> filled_vector(std::size_t size, const T& value) {
  std::vector<T> out;
  reserve_huge(out, size);
  out.assign(size, value);
  return out;
}

}  // namespace maskctl
