#include "maskctl/base/buffer_pool.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "maskctl/base/huge_pages.h"
#include "maskctl/base/work_scope.h"

namespace maskctl {
namespace {

constexpr std::size_t kLine = 64;  // bytes of a cache line
constexpr std::align_val_t kLarge{kHugePage};

bool is_large(std::size_t bytes) { return bytes >= kHugePage / 2; }

std::size_t rounded(std::size_t bytes) {
  const std::size_t unit = is_large(bytes) ? kHugePage : kLine;
  if (bytes > SIZE_MAX - unit) throw std::bad_alloc();
  return std::max((bytes + unit - 1) / unit * unit, unit);
}

/// Allocates a little more than asked, returns the first cache line inside, and stores the address
/// of the allocation in front of it: glibc takes several times as long for an aligned allocation.
void* take_small(std::size_t bytes) {
  static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= sizeof(void*));
  void* const all = ::operator new(rounded(bytes) + kLine);
  auto* const data =
      static_cast<std::byte*>(all) + kLine - std::bit_cast<std::uintptr_t>(all) % kLine;
  reinterpret_cast<void**>(data)[-1] = all;
  return data;
}

void return_small(void* data) noexcept { ::operator delete(static_cast<void**>(data)[-1]); }

BufferPool& pool_in_use() {
  BufferPool* const of_scope = WorkScope::pool();
  return of_scope ? *of_scope : process_pool();
}

}  // namespace

void* BufferPool::reuse(std::size_t bytes) {
  const auto found = std::find_if(spares_.rbegin(), spares_.rend(),
                                  [bytes](const Spare& spare) { return spare.bytes == bytes; });
  if (found == spares_.rend()) return nullptr;
  void* data = found->data;
  held_ -= bytes;
  spares_.erase(std::next(found).base());
  return data;
}

void* BufferPool::take(std::size_t bytes) {
  if (!is_large(bytes)) return take_small(bytes);
  const std::size_t size = rounded(bytes);
  bool keeps = false;
  {
    const std::lock_guard lock(mutex_);
    if (void* spare = reuse(size)) return spare;
    keeps = size <= most_;
  }
  void* data = ::operator new(size, kLarge);
  // Memory that the allocator reuses may still have small pages: MADV_DONTNEED drops them, so that
  // the next touch maps huge pages. Not for sizes that this pool does not keep: each reuse of such
  // memory would make the kernel clear all pages again.
  if (keeps) madvise(data, size, MADV_DONTNEED);
  madvise(data, size, MADV_HUGEPAGE);  // only advice: if refused, small pages work too
  return data;
}

void BufferPool::give_back(void* data, std::size_t bytes) noexcept {
  if (!is_large(bytes)) return return_small(data);
  const std::size_t size = rounded(bytes);
  const std::lock_guard lock(mutex_);
  if (size > most_) return ::operator delete(data, kLarge);
  shrink(most_ - size);  // frees the oldest spare buffers
  try {
    spares_.push_back({data, size});
  } catch (const std::bad_alloc&) {  // no memory for the list of spare buffers
    return ::operator delete(data, kLarge);
  }
  held_ += size;
}

void BufferPool::limit(std::size_t most) {
  const std::lock_guard lock(mutex_);
  most_ = most;
  shrink(most);
}

std::size_t BufferPool::kept() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

void BufferPool::shrink(std::size_t most) {
  while (held_ > most) {
    held_ -= spares_.front().bytes;
    ::operator delete(spares_.front().data, kLarge);
    spares_.pop_front();
  }
}

/// The pool is never destroyed: objects of static storage duration may use it until the process
/// ends.
BufferPool& process_pool() {
  // A forked child gets a new pool: the lock of the old one may be held by a thread that does not
  // exist in the child.
  static BufferPool* instance = [] {
    pthread_atfork(nullptr, nullptr, [] { instance = new BufferPool; });
    return new BufferPool;
  }();
  return *instance;
}

void* take_buffer(std::size_t bytes) {
  return is_large(bytes) ? pool_in_use().take(bytes) : take_small(bytes);
}

void return_buffer(void* data, std::size_t bytes) noexcept {
  if (!is_large(bytes)) return return_small(data);
  pool_in_use().give_back(data, bytes);
}

}  // namespace maskctl
