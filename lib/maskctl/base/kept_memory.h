// Large uninitialised storage that outlives its users.
#pragma once

#include <cstddef>
#include <memory>

namespace maskctl {

/// The most that is kept unless it is set.
inline constexpr std::size_t kUsualKeptMemory = std::size_t{64} << 20;

/// Bytes, aligned to a cache line, whose contents are undefined until written. From 1 MiB on they
/// are aligned for huge pages, and the newest 64 MiB (kUsualKeptMemory) that were given back are
/// kept for the next of the same size: the kernel clearing fresh pages costs as much as combining
/// two masks. Throws std::bad_alloc.
void* take_memory(std::size_t bytes);
/// `bytes` as taken.
void give_back_memory(void* data, std::size_t bytes) noexcept;

/// The most that is kept from now on; 0 hands everything to the allocator, for who has told that to
/// keep it.
void set_kept_memory(std::size_t bytes);

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
