#include "maskctl/attention/sharded/cut_call.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/calls/axes.h"

namespace maskctl::attention {
namespace {

void add_mask(std::string_view name, const Mask& mask, ShardPlan& plan) {
  const Index shape[] = {mask.batch(), mask.heads(), mask.queries(), mask.keys()};
  plan.add_input(name, shape, kMaskAxes, nullptr);
}

void add_masks(const Field& field, const void* call, ShardPlan& plan) {
  visit_member(field, call, [&](const auto& member) {
    using Member = std::decay_t<decltype(member)>;
    if constexpr (std::is_same_v<Member, const Mask*>) {
      if (member) add_mask(field.name, *member, plan);
    }
  });
}

void check_spec_counts(const Operation& operation, const Sharding& sharding, std::size_t most) {
  const std::size_t ins = sharding.in_specs.size(), outs = sharding.out_specs.size();
  const std::size_t least = std::min(operation.least_specs, most);
  if (ins < least || ins > most) {
    refuse(fmt::format("sharded {}: {} in_specs, expected {} to {}", operation.alias, ins, least,
                       most));
  }
  const std::size_t expected = operation.updated_axes.empty() ? 1 : 2;
  if (outs != expected) {
    refuse(fmt::format("sharded {}: {} out_specs, expected {}", operation.alias, outs, expected));
  }
}

}  // namespace

std::string_view out_axes(const Operation& operation, const void* call, std::size_t rank) {
  const Field& first = operation.fields.front();
  std::string_view axes = operation.outputs.front().axes, inputs = axes_of(first, call);
  const auto next = [](std::string_view& list) {
    const std::string_view one = list.substr(0, list.find('|'));
    list.remove_prefix(std::min(one.size() + 1, list.size()));
    return one;
  };
  while (axes.find('|') != axes.npos) {
    const std::string_view one = next(axes);
    if (axes_of_rank(next(inputs), rank)) return one;
  }
  return axes;
}

AnyValue completed(const Operation& operation, const void* call, OwnedArrays& owned) {
  AnyValue copy = operation.copy_call(call);
  if (operation.complete) operation.complete(copy.get(), owned);
  return copy;
}

ShardPlan plan_of(const Operation& operation, const void* call, const Sharding& sharding,
                  const ShapeOf& shape_of) {
  ShardPlan plan(operation.alias, sharding.mesh, operation.splittable, operation.collective);
  std::size_t number = 0;
  for (const Field& field : operation.fields) {
    if (!field.is_array) {
      add_masks(field, call, plan);
      continue;
    }
    const std::size_t at = number++;
    const bool given = at < sharding.in_specs.size() && sharding.in_specs[at];
    const Tensor* const array = array_of(field, call);
    if (!array) continue;
    plan.add_input(field.name, shape_of(*array), axes_of(field, call),
                   given ? &*sharding.in_specs[at] : nullptr);
  }
  check_spec_counts(operation, sharding, number);
  plan.add_output(
      "out", out_axes(operation, call, array_of(operation.fields.front(), call)->shape().size()),
      sharding.out_specs[0]);
  if (!operation.updated_axes.empty()) {
    plan.add_output("the updated array", operation.updated_axes, sharding.out_specs[1]);
  }
  if (operation.check_sharding) operation.check_sharding(call, plan);
  return plan;
}

CutCall::CutCall(const Operation& operation, const void* whole, const Shard& shard,
                 const ShardPlan& plan, const Parts& parts)
    : call(operation.copy_call(whole)) {
  for (const Field& field : operation.fields) {
    const std::string_view axes = axes_of(field, whole);
    visit_member(field, call.get(), [&](auto& member) {
      if constexpr (requires { cut(member, axes, shard, parts); }) {
        if (member) cut(member, axes, shard, parts);
      }
    });
  }
  if (operation.localise) operation.localise(call.get(), shard, plan, owned);
}

void CutCall::cut(const Tensor*& array, std::string_view axes, const Shard& shard,
                  const Parts& parts) {
  const auto part = parts.find(array);
  array = part != parts.end() ? part->second : owned.keep(shard_of(*array, axes, shard));
}

void CutCall::cut(Tensor*& array, std::string_view axes, const Shard& shard, const Parts& parts) {
  const auto part = parts.find(array);
  Tensor* const copy =
      owned.keep(part != parts.end() ? *part->second : shard_of(*array, axes, shard));
  updated.push_back({array, axes, copy});
  array = copy;
}

void CutCall::cut(const Mask*& mask, std::string_view, const Shard& shard, const Parts&) {
  mask = owned.keep(shard_of(*mask, shard));
}

}  // namespace maskctl::attention
