// The processes (ranks) that an MPI launcher has started, of which this process is one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "maskctl/attention/ring/communicator.h"

namespace maskctl::distributed {

/// Why the ranks cannot continue: the first failure that this rank has heard of.
struct Failure {
  Index rank = 0;
  std::string message;
};

/// All ranks, connected by MPI. Loads the module maskctl-mpi, the only code that links MPI, from
/// the folder of the running program, from ../libexec/maskctl relative to it, or from the
/// installation. All transfers run on a thread of their own, so that they continue while this rank
/// computes.
class World final : public attention::Communicator {
 public:
  /// `on_failure` is called once, on another thread, when another rank has failed or a connection
  /// is broken. `module`, unless it is empty, is the path of the module maskctl-mpi, which is then
  /// not searched for. Messages of more than `piece` bytes are sent in pieces, since MPI counts
  /// only to 2^31 - 1; `piece` must be the same in all ranks. Throws Error(kUnsupported) if the
  /// module is not found, Error(kDevice) when MPI does not start.
  explicit World(std::function<void()> on_failure = {}, const std::string& module = {},
                 Index piece = Index{1} << 30);
  /// Waits for all other ranks, unless one has failed.
  ~World() override;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Index rank() const override;
  Index size() const override;
  void send(Index to, std::span<const std::byte> bytes) override;
  void receive(Index from, std::span<std::byte> bytes) override;
  /// Throws Error(kDevice) if any rank has failed: "rank 2: q.npy: no such file".
  void finish() override;

  /// Tells all ranks that this one cannot continue. Does nothing if a rank has failed before.
  void fail(const std::string& message);
  std::optional<Failure> failure() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace maskctl::distributed
