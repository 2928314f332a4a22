#include "maskctl/ejkernel/runtime/op_call.h"

#include "maskctl/attention/calls/fields.h"
#include "maskctl/attention/problems/backends.h"

namespace maskctl::attention {

std::optional<Sharding> CallOptions::sharding() const {
  if (!mesh || in_specs.empty() || out_specs.empty()) return std::nullopt;
  return Sharding{*mesh, in_specs, out_specs};
}

namespace {

/// The backend on which a call runs: the one that the platform asks for, or that of the call itself
/// if the platform is kAuto. A call on the reference backend always stays there.
Backend chosen_backend(const Operation& operation, const void* call, Platform platform,
                       DeviceKind device) {
  const BackendRow& asked = backend_row(operation.backend_of(call));
  if (platform == Platform::kAuto) platform = platform_row(asked.backend).platform;
  const Backend found = find_backend(operation.alias, platform, device);
  return asked.is_reference ? asked.backend : found;
}

}  // namespace

AnyValue ConfiguredCall::prepared(const void* call, bool backward) const {
  auto [platform, device] =
      std::visit([](const auto& own) { return std::pair(own.platform, own.backend); }, config);
  if (how.platform) platform = *how.platform, device = DeviceKind::kAny;
  AnyValue copy = operation.copy_call(call);
  operation.context(copy.get()).backend = chosen_backend(operation, call, platform, device);
  apply_config(module_of(operation), config, backward, copy.get());
  return copy;
}

AnyValue ConfiguredCall::forward(const void* call) const {
  const auto run = [this](const void* one) {
    return operation.forward(prepared(one, false).get());
  };
  const std::optional<Sharding> sharding = how.sharding();
  return sharding ? ShardMap(operation, call, *sharding).forward(run) : run(call);
}

AnyValue ConfiguredCall::backward(const void* call, const void* output, const Cotangents& d) const {
  const auto run = [this](const void* one, const void* out, const Cotangents& of_one) {
    return operation.backward(prepared(one, true).get(), out, of_one);
  };
  const std::optional<Sharding> sharding = how.sharding();
  return sharding ? ShardMap(operation, call, *sharding).backward(output, d, run)
                  : run(call, output, d);
}

namespace {

std::vector<AnyConfig> candidates_on(Backend backend, const ModuleRow& row, const void* call) {
  std::vector<AnyConfig> candidates = {row.heuristic()};
  if (!backend_row(backend).is_tuned || !row.candidates) return candidates;
  for (const AnyConfig& config : row.candidates(call)) candidates.push_back(config);
  return candidates;
}

}  // namespace

std::vector<AnyConfig> candidate_cfgs(const ModuleRow& row, const void* call) {
  return candidates_on(row.operation->backend_of(call), row, call);
}

std::vector<AnyConfig> OpCall::candidate_cfgs() const {
  const Platform platform = how_.platform.value_or(Platform::kAuto);
  const Backend backend = chosen_backend(*row_.operation, call_, platform, DeviceKind::kAny);
  return candidates_on(backend, row_, call_);
}

void OpCall::run(const AnyConfig& config, bool with_backward) const {
  const Operation& operation = *row_.operation;
  const ConfiguredCall configured{operation, config, how_};
  const AnyValue output = configured.forward(call_);
  if (!with_backward || !operation.backward) return;
  // The gradient of sum(out) would be ones. Values do not affect the time, so `out` itself is used.
  const Tensor ones = *operation.outputs.front().array(output.get());
  configured.backward(call_, output.get(), {.out = &ones});
}

KeptCall::KeptCall(const Operation& operation, const void* of, const CallOptions& with)
    : values(operation.copy_call(of)), how(with), call(operation, values.get(), how) {
  if (operation.complete) operation.complete(values.get(), owned);
  for (const Field& field : operation.fields) {
    visit_member(field, values.get(), [this](auto& member) {
      if constexpr (requires { member = owned.keep(*member); }) {
        if (member) member = owned.keep(*member);
      }
    });
  }
}

}  // namespace maskctl::attention
