// Huge pages, so that large storage does not fault once for every 4 KiB.
#pragma once

#include <cstddef>
#include <vector>

namespace maskctl {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Advises the kernel to use huge pages for [data, data + bytes), if that is large and not yet
/// written: with small pages, most of the time it takes to fill a large array goes into page
/// faults.
void ask_for_huge_pages(void* data, std::size_t bytes);

/// Reserves room for `size` elements of an empty vector, in huge pages if that is large.
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
