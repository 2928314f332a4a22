// How the ranks of a ring reach their neighbours.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <utility>

#include "maskctl/base/index.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// One rank's end of a ring of `size` ranks. Each step every rank sends to rank + 1 (mod size) and
/// receives from rank - 1.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual Index rank() const = 0;
  virtual Index size() const = 0;
  /// Starts a transfer: `out` goes to the next rank, `in` is filled by the previous one, whose
  /// transfer of the same number has the same size. Both must stay as they are until finish(); work
  /// done in between overlaps the transfer.
  virtual void start(std::span<const std::byte> out, std::span<std::byte> in) = 0;
  /// Ends the step: waits until all its transfers, out and in, are done.
  /// Throws Error(kDevice) when another rank has failed, Error(kShape) for unequal sizes.
  virtual void finish() = 0;
};

/// An array that goes round a ring: `held` moves to the next rank between start() and arrive(),
/// with ring.finish() before the latter; meanwhile it may be read.
struct RotatingBuffer {
  explicit RotatingBuffer(Tensor first)
      : held(std::move(first)), next(held.dtype(), held.shape()) {}
  void start(Communicator& ring) { ring.start(held.bytes(), next.bytes()); }
  void arrive() { std::swap(held, next); }

  Tensor held, next;
};

/// Runs f once for each rank of a ring inside this process, on a thread of its own, and waits for
/// all. When one throws, the others are released from their waits and its exception is rethrown.
void run_ring(Index size, const std::function<void(Communicator&)>& f);

}  // namespace maskctl::attention
