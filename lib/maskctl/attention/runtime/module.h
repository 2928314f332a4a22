// The module form of an operation: run it with a config, and say which configs it can have.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "maskctl/attention/runtime/call_text.h"
#include "maskctl/attention/runtime/op_info.h"
#include "maskctl/attention/runtime/registry.h"
#include "maskctl/mask/info/mask_info.h"

namespace maskctl::attention {

/// Op is a struct of static members that describes one operation (modules/*.h):
///   Inputs, Options, Output, Gradients, Config   types; NoGradients without a backward pass
///   OpInfo kInfo; kOutLabels                     names; axes of the result "out"
///   arrays(inputs, options, f)                   f(name, pointer, labels) for each array, in the
///                                                order of in_specs (sharded/plan.h has the labels)
///   scalars(options, f)                          f(name, value) for every other option
///   outputs(output, f), gradients(gradients, f)  f(name, array, labels) for each array
///   forward(inputs, options)                     the operation
///   backward(inputs, output, cotangents, options)
///   apply(config, options, backward)             hints of the config, for that pass
///   candidates(inputs, options)                  configs worth measuring; absent: the default only
///   heuristic()                                  the config without measuring; absent: Config{}
template <class Op>
class Module {
 public:
  using Inputs = typename Op::Inputs;
  using Options = typename Op::Options;
  using Output = typename Op::Output;
  using Gradients = typename Op::Gradients;
  using Config = typename Op::Config;
  static constexpr bool kHasBackward = !std::is_same_v<Gradients, NoGradients>;

  static constexpr const OpInfo& info() { return Op::kInfo; }

  /// `platform` wins over the config's, for any device. Throws what KernelRegistry::find and the
  /// operation throw.
  Output run(const Inputs& inputs, const Options& options, const Config& config,
             const KernelRegistry& kernels, std::optional<Platform> platform = {}) const {
    return Op::forward(inputs, prepared(options, config, kernels, platform, false));
  }

  Gradients run_backward(const Inputs& inputs, const Output& forward, const Cotangents& cotangents,
                         const Options& options, const Config& config,
                         const KernelRegistry& kernels,
                         std::optional<Platform> platform = {}) const {
    return Op::backward(inputs, forward, cotangents,
                        prepared(options, config, kernels, platform, true));
  }

  /// What is best most often: what the operation says, or the defaults of the class, with which its
  /// kernels choose on their own.
  Config heuristic_cfg() const {
    if constexpr (requires { Op::heuristic(); }) {
      return Op::heuristic();
    } else {
      return Config{};
    }
  }

  /// The heuristic one first. The reference has nothing to tune.
  std::vector<Config> candidate_cfgs(const Inputs& inputs, const Options& options) const {
    std::vector<Config> candidates = {heuristic_cfg()};
    if constexpr (requires { Op::candidates(inputs, options); }) {
      if (options.backend == Backend::kReference) return candidates;
      for (Config& config : Op::candidates(inputs, options)) {
        candidates.push_back(std::move(config));
      }
    }
    return candidates;
  }

  /// What caches know a call by.
  std::string call_text(const Inputs& inputs, const Options& options) const {
    CallText text;
    Op::arrays(inputs, options, [&](std::string_view name, const auto& array, std::string_view) {
      if constexpr (std::is_same_v<decltype(array), const MaskInfo* const&>) {
        if (array) add_stored(name, array->fields(), text);
      } else {
        text.add(name, array);
      }
    });
    Op::scalars(options, [&](std::string_view name, const auto& value) { text.add(name, value); });
    text.add("backend", options.backend);
    return text.text();
  }

 private:
  static Options prepared(const Options& options, const Config& config,
                          const KernelRegistry& kernels, std::optional<Platform> platform,
                          bool backward) {
    const KernelSpec& kernel =
        platform ? kernels.find(Op::kInfo.algorithm, *platform)
                 : kernels.find(Op::kInfo.algorithm, config.platform, config.backend);
    Options with_hints = options;
    // The reference is asked for by name and stays.
    if (options.backend != Backend::kReference) with_hints.backend = kernel.implementation;
    Op::apply(config, with_hints, backward);
    return with_hints;
  }

  static void add_stored(std::string_view name, const MaskInfoFields& fields, CallText& text) {
    text.add(name, true);
    if (fields.attention_mask) {
      const Mask mask = fields.attention_mask->mask();
      text.add("attention_mask", &mask);
    }
    text.add("q_segment_ids", fields.q_segment_ids.get());
    text.add("kv_segment_ids", fields.kv_segment_ids.get());
    text.add("q_positions", fields.q_positions.get());
  }
};

}  // namespace maskctl::attention
