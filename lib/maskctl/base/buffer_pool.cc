#include "maskctl/base/buffer_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <mutex>
#include <new>

#include "maskctl/base/huge_pages.h"

namespace maskctl {
namespace {

constexpr std::align_val_t kSmall{64}, kLarge{kHugePage};

struct Spare {
  void* data;
  std::size_t bytes;
};

/// Large buffers that were returned, newest last.
class BufferPool {
 public:
  void* take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(spares_.rbegin(), spares_.rend(),
                                    [bytes](const Spare& spare) { return spare.bytes == bytes; });
    if (found == spares_.rend()) return nullptr;
    void* data = found->data;
    held_ -= bytes;
    spares_.erase(std::next(found).base());
    return data;
  }
  /// Adds a buffer, dropping the oldest ones to make room.
  void keep(Spare spare) {
    const std::lock_guard lock(mutex_);
    if (spare.bytes > most_) return ::operator delete(spare.data, kLarge);
    shrink(most_ - spare.bytes);
    try {
      spares_.push_back(spare);
    } catch (const std::bad_alloc&) {  // giving memory back must not fail when memory is short
      return ::operator delete(spare.data, kLarge);
    }
    held_ += spare.bytes;
  }
  void limit(std::size_t most) {
    const std::lock_guard lock(mutex_);
    most_ = most;
    shrink(most);
  }
  bool keeps(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    return bytes <= most_;
  }

 private:
  void shrink(std::size_t most) {
    while (held_ > most) {
      held_ -= spares_.front().bytes;
      ::operator delete(spares_.front().data, kLarge);
      spares_.pop_front();
    }
  }

  std::mutex mutex_;
  std::deque<Spare> spares_;
  std::size_t held_ = 0, most_ = kDefaultPoolLimit;
};

/// Never destroyed: users in static storage may outlive it.
BufferPool& pool() {
  static BufferPool* const instance = new BufferPool;
  return *instance;
}

bool is_large(std::size_t bytes) { return bytes >= kHugePage / 2; }

std::size_t rounded(std::size_t bytes) {
  const std::size_t unit = is_large(bytes) ? kHugePage : 64;
  if (bytes > SIZE_MAX - unit) throw std::bad_alloc();
  return std::max((bytes + unit - 1) / unit * unit, unit);
}

}  // namespace

void* take_buffer(std::size_t bytes) {
  const std::size_t size = rounded(bytes);
  if (!is_large(bytes)) return ::operator new(size, kSmall);
  if (void* spare = pool().take(size)) return spare;
  void* data = ::operator new(size, kLarge);
  // Memory that the allocator has lent before lies on small pages; once dropped, it returns on huge
  // ones. This is not done when the allocator itself is to keep memory: the kernel would clear the
  // pages each time.
  if (pool().keeps(size)) madvise(data, size, MADV_DONTNEED);
  madvise(data, size, MADV_HUGEPAGE);  // only advice: if refused, small pages work too
  return data;
}

void return_buffer(void* data, std::size_t bytes) noexcept {
  if (is_large(bytes)) {
    pool().keep({data, rounded(bytes)});
  } else {
    ::operator delete(data, kSmall);
  }
}

void set_pool_limit(std::size_t bytes) { pool().limit(bytes); }

}  // namespace maskctl
