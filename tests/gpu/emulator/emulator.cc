// Runs emulated kernels: every thread of a block is a fiber, and fibers change where they wait.
#include <ucontext.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <deque>
#include <memory>
#include <vector>

#include "cudaTypedefs.h"
#include "cuda_pipeline_primitives.h"
#include "cuda_runtime.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(MASKCTL_FIND_RACES)
// Declared here, since not every compiler has sanitizer/tsan_interface.h.
extern "C" {
void __tsan_acquire(void* event);
void __tsan_release(void* event);
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
}
#endif

thread_local uint3 threadIdx, blockIdx;
thread_local dim3 blockDim, gridDim;

namespace cuda_emulator {

thread_local unsigned char* dynamic_shared;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "emulated kernel: %s\n", what);
  std::abort();
}

namespace {

// These functions tell the thread sanitizer that each fiber is a thread, and which events order the
// fibers. In builds without it they do nothing.
#if defined(MASKCTL_FIND_RACES)
void happens_before(char& event) { __tsan_release(&event); }
void happens_after(char& event) { __tsan_acquire(&event); }
struct End {
  void operator()(void* thread) const { __tsan_destroy_fiber(thread); }
};
using Sanitized = std::unique_ptr<void, End>;
Sanitized new_thread() { return Sanitized(__tsan_create_fiber(0)); }
void* this_thread() { return __tsan_get_current_fiber(); }
void become(void* thread) {
  constexpr unsigned kOrdersNothing = 1;
  __tsan_switch_to_fiber(thread, kOrdersNothing);
}
#else
void happens_before(char&) {}
void happens_after(char&) {}
#endif

/// The point at which a host thread or a fiber continues, as __builtin_setjmp() stores it.
using Jump = std::array<void*, 5>;

/// A stack as the address sanitizer knows it.
struct Stack {
  const void* memory = nullptr;
  std::size_t bytes = 0;
};
// These functions tell the address sanitizer that the stack changes: leave_stack() before the jump,
// and then, on the other stack, enter_stack() with what leave_stack() returned when that stack was
// left. In builds without it they do nothing.
#if defined(__SANITIZE_ADDRESS__)
void* leave_stack(const Stack& to) {
  void* left = nullptr;
  __sanitizer_start_switch_fiber(&left, to.memory, to.bytes);
  return left;
}
Stack enter_stack(void* left) {
  Stack from;
  __sanitizer_finish_switch_fiber(left, &from.memory, &from.bytes);
  return from;
}
#else
void* leave_stack(const Stack&) { return nullptr; }
Stack enter_stack(void*) { return {}; }
#endif

constexpr std::size_t kStackBytes = 128 << 10;
constexpr std::size_t kSharedBytes = 227 << 10;

/// An asynchronous copy to shared memory that a thread has asked for.
struct Copy {
  void* to;
  const void* from;
  std::size_t bytes;
};

/// A thread of an emulated kernel.
struct Fiber {
  enum class State { kReady, kAtBarrier, kInExchange, kWaits, kDone };
#if defined(MASKCTL_FIND_RACES)
  Sanitized sanitized = new_thread();
#endif
  std::unique_ptr<unsigned char[]> stack = std::make_unique<unsigned char[]>(kStackBytes);
  Jump jump;
  bool has_begun = false;
  uint3 thread{};
  State state = State::kReady;
  unsigned mask = 0;                // lanes of the exchange for which the fiber waits
  std::function<bool()> condition;  // what the fiber waits for
  // Deferred copies of the copy engine to and from shared memory. Each fiber has lists of its own:
  // with a common list, fibers would free each other's memory, which the thread sanitizer reports.
  std::vector<std::function<void()>> brought, taken;
  std::vector<Copy> begun;
  std::deque<std::vector<Copy>> committed;
};

/// The words that the lanes of a warp exchange: two sets, so that one can be read while the next is
/// written.
struct Warp {
  std::array<std::array<std::uint64_t, 32>, 2> words{};
  std::array<unsigned, 32> turns{};
  std::array<char, 2> events{};
  unsigned arrived = 0;
};

/// One of the 16 barriers at which some threads of a block meet.
struct Meeting {
  int arrived = 0, threads = 0;
  unsigned ended = 0;  // how many meetings have ended
  std::array<char, 2> events{};
};

class Block {
 public:
  void run(dim3 grid, dim3 block, std::size_t dynamic_shared, const std::function<void()>& body);
  void wait_for_all() {
    char& event = barriers_[passed_ % 2];
    happens_before(event);
    wait(Fiber::State::kAtBarrier);
    happens_after(event);
  }
  void wait(Fiber::State state) {
    Fiber& self = fibers_[current_];
    self.state = state;
    leave(self);
  }
  void wait_until(std::function<bool()> condition) {
    if (condition()) return;
    fiber().condition = std::move(condition);
    wait(Fiber::State::kWaits);
  }
  void meet(int barrier, int threads, bool waits);
  void bring_late(std::function<void()> copy) {
    fiber().brought.push_back(std::move(copy));
    happens_before(engine_);
  }
  const std::uint64_t* exchange(unsigned mask, std::uint64_t word);
  Fiber& fiber() { return fibers_[current_]; }

