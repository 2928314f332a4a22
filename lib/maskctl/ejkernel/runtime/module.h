// The module form of an operation: its types, for callers in C++.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "maskctl/ejkernel/runtime/op_call.h"
#include "maskctl/ejkernel/runtime/operation_rows.h"

namespace maskctl::attention {

/// What lies in an AnyValue of this type.
template <class T>
T taken(const AnyValue& value) {
  return std::move(*static_cast<T*>(value.get()));
}

/// Op is a struct of operations/*/spec.h: FlashAttentionOp and its like.
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

  /// `platform` wins over the config's, for any device. Throws what ConfiguredCall throws.
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

  /// What is best most often: what the operation says, or the defaults of the class, with which its
  /// kernels choose on their own.
  Config heuristic_cfg() const { return std::get<Config>(kModule<Op>.heuristic()); }

  /// The heuristic one first, and no other on a backend that reads no hints.
  std::vector<Config> candidate_cfgs(const Inputs& inputs, const Options& options) const {
    const Call call{inputs, options};
    std::vector<Config> candidates;
    for (const AnyConfig& config : attention::candidate_cfgs(kModule<Op>, &call)) {
      candidates.push_back(std::get<Config>(config));
    }
    return candidates;
  }

  /// What caches know a call by.
  std::string call_text(const Inputs& inputs, const Options& options) const {
    const Call call{inputs, options};
    return call_key(operation(), &call);
  }
};

}  // namespace maskctl::attention
