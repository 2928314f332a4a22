#include "maskctl/attention/cuda/gpus.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace maskctl::attention::cuda {
namespace {

/// Gives the current GPU `self` access to all memory that GPU `other` allocates with
/// cudaMallocAsync, before or after this call.
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
  // The pool never unmaps freed memory: when one GPU's rank fails and frees its memory, another
  // rank may still be copying from it.
  std::uint64_t all = ~std::uint64_t{0};
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all),
        "cudaMemPoolSetAttribute");
}

/// Events that no Event object uses, for reuse on the same GPU.
struct SpareEvents {
  std::mutex mutex;
  std::map<int, std::vector<EventHandle>> of_gpu;
};
SpareEvents& spare_events() {
  static auto& spare = *new SpareEvents;  // never destroyed: events last as long as the process
  return spare;
}

}  // namespace

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

const GpuProperties& properties_in_use() {
  static const std::vector<GpuProperties> kAll = [] {
    std::vector<GpuProperties> all;
    for (int n = 0; n < gpus(); ++n) {
      cudaDeviceProp p;
      check(cudaGetDeviceProperties(&p, n), "cudaGetDeviceProperties");
      all.push_back(
          {p.major, p.minor, p.multiProcessorCount, p.sharedMemPerBlockOptin, p.l2CacheSize});
    }
    return all;
  }();
  return kAll.at(as_size(gpu_in_use()));
}

void connect_gpus() {
  static std::once_flag connected;
  std::call_once(connected, [] {
    keep_freed_memory();  // must come first: it would lower the threshold that open_memory() sets
    const int own = gpu_in_use(), count = gpus();
    for (int n = 0; n < count; ++n) {
      use_gpu(n);
      check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    for (int self = 0; self < count; ++self) {
      use_gpu(self);
      for (int other = 0; other < count; ++other) {
        if (self != other) open_memory(self, other);
      }
    }
    use_gpu(own);
  });
}

UrgentStream::UrgentStream() {
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest),
        "cudaStreamCreateWithPriority");
}
UrgentStream::~UrgentStream() { cudaStreamDestroy(stream_); }

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

Moment::Moment(Stream stream) {
  check(cudaEventCreate(&event_), "cudaEventCreate");
  check(cudaEventRecord(event_, stream), "cudaEventRecord");
}
Moment::~Moment() { cudaEventDestroy(event_); }
double Moment::seconds_since(const Moment& begin) const {
  float milliseconds = 0;
  check(cudaEventSynchronize(event_), "cudaEventSynchronize");
  check(cudaEventElapsedTime(&milliseconds, begin.event_, event_), "cudaEventElapsedTime");
  return 1e-3 * static_cast<double>(milliseconds);
}

void copy_between_gpus(void* to, int to_gpu, const void* from, int from_gpu, std::size_t bytes,
                       Stream stream) {
  if (bytes == 0) return;
  check(cudaMemcpyPeerAsync(to, to_gpu, from, from_gpu, bytes, stream), "cudaMemcpyPeerAsync");
}

}  // namespace maskctl::attention::cuda
