// Several GPUs of one process: which of them a thread works on, events by which they wait for each
// other, and copies between them.
#pragma once

#include "maskctl/attention/cuda/device.h"

struct CUevent_st;  // cudaEvent_t is a pointer to one

namespace maskctl::attention::cuda {

using EventHandle = CUevent_st*;

/// How many GPUs there are; 0 where no kernel can run.
int gpus();
/// The calling thread works on GPU n from now on, on 0 at first.
void use_gpu(int n);
int gpu_in_use();
/// Lets GPUs copy from each other directly where the hardware can; elsewhere copies pass through
/// the host. The first call waits for all GPUs, since memory that they work on is mapped anew.
void connect_gpus();

/// A stream whose kernels start before ready kernels of other streams.
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

/// A point in the work of a stream that streams of any GPU can wait for. Its handle stays valid
/// when the object is gone, and another event then reuses it.
class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  EventHandle get() const { return event_; }
  /// Moves the point to now; the stream must be of the GPU on which the event was made.
  void record(Stream stream) const;

 private:
  int gpu_;
  EventHandle event_ = nullptr;
};
/// Later work of the stream waits for the point recorded last; there is no wait for an event that
/// was never recorded.
void wait_for(EventHandle event, Stream stream);

/// A point in the time of a stream.
class Moment {
 public:
  explicit Moment(Stream stream);
  ~Moment();
  Moment(const Moment&) = delete;
  Moment& operator=(const Moment&) = delete;
  /// Waits until both moments have passed.
  double seconds_since(const Moment& begin) const;

 private:
  EventHandle event_ = nullptr;
};

/// From the memory of one GPU to that of another, or of the same.
void copy_between_gpus(void* to, int to_gpu, const void* from, int from_gpu, std::size_t bytes,
                       Stream stream);

}  // namespace maskctl::attention::cuda
