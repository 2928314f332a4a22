// Several GPUs in one process: the current GPU of a thread, events that make a stream wait for
// another GPU's stream, and copies between GPUs.
#pragma once

#include "maskctl/attention/cuda/device.h"

struct CUevent_st;  // cudaEvent_t is CUevent_st*

namespace maskctl::attention::cuda {

using EventHandle = CUevent_st*;

/// The number of GPUs; 0 where no kernel can run.
int gpus();
/// Makes the calling thread use GPU n from now on. A thread starts with GPU 0.
void use_gpu(int n);
int gpu_in_use();
struct GpuProperties {
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  std::size_t block_bytes = 0;  // the most shared memory of a block
  Index cache_bytes = 0;        // size of the L2 cache
};
/// The properties of the GPU in use, queried once per GPU.
const GpuProperties& properties_in_use();
/// Returns how many bytes stay in the L2 cache of the GPU in use if blocks that run at the same
/// time read them again and again. The rest of the cache is left for what blocks read or write
/// once.
inline Index shared_cache_bytes() { return properties_in_use().cache_bytes / 16 * 9; }
/// Lets GPUs copy from each other directly where the hardware can; elsewhere copies pass through
/// the host. The first call waits for all GPUs, since memory that they work on is mapped anew.
void connect_gpus();

/// A stream of high priority: its kernels start before waiting kernels of other streams.
class UrgentStream {
 public:
  UrgentStream();
  ~UrgentStream();
  UrgentStream(const UrgentStream&) = delete;
  UrgentStream& operator=(const UrgentStream&) = delete;
  Stream get() const { return stream_; }

 private:
  Stream stream_ = nullptr;
};

/// A point in a stream that streams of any GPU can wait for. The handle stays valid after the
/// object is gone; a later Event then reuses it.
class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  EventHandle get() const { return event_; }
  /// Moves the point to the current end of the stream. The stream must belong to the GPU on which
  /// the event was made.
  void record(Stream stream) const;

 private:
  int gpu_;
  EventHandle event_ = nullptr;
};
/// Makes later work of the stream wait for the point that was recorded last. For an event that was
/// never recorded, nothing waits.
void wait_for(EventHandle event, Stream stream);

/// A point in a stream, for measuring the time between two such points.
class Moment {
 public:
  explicit Moment(Stream stream);
  ~Moment();
  Moment(const Moment&) = delete;
  Moment& operator=(const Moment&) = delete;
  /// The seconds between `begin` and this moment. Waits until both have passed.
  double seconds_since(const Moment& begin) const;

 private:
  EventHandle event_ = nullptr;
};

/// Copies memory from one GPU to another, or within one.
void copy_between_gpus(void* to, int to_gpu, const void* from, int from_gpu, std::size_t bytes,
                       Stream stream);

}  // namespace maskctl::attention::cuda