 private:
  static void enter();
  void begin(Fiber& fiber);
  void start(uint3 block);
  void run_block();
  void resume(Fiber& fiber, std::size_t number);
  void leave(Fiber& fiber);
  bool is_ready(Fiber& fiber);
  bool bring();
  bool release_barrier();

  const std::function<void()>* body_ = nullptr;
  dim3 size_;
  std::vector<Fiber> fibers_;
  std::vector<Warp> warps_;
  std::array<Meeting, 16> meetings_;
  std::vector<unsigned char> shared_;
  std::size_t threads_ = 0, current_ = 0;
  unsigned passed_ = 0;  // how many barriers of the whole block were passed
  std::array<char, 2> barriers_{};
  char begin_ = 0, end_ = 0, engine_ = 0;
#if defined(MASKCTL_FIND_RACES)
  void* scheduler_sanitized_ = nullptr;
#endif
  Jump scheduler_jump_;
  Stack scheduler_stack_;
};

thread_local Block running;

// The function that a fiber runs: its thread of each block in turn.
void Block::enter() {
  Block& block = running;
  block.scheduler_stack_ = enter_stack(nullptr);
  for (;;) {
    happens_after(block.begin_);
    (*block.body_)();
    happens_before(block.end_);
    if (!block.fiber().taken.empty()) fail("a thread does not wait for its stores");
    block.wait(Fiber::State::kDone);
  }
}

// Fibers change by jumps that the compiler makes: swapcontext() makes a system call, and there the
// address sanitizer clears all that it knows of a stack, as it does before jumps that it can see.
// Such a jump must not be in the function that stores where to go on; and GCC must not look into
// these functions: it would keep variables in registers that they do not use, but other fibers do.
#if defined(__clang__)
#define CHANGES_FIBER __attribute__((no_sanitize_address, noinline))
#else
#define CHANGES_FIBER __attribute__((no_sanitize_address, noipa))
#endif
[[noreturn]] CHANGES_FIBER void jump(Jump& to) { __builtin_longjmp(to.data(), 1); }

// Enters a fiber for the first time, on its own stack.
CHANGES_FIBER void Block::begin(Fiber& fiber) {
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = fiber.stack.get();
  context.uc_stack.ss_size = kStackBytes;
  context.uc_link = nullptr;
  makecontext(&context, enter, 0);
  setcontext(&context);
}

// Returns from a fiber to the scheduler.
CHANGES_FIBER void Block::leave(Fiber& fiber) {
#if defined(MASKCTL_FIND_RACES)
  become(scheduler_sanitized_);
#endif
  void* const left = leave_stack(scheduler_stack_);
  if (__builtin_setjmp(fiber.jump.data()) == 0) jump(scheduler_jump_);
  scheduler_stack_ = enter_stack(left);
}

CHANGES_FIBER void Block::resume(Fiber& fiber, std::size_t number) {
  current_ = number;
  threadIdx = fiber.thread;
#if defined(MASKCTL_FIND_RACES)
  scheduler_sanitized_ = this_thread();
  become(fiber.sanitized.get());
#endif
  void* const left = leave_stack({fiber.stack.get(), kStackBytes});
  if (__builtin_setjmp(scheduler_jump_.data()) == 0) {
    if (!std::exchange(fiber.has_begun, true)) begin(fiber);
    jump(fiber.jump);
  }
  enter_stack(left);
}

void Block::start(uint3 block) {
  blockIdx = block;
  std::fill(shared_.begin(), shared_.end(), 0xff);  // uninitialised memory is NaN in every format
  warps_.assign((threads_ + 31) / 32, Warp());
  meetings_.fill(Meeting());
  for (std::size_t n = 0; n < threads_; ++n) {
    Fiber& fiber = fibers_[n];
    const auto i = static_cast<unsigned>(n);
    fiber.thread = {i % size_.x, i / size_.x % size_.y, i / size_.x / size_.y};
    fiber.state = Fiber::State::kReady;
    fiber.begun.clear();
    fiber.committed.clear();
  }
}

/// Called when no thread can go on: ends the block's barrier for the threads that wait there. False
/// if none waits.
bool Block::release_barrier() {
  bool any = false;
  for (std::size_t n = 0; n < threads_; ++n) {
    const Fiber::State state = fibers_[n].state;
    if (state == Fiber::State::kInExchange) fail("lanes wait for a lane that waits elsewhere");
    any |= state == Fiber::State::kAtBarrier;
  }
  for (std::size_t n = 0; n < threads_; ++n) {
    if (fibers_[n].state == Fiber::State::kAtBarrier) fibers_[n].state = Fiber::State::kReady;
  }
  ++passed_;
  return any;
}

bool Block::is_ready(Fiber& fiber) {
  if (fiber.state == Fiber::State::kWaits && fiber.condition()) fiber.state = Fiber::State::kReady;
  return fiber.state == Fiber::State::kReady;
}

bool Block::bring() {
  happens_after(engine_);
  bool any = false;
  for (std::size_t n = 0; n < threads_; ++n) {
    for (const auto& copy : std::exchange(fibers_[n].brought, {})) copy(), any = true;
  }
  return any;
}

/// Runs the threads of a block by turns, upwards and downwards alternately, so that results are
/// wrong where a barrier is missing.
void Block::run_block() {
  bool upwards = true;
  happens_before(begin_);
  do {
    for (bool went = true; went; upwards = !upwards) {
      went = false;
      for (std::size_t i = 0; i < threads_; ++i) {
        const std::size_t n = upwards ? i : threads_ - 1 - i;
        if (!is_ready(fibers_[n])) continue;
        resume(fibers_[n], n);
        went = true;
      }
    }
  } while (bring() || release_barrier());
  for (std::size_t n = 0; n < threads_; ++n) {
    if (fibers_[n].state != Fiber::State::kDone) fail("threads wait for each other");
  }
  happens_after(end_);
}

void Block::meet(int barrier, int threads, bool waits) {
  Meeting& meeting = meetings_.at(static_cast<std::size_t>(barrier));
  if (meeting.arrived == 0) meeting.threads = threads;
  if (meeting.threads != threads) fail("threads disagree about how many meet");
  const unsigned ended = meeting.ended;
  char& event = meeting.events[ended % 2];
  happens_before(event);
  if (++meeting.arrived == threads) meeting.arrived = 0, ++meeting.ended;
  if (!waits) return;
  wait_until([&meeting, ended] { return meeting.ended != ended; });
  happens_after(event);
}

void Block::run(dim3 grid, dim3 block, std::size_t dynamic_shared,
                const std::function<void()>& body) {
  if (dynamic_shared > kSharedBytes) fail("too much shared memory");
  gridDim = grid, blockDim = size_ = block, body_ = &body;
  threads_ = std::size_t{block.x} * block.y * block.z;
  if (threads_ == 0 || threads_ > 1024) fail("a block has 1 to 1024 threads");
  if (fibers_.size() < threads_) fibers_.resize(threads_);
  shared_.resize(dynamic_shared);
  cuda_emulator::dynamic_shared = shared_.data();
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        start({x, y, z});
        run_block();
      }
    }
  }
}

