// An operation as a module, with its C++ types.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "maskctl/ejkernel/runtime/op_call.h"
#include "maskctl/ejkernel/runtime/operation_rows.h"

namespace maskctl::attention {

/// Moves the value of type T out of an AnyValue that contains one.
template <class T>
T taken(const AnyValue& value) {
  return std::move(*static_cast<T*>(value.get()));
}

/// Op is one of the structs in operations/*/spec.h, such as FlashAttentionOp.
template <class Op>
class Module {
 public:
  using Inputs = typename Op::Inputs;
  using Options = typename Op::Options;
  using Output = typename Op::Output;
  using Gradients = typename Op::Gradients;
  using Config = typename ModuleOf<Op>::Config;
  using Call = typename Op::Call;
  static constexpr bool kHasBackward = !std::is_same_v<Gradients, NoGradients>;

  static const Operation& operation() { return kOperation<Op>; }

  /// `platform`, if given, overrides the platform and device of the config. Throws what
  /// ConfiguredCall throws.
  Output run(const Inputs& inputs, const Options& options, const Config& config,
             std::optional<Platform> platform = {}) const {
    const Call call{inputs, options};
    const AnyConfig any = config;
    const CallOptions how{.platform = platform};
    return taken<Output>(ConfiguredCall{operation(), any, how}.forward(&call));
  }

  Gradients run_backward(const Inputs& inputs, const Output& forward, const Cotangents& d,
                         const Options& options, const Config& config,
                         std::optional<Platform> platform = {}) const {
    const Call call{inputs, options};
    const AnyConfig any = config;
    const CallOptions how{.platform = platform};
    return taken<Gradients>(ConfiguredCall{operation(), any, how}.backward(&call, &forward, d));
  }

  /// The config that is usually best: the operation's heuristic or else the defaults of the class,
  /// with which kernels choose for themselves.
  Config heuristic_cfg() const { return std::get<Config>(kModule<Op>.heuristic()); }

  /// Returns the configs to measure for a call. The heuristic config comes first. It is the only
  /// one on a backend that ignores hints such as tile sizes.
  std::vector<Config> candidate_cfgs(const Inputs& inputs, const Options& options) const {
    const Call call{inputs, options};
    std::vector<Config> candidates;
    for (const AnyConfig& config : attention::candidate_cfgs(kModule<Op>, &call)) {
      candidates.push_back(std::get<Config>(config));
    }
    return candidates;
  }

  /// The text that describes a call in the keys of caches.
  std::string call_text(const Inputs& inputs, const Options& options) const {
    const Call call{inputs, options};
    return call_key(operation(), &call);
  }
};

}  // namespace maskctl::attention
