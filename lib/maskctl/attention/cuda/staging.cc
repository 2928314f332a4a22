#include "maskctl/attention/cuda/staging.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "maskctl/attention/cuda/gpus.h"
#include "maskctl/base/error.h"
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
/// part has at most the size of a piece.
template <class F>
void each_part(std::size_t bytes, F&& f) {
  // So many threads fill pieces faster than the copy engine copies them.
  constexpr Index kMostThreads = 8;
  const int gpu = gpu_in_use();
  Pieces& pieces = pieces_of(gpu);
  const auto parts = static_cast<Index>((bytes + kPieceBytes - 1) / kPieceBytes);
  const Index tasks = std::min({parts, Index{threads()}, kMostThreads});
  parallel_for(tasks, [&](Index task) {
    use_gpu(gpu);
    for (Index part = task; part < parts; part += tasks) {
      const std::size_t at = as_size(part) * kPieceBytes;
      const OwnPiece piece(pieces);
      f(piece.ready(), at, std::min(kPieceBytes, bytes - at));
    }
  });
}

/// The memory of an array: rows of `row_bytes` bytes that begin `step` bytes apart.
template <class Byte>
struct Rows {
  Byte* data;
  std::size_t bytes;  // of all rows
  std::size_t row_bytes, step;

  bool is_contiguous() const { return row_bytes == bytes; }
  /// Calls f(bytes of a row) for the bytes [at, at + count) of the array, in order.
  template <class F>
  void each(std::size_t at, std::size_t count, F&& f) const {
    while (count > 0) {
      const std::size_t in_row = at % row_bytes, n = std::min(count, row_bytes - in_row);
      f(std::span(data + at / row_bytes * step + in_row, n));
      at += n, count -= n;
    }
  }
};

template <class Byte>
Rows<Byte> rows_of(const BasicTensorView<Byte>& array) {
  const auto element = as_size(size_bytes(array.dtype()));
  const std::size_t bytes = as_size(array.elements()) * element;
  if (array.is_contiguous()) return {array.data(), bytes, bytes, bytes};
  Index axis = array.rank(), row = 1;  // axes from this one on have no gaps
  while (array.extent(axis - 1) == 1 || array.stride(axis - 1) == row) row *= array.extent(--axis);
  const Index step = array.stride(axis - 1);
  for (Index rows = 1, n = axis; n-- > 0; rows *= array.extent(n)) {
    if (array.extent(n) == 1 || array.stride(n) == step * rows) continue;
    throw Error(Errc::kUnsupported, "a host array with gaps along several axes cannot be copied");
  }
  return {array.data(), bytes, as_size(row) * element, as_size(step) * element};
}

}  // namespace

void stage_to_device(void* to, const TensorView& from, Stream stream) {
  const Rows rows = rows_of(from);
  if (rows.is_contiguous() && rows.bytes < kLeastStaged) {
    return copy_to_device(to, {rows.data, rows.bytes}, stream);
  }
  each_part(rows.bytes, [&](const Piece& piece, std::size_t at, std::size_t bytes) {
    std::byte* next = piece.data;
    rows.each(at, bytes, [&next](std::span<const std::byte> row) {
      std::memcpy(next, row.data(), row.size());
      next += row.size();
    });
    copy_to_device(static_cast<std::byte*>(to) + at, {piece.data, bytes}, stream);
    check(cudaEventRecord(piece.done, stream), "cudaEventRecord");
  });
}

void stage_to_host(const MutableTensorView& to, const void* from, Stream stream) {
  const Rows rows = rows_of(to);
  if (rows.is_contiguous() && rows.bytes < kLeastStaged) {
    return copy_to_host({rows.data, rows.bytes}, from, stream);
  }
  each_part(rows.bytes, [&](const Piece& piece, std::size_t at, std::size_t bytes) {
    copy_to_host({piece.data, bytes}, static_cast<const std::byte*>(from) + at, stream);
    check(cudaEventRecord(piece.done, stream), "cudaEventRecord");
    check(cudaEventSynchronize(piece.done), "cudaEventSynchronize");
    const std::byte* next = piece.data;
    rows.each(at, bytes, [&next](std::span<std::byte> row) {
      std::memcpy(row.data(), next, row.size());
      next += row.size();
    });
  });
}

}  // namespace maskctl::attention::cuda
