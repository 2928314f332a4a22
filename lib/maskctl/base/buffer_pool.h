// A pool of large uninitialised buffers, reused instead of returned to the system.
#pragma once

#include <cstddef>
#include <memory>

namespace maskctl {

/// Bytes that are kept by default.
inline constexpr std::size_t kDefaultPoolLimit = std::size_t{64} << 20;

/// Uninitialised bytes, aligned to a cache line. Blocks of 1 MiB or more are aligned for huge
/// pages, and when they are given back the newest are kept, up to kDefaultPoolLimit bytes in all,
/// for the next request of the same size: clearing fresh pages costs the kernel as much time as
/// combining two masks. Throws std::bad_alloc.
void* take_buffer(std::size_t bytes);
/// `bytes` must be the size that was taken.
void return_buffer(void* data, std::size_t bytes) noexcept;

/// Sets how many bytes are kept from now on. With 0 all memory goes back to the allocator, for
/// programs that tell the allocator to keep it.
void set_pool_limit(std::size_t bytes);

/// A buffer from take_buffer, returned at the end of its scope.
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
