// Runs a call of an operation with a config, on one device or on the shards of a mesh, and tunes
// it.
#pragma once

#include <optional>
#include <vector>

#include "maskctl/attention/calls/operation.h"
#include "maskctl/attention/sharded/shard_map.h"
#include "maskctl/ejkernel/runtime/operation_row.h"
#include "maskctl/ejkernel/runtime/registry.h"
#include "maskctl/ejkernel/runtime/selector.h"

namespace maskctl::attention {

/// How to run a call. If mesh, in_specs and out_specs are all given, it runs on the shards of the
/// mesh.
struct CallOptions {
  std::optional<Platform> platform = {};  // overrides the platform of the config
  std::optional<AnyConfig> cfg = {};      // overrides every remembered config
  std::optional<Mesh> mesh = {};
  std::vector<std::optional<PartitionSpec>> in_specs = {};
  std::vector<PartitionSpec> out_specs = {};

  /// nullopt unless mesh, in_specs and out_specs are all given.
  std::optional<Sharding> sharding() const;
};

/// Runs an operation with a config and CallOptions. Keeps references to all of them. Its functions
/// throw what find_backend, ShardMap and the operation throw.
struct ConfiguredCall {
  const Operation& operation;
  const AnyConfig& config;
  const CallOptions& how;

  AnyValue forward(const void* call) const;
  /// The gradients; `output` is the result of forward().
  AnyValue backward(const void* call, const void* output, const Cotangents& d) const;

 private:
  /// A copy of the call in which the hints and the backend are set according to the config.
  AnyValue prepared(const void* call, bool backward) const;
};

/// Returns the configs to measure for a call. The heuristic config comes first. It is the only one
/// on a backend that ignores hints such as tile sizes.
std::vector<AnyConfig> candidate_cfgs(const ModuleRow& row, const void* call);

/// A call in the form in which ConfigSelectorChain tunes it. Keeps references to all arguments.
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

/// A call with copies of its arrays, which can be tuned after the caller's arrays are gone.
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
