// How the ranks that share a call exchange data.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "maskctl/base/index.h"

namespace maskctl::attention {

/// The endpoint of one rank in a group of `size` ranks. Transfers between two ranks arrive in the
/// order in which they were started. They run in the background until finish(), so work in between
/// overlaps with them.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual Index rank() const = 0;
  virtual Index size() const = 0;
  /// Whether the ranks are threads of one process and can read each other's memory.
  virtual bool shares_memory() const { return false; }
  // send() and receive() start a transfer of at least one byte; the bytes must not change until
  // finish().
  virtual void send(Index to, std::span<const std::byte> bytes) = 0;
  /// Rank `from` must send the same number of bytes.
  virtual void receive(Index from, std::span<std::byte> bytes) = 0;
  /// Waits until all transfers that this rank has started are complete. Throws Error(kDevice) if
  /// another rank has failed, Error(kShape) if sizes differ.
  virtual void finish() = 0;
};

/// Runs f on `size` threads of this process, one per rank, and waits for all of them. If f throws
/// on one rank, the other ranks are released from their waits and the exception is rethrown.
void run_ring(Index size, const std::function<void(Communicator&)>& f);

}  // namespace maskctl::attention
