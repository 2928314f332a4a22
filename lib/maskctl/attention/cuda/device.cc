#include "maskctl/attention/cuda/device.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "maskctl/base/error.h"

namespace maskctl::attention::cuda {
namespace {

constexpr int kOldestMajor = 8;  // of compute capabilities: sm_80

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

/// Lets GPU `self`, which is in use, read what `other` has, or will have, allocated in streams.
void open_memory(int self, int other) {
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, self, other), "cudaDeviceCanAccessPeer");
  if (!can) return;
  const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
  cudaGetLastError();
  if (error != cudaErrorPeerAccessAlreadyEnabled) check(error, "cudaDeviceEnablePeerAccess");
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, other), "cudaDeviceGetDefaultMemPool");
  cudaMemAccessDesc access{};
  access.location.type = cudaMemLocationTypeDevice;
  access.location.id = self;
  access.flags = cudaMemAccessFlagsProtReadWrite;
  check(cudaMemPoolSetAccess(pool, &access, 1), "cudaMemPoolSetAccess");
  // A rank may copy what another, which has failed, has freed just now: it stays mapped.
  std::uint64_t all = ~std::uint64_t{0};
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all),
        "cudaMemPoolSetAttribute");
}

std::string mebibytes(std::size_t bytes) { return fmt::format("{} MiB", (bytes >> 20) + 1); }

}  // namespace

std::string unavailable() {
  static const std::string kReason = find_reason();
  return kReason;
}

int gpus() {
  if (!unavailable().empty()) return 0;
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  return count;
}
void use_gpu(int n) { check(cudaSetDevice(n), "cudaSetDevice"); }
int gpu_in_use() {
  int n = 0;
  check(cudaGetDevice(&n), "cudaGetDevice");
  return n;
}

void connect_gpu(int other) {
  static std::mutex mutex;
  static std::set<std::pair<int, int>> connected;
  const int self = gpu_in_use();
  if (self == other) return;
  const std::lock_guard lock(mutex);
  if (connected.insert({self, other}).second) open_memory(self, other);
}

void check(int error, const char* call) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // forget it: the next call is judged by itself
  throw Error(Errc::kDevice, fmt::format("{} failed: {}", call,
                                         cudaGetErrorString(static_cast<cudaError_t>(error))));
}

DeviceBuffer::DeviceBuffer(std::size_t bytes, Stream stream) : bytes_(bytes), stream_(stream) {
  if (bytes == 0) return;
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
void OwnStream::synchronize() const {
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

namespace {

/// Events that nobody has, of each GPU.
struct SpareEvents {
  std::mutex mutex;
  std::map<int, std::vector<EventHandle>> of_gpu;
};
SpareEvents& spare_events() {
  static SpareEvents spare;
  return spare;
}

}  // namespace

Event::Event() : gpu_(gpu_in_use()) {
  SpareEvents& spare = spare_events();
  const std::lock_guard lock(spare.mutex);
  std::vector<EventHandle>& handles = spare.of_gpu[gpu_];
  if (handles.empty()) {
    check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  } else {
    event_ = handles.back();
    handles.pop_back();
  }
}
Event::~Event() {
  SpareEvents& spare = spare_events();
  const std::lock_guard lock(spare.mutex);
  spare.of_gpu[gpu_].push_back(event_);
}
void Event::record(Stream stream) const {
  check(cudaEventRecord(event_, stream), "cudaEventRecord");
}
void wait_for(EventHandle event, Stream stream) {
  check(cudaStreamWaitEvent(stream, event, 0), "cudaStreamWaitEvent");
}

std::byte* Workspace::take_bytes(std::size_t bytes) {
  constexpr std::size_t kAlignment = 256, kLeast = std::size_t{1} << 20;
  bytes = (std::max(bytes, std::size_t{1}) + kAlignment - 1) / kAlignment * kAlignment;
  while (chunk_ < chunks_.size() && used_ + bytes > chunks_[chunk_].bytes()) ++chunk_, used_ = 0;
  if (chunk_ == chunks_.size()) chunks_.emplace_back(std::max(bytes, kLeast), stream_);
  return chunks_[chunk_].data() + std::exchange(used_, used_ + bytes);
}

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
void copy_between_gpus(void* to, int to_gpu, const void* from, int from_gpu, std::size_t bytes,
                       Stream stream) {
  if (bytes == 0) return;
  check(cudaMemcpyPeerAsync(to, to_gpu, from, from_gpu, bytes, stream), "cudaMemcpyPeerAsync");
}
void copy_rows(void* to, Index row_bytes, const void* from, Index pitch, Index rows,
               Stream stream) {
  if (row_bytes == 0 || rows == 0) return;
  check(cudaMemcpy2DAsync(to, as_size(row_bytes), from, as_size(pitch), as_size(row_bytes),
                          as_size(rows), cudaMemcpyDeviceToDevice, stream),
        "cudaMemcpy2DAsync");
}
void fill_bytes(void* memory, int value, std::size_t bytes, Stream stream) {
  if (bytes > 0) check(cudaMemsetAsync(memory, value, bytes, stream), "cudaMemsetAsync");
}

}  // namespace maskctl::attention::cuda
