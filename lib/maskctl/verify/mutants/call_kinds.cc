// Mutants that apply the right mask and another scale, cap, sinks, bias or key heads.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "maskctl/verify/mutants/kinds.h"

namespace maskctl::attention {
namespace {

std::string scaled(KernelCall& call, double scale, std::string_view what) {
  const double right = call.scale;
  call.scale = scale;
  return fmt::format("softmax scale {:.6g}, {}, instead of {:.6g}", scale, what, right);
}

std::string unscaled(const DeclaredCall&, Draw&, KernelCall& call) {
  return call.scale == 1 ? "" : scaled(call, 1, "as without one");
}

std::string scaled_twice(const DeclaredCall& declared, Draw&, KernelCall& call) {
  const double scale = 1 / static_cast<double>(declared.call().dim);
  return call.scale == scale ? "" : scaled(call, scale, "1 / D");
}

std::string scaled_for_exp2(const DeclaredCall&, Draw&, KernelCall& call) {
  return scaled(call, call.scale * std::numbers::log2e, "log2(e) times the right one");
}

std::string cap_dropped(const DeclaredCall& declared, Draw&, KernelCall& call) {
  if (!declared.call().soft_cap) return "";
  call.soft_cap.reset();
  return fmt::format("without the cap {:.6g}", *declared.call().soft_cap);
}

std::string cap_after_mask(const DeclaredCall& declared, Draw&, KernelCall& call) {
  const Mask& mask = declared.mask();
  if (!call.soft_cap || mask.count() == mask.cells()) return "";
  call.caps_closed = true;
  return fmt::format("the cap after the mask: closed logits are {:.6g}", -*call.soft_cap);
}

std::string sinks_dropped(const DeclaredCall&, Draw&, KernelCall& call) {
  if (!call.sinks) return "";
  call.sinks.reset();
  return "without the sinks";
}

std::string sinks_twice(const DeclaredCall&, Draw&, KernelCall& call) {
  if (!call.sinks) return "";
  const Index heads = call.sinks->extent(0), n = call.sinks->extent(1);
  Tensor twice(DType::kFloat32, {heads, 2 * n});
  for (Index h = 0; h < heads; ++h) {
    const auto from = call.sinks->as<float>().subspan(as_size(h * n), as_size(n));
    for (const Index half : {Index{0}, n}) {
      std::ranges::copy(from, twice.as<float>().begin() + 2 * h * n + half);
    }
  }
  call.sinks = std::move(twice);
  return "the sinks are counted twice";
}

std::string bias_dropped(const DeclaredCall&, Draw&, KernelCall& call) {
  if (!call.bias) return "";
  call.bias.reset();
  return "without the bias";
}

std::string bias_negated(const DeclaredCall&, Draw&, KernelCall& call) {
  if (!call.bias) return "";
  for (float& x : call.bias->as<float>()) x = -x;
  return "the bias is subtracted";
}

std::string key_heads_modulo(const DeclaredCall& declared, Draw&, KernelCall& call) {
  const Index kv_heads = declared.call().kv_heads;
  std::vector<Index> heads(call.key_heads.size());
  for (std::size_t h = 0; h < heads.size(); ++h) heads[h] = static_cast<Index>(h) % kv_heads;
  if (heads == call.key_heads) return "";
  call.key_heads = std::move(heads);
  return fmt::format("query head h reads key head h mod {}", kv_heads);
}

constexpr MutantKind kCallKinds[] = {
    kind_row(MutantGroup::kCall, "scale-one", "logits are not scaled", unscaled,
             "a scale that is not 1"),
    kind_row(MutantGroup::kCall, "scale-twice", "logits are scaled by 1 / D", scaled_twice,
             "another scale than 1 / D"),
    kind_row(MutantGroup::kCall, "scale-log2e", "logits are scaled by log2(e) as well",
             scaled_for_exp2, ""),
    kind_row(MutantGroup::kCall, "cap-dropped", "the soft cap is ignored", cap_dropped,
             "a soft cap"),
    kind_row(MutantGroup::kCall, "cap-after-mask",
             "the soft cap comes after the mask, and opens it", cap_after_mask,
             "a soft cap, and a closed cell"),
    kind_row(MutantGroup::kCall, "sinks-dropped", "learnable sinks are ignored", sinks_dropped,
             "learnable sinks"),
    kind_row(MutantGroup::kCall, "sinks-twice", "learnable sinks are counted twice", sinks_twice,
             "learnable sinks"),
    kind_row(MutantGroup::kCall, "bias-dropped", "the bias is ignored", bias_dropped, "a bias"),
    kind_row(MutantGroup::kCall, "bias-negated", "the bias has the other sign", bias_negated,
             "a bias"),
    kind_row(MutantGroup::kCall, "key-heads", "query head h reads key head h mod Hkv",
             key_heads_modulo, "several key heads, and more query heads"),
};

}  // namespace

std::span<const MutantKind> call_kinds() { return kCallKinds; }

}  // namespace maskctl::attention
