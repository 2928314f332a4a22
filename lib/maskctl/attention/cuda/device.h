// The GPU: whether one can be used, its memory, and its streams.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "maskctl/base/index.h"

struct CUstream_st;  // cudaStream_t is CUstream_st*

namespace maskctl::attention::cuda {

using Stream = CUstream_st*;

/// Why no kernel can run on this machine: no driver, no GPU, or a GPU that is too old; empty when
/// kernels can run. The first call takes as long as starting the driver.
std::string unavailable();

/// Throws Error(kDevice), such as "cudaMemcpyAsync failed: ...", unless `error`, a number of CUDA's
/// runtime, means success.
void check(int error, const char* call);

/// Lets each GPU keep some of the memory that was freed, so that later allocations take no time.
/// Otherwise allocations would take most of the time of making a plan.
void keep_freed_memory();

/// Memory of the GPU, allocated and freed in stream order.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  /// Throws Error(kLimit), which says how much memory was needed, when too little is free.
  DeviceBuffer(std::size_t bytes, Stream stream);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void swap(DeviceBuffer& other) {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(stream_, other.stream_);
  }

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  Stream stream_ = nullptr;
};

/// A non-blocking stream. Its destructor does not wait for the stream's work.
class OwnStream {
 public:
  OwnStream();
  ~OwnStream();
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  Stream get() const { return stream_; }
  /// Waits for all work of the stream. Throws Error(kDevice) if some of it failed.
  void synchronize() const;

 private:
  Stream stream_ = nullptr;
};

/// The stream that a call runs in, and the call's temporary memory. Calls in one stream can share a
/// workspace, one after the other: the first call makes it grow, later ones allocate nothing.
class Workspace {
 public:
  explicit Workspace(Stream stream) : stream_(stream) {}
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  Stream stream() const { return stream_; }
  /// n counters on the GPU, which are zero when a kernel starts. A kernel that changes counters
  /// must reset them to zero before it ends.
  int* counters(Index n = 1);
  /// Uninitialised memory for n elements, aligned to 256 bytes, until the enclosing Scope ends.
  template <class T>
  T* take(Index n) {
    static_assert(std::is_trivially_copyable_v<T>);
    return reinterpret_cast<T*>(take_bytes(as_size(n) * sizeof(T)));
  }

  /// Releases, in its destructor, the memory that take() has returned since its constructor. It
  /// does not wait: kernels that still use this memory run earlier in the stream than kernels that
  /// reuse it.
  class Scope {
   public:
    explicit Scope(Workspace& workspace)
        : workspace_(workspace), chunk_(workspace.chunk_), used_(workspace.used_) {}
    ~Scope() { workspace_.chunk_ = chunk_, workspace_.used_ = used_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Workspace& workspace_;
    std::size_t chunk_, used_;
  };

 private:
  std::byte* take_bytes(std::size_t bytes);

  Stream stream_;
  DeviceBuffer counters_;
  std::vector<DeviceBuffer> chunks_;
  /// The chunk from which take() allocates next, and how many of its bytes are in use.
  std::size_t chunk_ = 0, used_ = 0;
};

/// Waits for all work of the stream. Throws Error(kDevice) if some of it failed.
void synchronize(Stream stream);

/// Copies between the host and the GPU, in stream order. Host memory must stay valid until the copy
/// is done.
void copy_to_device(void* to, std::span<const std::byte> from, Stream stream);
void copy_to_host(std::span<std::byte> to, const void* from, Stream stream);
void fill_bytes(void* memory, int value, std::size_t bytes, Stream stream);

/// A copy of a host array in GPU memory, for kernels to read. The destructor frees it.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(std::span<const T> elements, Stream stream) : buffer_(elements.size_bytes(), stream) {
    static_assert(std::is_trivially_copyable_v<T>);
    copy_to_device(buffer_.data(), std::as_bytes(elements), stream);
  }
  DeviceArray(const std::vector<T>& elements, Stream stream)
      : DeviceArray(std::span(elements), stream) {}
  const T* data() const { return reinterpret_cast<const T*>(buffer_.data()); }
  std::size_t bytes() const { return buffer_.bytes(); }

 private:
  DeviceBuffer buffer_;
};

}  // namespace maskctl::attention::cuda
