// How the ranks that share a call reach each other.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "maskctl/base/index.h"

namespace maskctl::attention {

/// One rank's end of `size` ranks. Transfers from one rank to another arrive in the order in which
/// both started them. Work done between starting transfers and finish() overlaps them.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual Index rank() const = 0;
  virtual Index size() const = 0;
  /// Whether the ranks are threads of one process, which can read each other's memory.
  virtual bool shares_memory() const { return false; }
  // Start a transfer, of at least one byte. The bytes must stay as they are until finish().
  virtual void send(Index to, std::span<const std::byte> bytes) = 0;
  /// The transfer of rank `from` must have the same size.
  virtual void receive(Index from, std::span<std::byte> bytes) = 0;
  /// Waits until all transfers that this rank has started are done.
  /// Throws Error(kDevice) when another rank has failed, Error(kShape) for unequal sizes.
  virtual void finish() = 0;
};

/// Runs f once for each of `size` ranks inside this process, on a thread of its own, and waits for
/// all. When one throws, the others are released from their waits and its exception is rethrown.
void run_ring(Index size, const std::function<void(Communicator&)>& f);

}  // namespace maskctl::attention