const std::uint64_t* Block::exchange(unsigned mask, std::uint64_t word) {
  const std::size_t self = current_, first = self / 32 * 32;
  Warp& warp = warps_[self / 32];
  const unsigned lane = static_cast<unsigned>(self - first);
  if ((mask >> lane & 1) == 0) fail("a lane is not in its own mask");
  char& event = warp.events[warp.turns[lane] % 2];
  happens_before(event);
  auto& words = warp.words[warp.turns[lane]++ % 2];
  words[lane] = word;
  fibers_[self].mask = mask;
  warp.arrived |= 1u << lane;
  const unsigned all = threads_ - first < 32 ? (1u << (threads_ - first)) - 1 : ~0u;
  if ((warp.arrived & mask & all) != (mask & all)) {
    wait(Fiber::State::kInExchange);
  } else {
    for (unsigned i = 0; i < 32; ++i) {
      if ((mask & all) >> i & 1) {
        if (fibers_[first + i].mask != mask) fail("lanes disagree about who exchanges");
        fibers_[first + i].state = Fiber::State::kReady;
      }
    }
    warp.arrived &= ~mask;
  }
  happens_after(event);
  return words.data();
}

}  // namespace

void run(dim3 grid, dim3 block, std::size_t dynamic_shared, const std::function<void()>& body) {
  running.run(grid, block, dynamic_shared, body);
}
void wait_for_block() { running.wait_for_all(); }
void meet(int barrier, int threads, bool waits) { running.meet(barrier, threads, waits); }
void wait_until(std::function<bool()> condition) { running.wait_until(std::move(condition)); }

