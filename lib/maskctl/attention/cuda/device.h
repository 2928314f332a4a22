// The GPU: whether there is one, its memory, and streams of work for it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "maskctl/base/index.h"

struct CUstream_st;  // cudaStream_t is a pointer to one

namespace maskctl::attention::cuda {

using Stream = CUstream_st*;

/// Why no kernel can run on this machine: no driver or no GPU, or one that is too old; empty when
/// kernels can run. The first call takes as long as starting the driver.
std::string unavailable();

/// Throws Error(kDevice), "cudaMemcpyAsync failed: ...", for an error number of CUDA's runtime.
void check(int error, const char* call);

/// Memory of the GPU, allocated and freed in the order of a stream.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  /// Throws Error(kLimit), which says how much was needed, when there is not enough.
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

/// A non-blocking stream that ends with the object, without waiting for its work.
class OwnStream {
 public:
  OwnStream();
  ~OwnStream();
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  Stream get() const { return stream_; }
  /// Waits for all work. Throws Error(kDevice) when some of it failed.
  void synchronize() const;

 private:
  Stream stream_ = nullptr;
};

/// The stream that a call runs in, and the memory that it needs meanwhile. Calls in one stream can
/// share a workspace, one after the other: it grows with the first call and allocates nothing for
/// those that follow.
class Workspace {
 public:
  explicit Workspace(Stream stream) : stream_(stream) {}
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  Stream stream() const { return stream_; }
  /// A number on the GPU that is zero between kernels: a kernel that counts with it resets it.
  int* counter();
  /// Room for n elements, aligned to 256 bytes, until the enclosing scope ends. Not written.
  template <class T>
  T* take(Index n) {
    static_assert(std::is_trivially_copyable_v<T>);
    return reinterpret_cast<T*>(take_bytes(as_size(n) * sizeof(T)));
  }

  /// Gives back, when it ends, what was taken since it began; kernels that still use that memory
  /// come earlier in the stream than those that use it next.
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
  DeviceBuffer counter_;
  std::vector<DeviceBuffer> chunks_;
  std::size_t chunk_ = 0, used_ = 0;  // the chunk in use, and its bytes in use
};

/// Copies between the host and the GPU, in the order of the stream. Host memory must live until the
/// stream has reached the copy.
void copy_to_device(void* to, std::span<const std::byte> from, Stream stream);
void copy_to_host(std::span<std::byte> to, const void* from, Stream stream);
void fill_bytes(void* memory, int value, std::size_t bytes, Stream stream);

/// Elements that a kernel reads, on the GPU as long as the object lives.
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
