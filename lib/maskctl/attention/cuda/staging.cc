#include "maskctl/attention/cuda/staging.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "maskctl/attention/cuda/gpus.h"
#include "maskctl/base/threads.h"

namespace maskctl::attention::cuda {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{4} << 20;
constexpr std::size_t kLeastStaged = 2 * kPieceBytes;  // smaller arrays are left to the driver

/// A piece of pinned memory, and the event at the end of the copy that used it last.
struct Piece {
  std::byte* data = nullptr;
  cudaEvent_t done = nullptr;
};

/// Hands out the pieces of a GPU to threads: first those whose last copy began earliest.
class Pieces {
 public:
  /// Waits until a piece is free, and returns it. Its last copy may still run.
  Piece take() {
    std::unique_lock lock(mutex_);
    if (made_ < kMost) {
      const Piece piece = make();
      ++made_;
      return piece;
    }
    is_free_.wait(lock, [this] { return !free_.empty(); });
    const Piece piece = free_.front();
    free_.pop_front();
    return piece;
  }
  void give_back(const Piece& piece) {
    const std::lock_guard lock(mutex_);
    free_.push_back(piece);
    is_free_.notify_one();
  }

 private:
  static constexpr int kMost = 16;

  static Piece make() {
    Piece piece;
    void* data = nullptr;
    check(cudaHostAlloc(&data, kPieceBytes, cudaHostAllocPortable), "cudaHostAlloc");
    piece.data = static_cast<std::byte*>(data);
    check(cudaEventCreateWithFlags(&piece.done, cudaEventDisableTiming),
          "cudaEventCreateWithFlags");
    return piece;
  }

  std::mutex mutex_;
  std::condition_variable is_free_;
  int made_ = 0;
  std::deque<Piece> free_;
};

/// A piece that a thread holds; ready() waits for the piece's last copy. The destructor gives the
/// piece back, also when an exception ends the work on it.
class OwnPiece {
 public:
  explicit OwnPiece(Pieces& pieces) : pieces_(pieces), piece_(pieces.take()) {}
  ~OwnPiece() { pieces_.give_back(piece_); }
  OwnPiece(const OwnPiece&) = delete;
  OwnPiece& operator=(const OwnPiece&) = delete;

  const Piece& ready() const {
    check(cudaEventSynchronize(piece_.done), "cudaEventSynchronize");
    return piece_;
  }

 private:
  Pieces& pieces_;
  const Piece piece_;
};

Pieces& pieces_of(int gpu) {
  static std::mutex mutex;
  // Never destroyed, since the driver may be gone before the process ends.
  static auto& all = *new std::map<int, Pieces>;
  const std::lock_guard lock(mutex);
  return all[gpu];
}

/// Calls f(piece, offset, bytes) for all parts of an array of `bytes` bytes, on several threads. A
/// part has at most the size of a piece, and less if there would be fewer parts than threads.
template <class F>
void each_part(std::size_t bytes, F&& f) {
  // kMostThreads threads fill pieces of pinned memory faster than the copy engine copies them.
  constexpr std::size_t kMostThreads = 8, kLeastBytes = std::size_t{1} << 20;
  const int gpu = gpu_in_use();
  Pieces& pieces = pieces_of(gpu);
  const std::size_t size = std::clamp(bytes / kMostThreads, kLeastBytes, kPieceBytes);
  const auto parts = static_cast<Index>((bytes + size - 1) / size);
  const Index tasks = std::min({parts, Index{threads()}, Index{kMostThreads}});
  parallel_for(tasks, [&](Index task) {
    use_gpu(gpu);
    for (Index part = task; part < parts; part += tasks) {
      const std::size_t at = as_size(part) * size;
      const OwnPiece piece(pieces);
      f(piece.ready(), at, std::min(size, bytes - at));
    }
  });
}

}  // namespace

void stage_to_device(void* to, std::span<const std::byte> from, Stream stream) {
  if (from.size() < kLeastStaged) return copy_to_device(to, from, stream);
  each_part(from.size(), [&](const Piece& piece, std::size_t at, std::size_t bytes) {
    std::memcpy(piece.data, from.data() + at, bytes);
    copy_to_device(static_cast<std::byte*>(to) + at, {piece.data, bytes}, stream);
    check(cudaEventRecord(piece.done, stream), "cudaEventRecord");
  });
}

void stage_to_host(std::span<std::byte> to, const void* from, Stream stream) {
  if (to.size() < kLeastStaged) return copy_to_host(to, from, stream);
  each_part(to.size(), [&](const Piece& piece, std::size_t at, std::size_t bytes) {
    copy_to_host({piece.data, bytes}, static_cast<const std::byte*>(from) + at, stream);
    check(cudaEventRecord(piece.done, stream), "cudaEventRecord");
    check(cudaEventSynchronize(piece.done), "cudaEventSynchronize");
    std::memcpy(to.data() + at, piece.data, bytes);
  });
}

}  // namespace maskctl::attention::cuda