void Barrier::init(int count) {
  count_ = missing_ = static_cast<std::int16_t>(count);
  bytes_ = 0, phase_ = 0;
}
void Barrier::arrive_expecting(int bytes) {
  happens_before(reinterpret_cast<char*>(this)[phase_]);
  bytes_ += bytes;
  if (--missing_ < 0) fail("too many threads arrive at a barrier");
  end_phase();
}
void Barrier::wait(int parity) {
  running.wait_until([this, parity] { return phase_ != static_cast<unsigned>(parity); });
  happens_after(reinterpret_cast<char*>(this)[parity]);
}
void Barrier::take_bytes(int bytes) {
  happens_before(reinterpret_cast<char*>(this)[phase_]);
  bytes_ -= bytes;
  end_phase();
}
void Barrier::end_phase() {
  if (missing_ == 0 && bytes_ == 0) missing_ = count_, phase_ ^= 1;
}

void bring_late(std::function<void()> copy) { running.bring_late(std::move(copy)); }
void take_late(std::function<void()> copy) { running.fiber().taken.push_back(std::move(copy)); }
void take_now() {
  for (const auto& copy : std::exchange(running.fiber().taken, {})) copy();
}
const std::uint64_t* exchange(unsigned mask, std::uint64_t word) {
  return running.exchange(mask, word);
}

}  // namespace cuda_emulator

void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes) {
  if (bytes != 4 && bytes != 8 && bytes != 16) cuda_emulator::fail("a copy of an odd size");
  for (const void* end : {static_cast<const void*>(to), from}) {
    if (std::bit_cast<std::uintptr_t>(end) % bytes != 0)
      cuda_emulator::fail("a copy off its place");
  }
  cuda_emulator::running.fiber().begun.push_back({to, from, bytes});
}
void __pipeline_commit() {
  cuda_emulator::Fiber& fiber = cuda_emulator::running.fiber();
  fiber.committed.push_back(std::exchange(fiber.begun, {}));
}
void __pipeline_wait_prior(std::size_t in_flight) {
  auto& committed = cuda_emulator::running.fiber().committed;
  for (; committed.size() > in_flight; committed.pop_front()) {
    for (const auto& copy : committed.front()) std::memcpy(copy.to, copy.from, copy.bytes);
  }
}

