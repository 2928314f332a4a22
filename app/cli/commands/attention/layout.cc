#include "app/cli/commands/attention/layout.h"

#include <algorithm>
#include <string_view>

namespace maskctl::app {
namespace {

using attention::Layout;
using attention::Operation;

/// True for the axes of an array with both heads and time, such as "B Tq Hq D" or "B Hq Tq D".
bool has_heads_beside_time(std::string_view axes) {
  return axes.starts_with("B T") ? axes.find(" H") != axes.npos
                                 : axes.starts_with("B H") && axes.find(" T") != axes.npos;
}

/// Returns the axes of the argument `name`. A gradient has the axes of its argument; the output and
/// its cotangent have those of the first argument. Empty for other names.
std::string_view axes_of(const Operation& operation, std::string_view name) {
  if (name.starts_with("grad_")) name.remove_prefix(5);
  if (name == "out" || name == "cotangent_out") return operation.fields.front().axes;
  const auto found = std::ranges::find(operation.fields, name, &attention::Field::name);
  return found == operation.fields.end() ? "" : found->axes;
}

/// Swaps axes 1 and 2 of a 4-D tensor.
Tensor exchanged(const Tensor& from) {
  const Index batch = from.extent(0), outer = from.extent(1), inner = from.extent(2);
  Tensor to(from.dtype(), {batch, inner, outer, from.extent(3)});
  const Index bytes = from.extent(3) * size_bytes(from.dtype());
  for (Index b = 0; b < batch; ++b) {
    for (Index i = 0; i < outer; ++i) {
      for (Index j = 0; j < inner; ++j) {
        std::copy_n(from.bytes().begin() + ((b * outer + i) * inner + j) * bytes, bytes,
                    to.bytes().begin() + ((b * inner + j) * outer + i) * bytes);
      }
    }
  }
  return to;
}

}  // namespace

Layout own_layout(const Operation& operation) {
  return operation.heads_first() ? Layout::kBhtd : Layout::kBthd;
}

Tensor transposed(const Operation& operation, const std::string& name, Tensor tensor,
                  std::optional<Layout> layout) {
  const bool stays = !layout || *layout == own_layout(operation) || tensor.rank() != 4 ||
                     name == "bias" || !has_heads_beside_time(axes_of(operation, name));
  if (stays) return tensor;
  return exchanged(tensor);
}

}  // namespace maskctl::app
