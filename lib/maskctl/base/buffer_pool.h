// A pool of large uninitialised buffers, reused instead of returned to the system.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <new>

namespace maskctl {

/// The most bytes that a pool keeps unless limit() or the constructor says otherwise.
inline constexpr std::size_t kDefaultPoolLimit = std::size_t{64} << 20;

/// Keeps large buffers that were given back, for the next request of the same size (the newest
/// first): having the kernel clear fresh pages costs as much as combining two masks. Thread-safe. A
/// buffer may be given back to another pool than it was taken from, and may outlive its pool.
class BufferPool {
 public:
  /// Keeps up to `most` bytes; 0 keeps nothing and leaves reuse to the allocator.
  explicit BufferPool(std::size_t most = kDefaultPoolLimit) : most_(most) {}
  ~BufferPool() { limit(0); }
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  /// Allocates uninitialised memory, aligned to a cache line; from 1 MiB on it is aligned for huge
  /// pages. Throws std::bad_alloc.
  void* take(std::size_t bytes);
  /// Frees a buffer or keeps it for reuse. `bytes` is the size that was passed to take().
  void give_back(void* data, std::size_t bytes) noexcept;
  /// Sets the most bytes to keep from now on. Frees the oldest buffers if more are kept now.
  void limit(std::size_t most);
  /// The bytes of the buffers kept for reuse now.
  std::size_t kept() const;

 private:
  struct Spare {
    void* data;
    std::size_t bytes;
  };
  void* reuse(std::size_t bytes);
  void shrink(std::size_t most);

  mutable std::mutex mutex_;
  std::deque<Spare> spares_;  // newest last
  std::size_t held_ = 0, most_;
};

/// The pool of the process, for work whose WorkScope names none.
BufferPool& process_pool();

// take() and give_back() of the pool of the innermost WorkScope, else of process_pool().
void* take_buffer(std::size_t bytes);
void return_buffer(void* data, std::size_t bytes) noexcept;

/// An allocator for std::vector: take_buffer() and return_buffer(), aligned to a cache line.
template <typename T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <typename U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(take_buffer(n * sizeof(T))); }
  void deallocate(T* p, std::size_t n) { return_buffer(p, n * sizeof(T)); }
  friend bool operator==(const AlignedAllocator&, const AlignedAllocator&) { return true; }
};

/// An AlignedAllocator that leaves elements without an initial value uninitialised.
template <typename T>
struct UnwrittenAllocator : AlignedAllocator<T> {
  UnwrittenAllocator() = default;
  template <typename U>
  UnwrittenAllocator(const UnwrittenAllocator<U>&) {}
  template <typename U>
  void construct(U* p) {
    ::new (p) U;
  }
};

/// Memory from take_buffer() that is returned when the object is destroyed.
class PooledBuffer {
 public:
  explicit PooledBuffer(std::size_t bytes) : data_(take_buffer(bytes), {bytes}) {}

  template <typename T>
  T* as() const {
    return static_cast<T*>(data_.get());
  }

 private:
  struct Return {
    std::size_t bytes = 0;
    void operator()(void* data) const { return_buffer(data, bytes); }
  };
  std::unique_ptr<void, Return> data_;
};

}  // namespace maskctl