const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaSuccess ? "cudaSuccess" : "cudaErrorMemoryAllocation";
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess                      ? "no error"
         : error == cudaErrorInvalidDevice         ? "invalid device ordinal"
         : error == cudaErrorInvalidResourceHandle ? "invalid resource handle"
                                                   : "out of memory";
}
cudaError_t cudaGetLastError() { return cudaSuccess; }

namespace {

CUresult encode(CUtensorMap* map, CUtensorMapDataType, cuuint32_t rank, void* data,
                const cuuint64_t* extents, const cuuint64_t* steps, const cuuint32_t* box,
                const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  if (rank != 4 || box[0] != 64 || box[1] > 256) return CUDA_ERROR_INVALID_VALUE;
  map->data = static_cast<unsigned char*>(data);
  std::copy(extents, extents + 4, map->extents);
  std::copy(box, box + 4, map->box);
  map->steps[0] = 2;
  for (int axis = 0; axis < 3; ++axis) {
    if (steps[axis] % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
    map->steps[axis + 1] = steps[axis];
  }
  return CUDA_SUCCESS;
}

thread_local int device_in_use = 0;

}  // namespace

struct CUstream_st {
  int device = device_in_use;
};
// Work is done as soon as it is enqueued, so an event has happened when it is recorded.
struct CUevent_st {
  int device = device_in_use;
  std::chrono::steady_clock::time_point time{};
};

cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  *function = reinterpret_cast<void*>(&encode), *found = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  const char* const text = std::getenv("MASKCTL_EMULATED_GPUS");
  return *count = text ? std::atoi(text) : 4, cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) { return *device = device_in_use, cudaSuccess; }
cudaError_t cudaSetDevice(int device) {
  int count = 0;
  cudaGetDeviceCount(&count);
  if (device < 0 || device >= count) return cudaErrorInvalidDevice;
  return device_in_use = device, cudaSuccess;
}
cudaError_t cuda_emulator::check_stream(cudaStream_t stream) {
  return stream && stream->device != device_in_use ? cudaErrorInvalidResourceHandle : cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return *can = device != peer, cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  return *pool = nullptr, cudaSuccess;
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc*, std::size_t) {
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {
      "a CPU that runs CUDA kernels", std::size_t{1} << 32, 9, 0, 4, 227 << 10, 60 << 20};
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) { return *version = 13000, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = 13000, cudaSuccess; }
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return *free = *total = std::size_t{1} << 32, cudaSuccess;
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  *memory = std::malloc(bytes);
  return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t) {
  *memory = bytes > std::size_t{1} << 32 ? nullptr : std::malloc(bytes);
  if (!*memory) return cudaErrorMemoryAllocation;
  std::memset(*memory, 0xff, bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t) { return std::free(memory), cudaSuccess; }
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  return cudaMallocAsync(memory, bytes, nullptr);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes,
                                cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind, cudaStream_t) {
  for (std::size_t row = 0; row < height; ++row) {
    std::memcpy(static_cast<char*>(to) + row * to_pitch,
                static_cast<const char*>(from) + row * from_pitch, width);
  }
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t) {
  if (bytes > 0) std::memset(memory, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return cuda_emulator::check_stream(stream);
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return *graph = nullptr, cuda_emulator::check_stream(stream);
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* graph, cudaGraph_t, unsigned long long) {
  return *graph = nullptr, cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t stream) {
  return cuda_emulator::check_stream(stream);
}
cudaError_t cudaGraphDestroy(cudaGraph_t) { return cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) { return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return *stream = new CUstream_st, cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return *least = *greatest = 0, cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return delete stream, cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }

cudaError_t cudaEventCreate(cudaEvent_t* event) { return *event = new CUevent_st, cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return cudaEventCreate(event);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t event, unsigned) {
  return event ? cudaSuccess : cudaErrorInvalidResourceHandle;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return delete event, cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (stream && stream->device != event->device) return cudaErrorInvalidResourceHandle;
  return event->time = std::chrono::steady_clock::now(), cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
  return cudaSuccess;
}
