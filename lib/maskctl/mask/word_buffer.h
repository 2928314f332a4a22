// Uninitialised storage for large bit matrices.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

#include "maskctl/base/index.h"

namespace maskctl {

/// Words whose contents are undefined until written. From 1 MiB on the storage is aligned for huge
/// pages: filling a fresh one then costs one page fault per 2 MiB instead of one per 4 KiB.
class WordBuffer {
 public:
  explicit WordBuffer(Index words) : size_(static_cast<std::size_t>(words)) {
    const std::size_t bytes = size_ * sizeof(std::uint64_t);
    const std::size_t alignment = bytes >= kHugePage / 2 ? kHugePage : 64;
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    data_.reset(
        static_cast<std::uint64_t*>(std::aligned_alloc(alignment, std::max(rounded, alignment))));
    if (!data_) throw std::bad_alloc();
    // Advice only: where it is refused the buffer works with small pages.
    if (alignment == kHugePage) madvise(data_.get(), rounded, MADV_HUGEPAGE);
  }
  std::span<std::uint64_t> words() { return {data_.get(), size_}; }
  std::span<const std::uint64_t> words() const { return {data_.get(), size_}; }

 private:
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;
  struct Free {
    void operator()(std::uint64_t* p) const { std::free(p); }
  };
  std::size_t size_;
  std::unique_ptr<std::uint64_t[], Free> data_;
};

}  // namespace maskctl
