// Large uninitialised storage that outlives its users.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>

namespace maskctl {

/// The most that a pool keeps unless it is told otherwise.
inline constexpr std::size_t kUsualKeptMemory = std::size_t{64} << 20;

/// Large buffers that were given back, kept for the next of the same size, newest first to be
/// used: the kernel clearing fresh pages costs as much as combining two masks. May be shared by
/// threads. A buffer may go back to another pool than it came from, and outlive its own.
class MemoryPool {
 public:
  /// Keeps up to `most` bytes; 0 keeps nothing and leaves reuse to the allocator.
  explicit MemoryPool(std::size_t most = kUsualKeptMemory) : most_(most) {}
  ~MemoryPool() { limit(0); }
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// Bytes, aligned to a cache line, from 1 MiB on for huge pages; their contents are undefined
  /// until written. Throws std::bad_alloc.
  void* take(std::size_t bytes);
  /// `bytes` as taken.
  void give_back(void* data, std::size_t bytes) noexcept;
  /// The most that is kept from now on.
  void limit(std::size_t most);
  /// Bytes that are kept now.
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
MemoryPool& process_pool();

// take() and give_back() of the pool in use here.
void* take_memory(std::size_t bytes);
void give_back_memory(void* data, std::size_t bytes) noexcept;

/// Memory as taken, given back at the end of its scope.
class KeptMemory {
 public:
  explicit KeptMemory(std::size_t bytes) : data_(take_memory(bytes), {bytes}) {}

  template <typename T>
  T* as() const {
    return static_cast<T*>(data_.get());
  }

 private:
  struct GiveBack {
    std::size_t bytes = 0;
    void operator()(void* data) const { give_back_memory(data, bytes); }
  };
  std::unique_ptr<void, GiveBack> data_;
};

}  // namespace maskctl
