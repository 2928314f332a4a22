#include "maskctl/verify/call_variants.h"

#include <algorithm>
#include <string_view>

#include "maskctl/attention/calls/bound_call.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/verify/compare.h"
#include "maskctl/verify/key_side.h"

namespace maskctl::attention {
bool has_empty_rows(const Mask& mask) {
  return std::ranges::any_of(mask.distinct(), [](const PlanePtr& plane) {
    bool empty = plane->keys() == 0;
    plane->row_sizes({0, plane->queries()}, [&empty](Range, const Plane::RowSize& size) {
      empty = empty || size.keys == 0;
    });
    return empty;
  });
}

bool adds_bias_before_cap(const Operation& operation) {
  return operation.name == "flash_attention" || operation.name == "blocksparse_attention";
}

std::string_view empty_row_policy(const NamedArguments& arguments) {
  const auto found = arguments.options.find("empty_row");
  const bool usual = found == arguments.options.end() || found->second == "none";
  return usual ? std::string_view("zero") : found->second;
}

NamedArguments in_f32(NamedArguments arguments) {
  for (auto& [name, array] : arguments.arrays) {
    const bool is_small = is_floating(array.dtype()) && size_bytes(array.dtype()) < 4;
    if (is_small) array = astype(array, DType::kFloat32);
  }
  return arguments;
}

CallVariants::CallVariants(const VerifyRequest& request, const NamedResults& given,
                           const std::optional<Mask>& mask)
    : operation_(request.operation), arguments_(in_f32(request.arguments)) {
  arguments_.context.backend = Backend::kCpu;
  arguments_.runner = nullptr;
  gradients_ =
      std::ranges::any_of(given, [](const auto& result) { return is_gradient(result.first); });
  arguments_.gradient_seed.reset();
  if (gradients_) {
    arguments_.gradient_seed = request.seed;
  } else {
    arguments_ = without_gradients(std::move(arguments_));
  }
  if (!operation_->takes_mask() || !mask) return;
  arguments_ = without_closing(*operation_, std::move(arguments_));
  arguments_.mask = mask;
  mask_ = mask;
}

NamedResults CallVariants::run(const NamedArguments& arguments) const {
  NamedResults results = attention::run(*operation_, arguments);
  results.erase("weights");  // not compared, and as large as the mask
  return results;
}

bool CallVariants::has_values() const {
  const auto found = arguments_.arrays.find("value");
  return found != arguments_.arrays.end() && found->second.dtype() == DType::kFloat32;
}

NamedArguments CallVariants::randomly_signed(NamedArguments arguments) {
  NamedArguments changed = without_gradients(std::move(arguments));
  Tensor& value = changed.arrays.at("value");
  const Index length = value.shape().back(), rows = length == 0 ? 0 : value.elements() / length;
  const Tensor signs = random_normal({rows}, 17);
  for (Index n = 0; n < rows; ++n) {
    if (signs.as<float>()[as_size(n)] > 0) continue;
    for (float& x : value.as<float>().subspan(as_size(n * length), as_size(length))) x = -x;
  }
  return changed;
}

std::optional<NamedResults> CallVariants::with_random_signs() const {
  return has_values() ? std::optional(run(randomly_signed(arguments_))) : std::nullopt;
}

bool CallVariants::takes_lse_cotangent() const {
  return gradients_ && takes_cotangent(*operation_, "lse");
}

NamedResults CallVariants::gradients_of(const Tensor& d_out, const Tensor& d_lse) const {
  NamedArguments changed = without_gradients(arguments_);
  changed.arrays["cotangent_out"] = d_out;
  changed.arrays["cotangent_lse"] = d_lse;
  return run(changed);
}

}  // namespace maskctl::attention
