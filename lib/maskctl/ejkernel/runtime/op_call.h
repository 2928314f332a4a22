// A call of an operation: run with a config, on one device or on the shards of a mesh, and tuned.
#pragma once

#include <optional>
#include <vector>

#include "maskctl/attention/operation.h"
#include "maskctl/attention/sharded/shard_map.h"
#include "maskctl/ejkernel/runtime/operation_row.h"
#include "maskctl/ejkernel/runtime/registry.h"
#include "maskctl/ejkernel/runtime/selector.h"

namespace maskctl::attention {

/// How a call is to be run; with mesh, in_specs and out_specs all given, on shards of a mesh.
struct CallOptions {
  std::optional<Platform> platform = {};  // wins over the config's
  std::optional<AnyConfig> cfg = {};      // wins over everything that is remembered
  std::optional<Mesh> mesh = {};
  std::vector<std::optional<PartitionSpec>> in_specs = {};
  std::vector<PartitionSpec> out_specs = {};

  /// Nothing unless all three are given.
  std::optional<Sharding> sharding() const;
};

/// Runs one operation with one config and CallOptions. Borrows all that it is given. All throw what
/// find_backend, the sharded form and the operation throw.
struct ConfiguredCall {
  const Operation& operation;
  const AnyConfig& config;
  const CallOptions& how;

  AnyValue forward(const void* call) const;
  /// The gradients; `output` is what forward gave.
  AnyValue backward(const void* call, const void* output, const Cotangents& d) const;

 private:
  /// A copy with the hints of the config and on the backend of its kernel.
  AnyValue prepared(const void* call, bool backward) const;
};

/// The heuristic config first, and no other on a backend that reads no hints.
std::vector<AnyConfig> candidate_cfgs(const ModuleRow& row, const void* call);

/// One call as the chain tunes it. Borrows all that it is given.
class OpCall : public TunableCall {
 public:
  OpCall(const Operation& operation, const void* call, const CallOptions& how)
      : row_(module_of(operation)), call_(call), how_(how) {}

  bool tunes() const override { return row_.tunes; }
  std::optional<AnyConfig> heuristic_cfg() const override { return row_.heuristic(); }
  std::vector<AnyConfig> candidate_cfgs() const override;
  void run(const AnyConfig& config, bool with_backward) const override;

 private:
  const ModuleRow& row_;
  const void* call_;
  const CallOptions& how_;
};

/// A call with copies of its arrays, that can be tuned when the caller's are gone.
struct KeptCall {
  KeptCall(const Operation& operation, const void* of, const CallOptions& with);
  KeptCall(const KeptCall&) = delete;
  KeptCall& operator=(const KeptCall&) = delete;

  OwnedArrays owned;
  AnyValue values;
  CallOptions how;
  OpCall call;
};

}  // namespace maskctl::attention
