#include "maskctl/attention/cuda/device.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <mutex>

#include "maskctl/base/error.h"

namespace maskctl::attention::cuda {
namespace {

constexpr int kOldestMajor = 8;  // the oldest supported GPUs are sm_80

std::string find_reason() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver) {
    int runtime = 0;
    cudaRuntimeGetVersion(&runtime);
    return fmt::format("no NVIDIA driver was found that knows CUDA {}.{}", runtime / 1000,
                       runtime % 1000 / 10);
  }
  if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
    return "no NVIDIA GPU was found";
  }
  if (error != cudaSuccess) {
    return fmt::format("CUDA does not start: {}", cudaGetErrorString(error));
  }
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return "the GPU does not answer";
  if (properties.major >= kOldestMajor) return "";
  return fmt::format("{} is sm_{}{}; sm_{}0 or newer is needed", properties.name, properties.major,
                     properties.minor, kOldestMajor);
}

std::string mebibytes(std::size_t bytes) { return fmt::format("{} MiB", (bytes >> 20) + 1); }

}  // namespace

std::string unavailable() {
  static const std::string kReason = find_reason();
  return kReason;
}

void check(int error, const char* call) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // clears the error, or the next CUDA call would report it too
  throw Error(Errc::kDevice, fmt::format("{} failed: {}", call,
                                         cudaGetErrorString(static_cast<cudaError_t>(error))));
}

void keep_freed_memory() {
  static std::once_flag once;
  std::call_once(once, [] {
    int count = 0;
    check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    for (int n = 0; n < count; ++n) {
      cudaMemPool_t pool = nullptr;
      check(cudaDeviceGetDefaultMemPool(&pool, n), "cudaDeviceGetDefaultMemPool");
      std::uint64_t bytes = std::uint64_t{256} << 20;
      check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes),
            "cudaMemPoolSetAttribute");
    }
  });
}

DeviceBuffer::DeviceBuffer(std::size_t bytes, Stream stream) : bytes_(bytes), stream_(stream) {
  if (bytes == 0) return;
  keep_freed_memory();
  void* data = nullptr;
  const cudaError_t error = cudaMallocAsync(&data, bytes, stream);
  if (error == cudaErrorMemoryAllocation) {
    std::size_t free = 0, total = 0;
    cudaGetLastError();
    cudaMemGetInfo(&free, &total);
    throw Error(Errc::kLimit,
                fmt::format("{} of GPU memory are needed at once, {} of {} are free; use smaller "
                            "arrays, or the CPU",
                            mebibytes(bytes), mebibytes(free), mebibytes(total)));
  }
  check(error, "cudaMallocAsync");
  data_ = static_cast<std::byte*>(data);
}

DeviceBuffer::~DeviceBuffer() {
  if (data_) cudaFreeAsync(data_, stream_);
}

OwnStream::OwnStream() {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}
OwnStream::~OwnStream() { cudaStreamDestroy(stream_); }
void OwnStream::synchronize() const { cuda::synchronize(stream_); }

int* Workspace::counters(Index n) {
  // the least number of counters, so that later calls seldom allocate again
  constexpr Index kLeast = 1024;
  const std::size_t bytes = as_size(std::max(n, kLeast)) * sizeof(int);
  if (counters_.bytes() < bytes) {
    counters_ = DeviceBuffer(bytes, stream_);
    fill_bytes(counters_.data(), 0, bytes, stream_);
  }
  return reinterpret_cast<int*>(counters_.data());
}
std::byte* Workspace::take_bytes(std::size_t bytes) {
  constexpr std::size_t kAlignment = 256, kLeast = std::size_t{1} << 20;
  bytes = (std::max(bytes, std::size_t{1}) + kAlignment - 1) / kAlignment * kAlignment;
  while (chunk_ < chunks_.size() && used_ + bytes > chunks_[chunk_].bytes()) ++chunk_, used_ = 0;
  if (chunk_ == chunks_.size()) chunks_.emplace_back(std::max(bytes, kLeast), stream_);
  return chunks_[chunk_].data() + std::exchange(used_, used_ + bytes);
}

void synchronize(Stream stream) { check(cudaStreamSynchronize(stream), "cudaStreamSynchronize"); }

void copy_to_device(void* to, std::span<const std::byte> from, Stream stream) {
  if (from.empty()) return;
  check(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, stream),
        "cudaMemcpyAsync to the GPU");
}
void copy_to_host(std::span<std::byte> to, const void* from, Stream stream) {
  if (to.empty()) return;
  check(cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync from the GPU");
}
void fill_bytes(void* memory, int value, std::size_t bytes, Stream stream) {
  if (bytes > 0) check(cudaMemsetAsync(memory, value, bytes, stream), "cudaMemsetAsync");
}

}  // namespace maskctl::attention::cuda
