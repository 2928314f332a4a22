// The ranks that a launcher of MPI has started, this process being one of them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "maskctl/attention/ring/communicator.h"

namespace maskctl::distributed {

/// Why the ranks cannot go on: the first one that failed, as far as this rank knows.
struct Failure {
  Index rank = 0;
  std::string message;
};

/// All ranks, over MPI. The module maskctl-mpi is loaded, which alone links MPI; it is looked for
/// beside the running program, in ../libexec/maskctl from there, then where it was installed. A
/// thread of its own does all transfers, so that they go on while this rank computes.
class World final : public attention::Communicator {
 public:
  /// `on_failure` is called once, on another thread, when any rank has failed. `module`: where the
  /// module is, if elsewhere. Messages of more than `piece` bytes are cut, in all ranks alike: MPI
  /// counts to 2^31 - 1. Throws Error(kUnsupported) without a module, Error(kDevice) when MPI does
  /// not start.
  explicit World(std::function<void()> on_failure = {}, const std::string& module = {},
                 Index piece = Index{1} << 30);
  /// Waits for all ranks unless one has failed.
  ~World() override;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Index rank() const override;
  Index size() const override;
  void send(Index to, std::span<const std::byte> bytes) override;
  void receive(Index from, std::span<std::byte> bytes) override;
  /// Throws Error(kDevice) when any rank has failed: "rank 2: q.npy: no such file".
  void finish() override;

  /// Tells all ranks that this one cannot go on, unless one has failed before.
  void fail(const std::string& message);
  std::optional<Failure> failure() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace maskctl::distributed
