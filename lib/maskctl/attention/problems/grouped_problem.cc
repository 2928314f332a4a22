#include "maskctl/attention/problems/grouped_problem.h"

#include <algorithm>
#include <span>

#include "maskctl/tensor/convert.h"

namespace maskctl::attention {

void start_product(const RowGroups& groups, const std::optional<TensorView>& existing_out,
                   bool everywhere, const MutableTensorView& out) {
  const std::span<std::byte> bytes(out.data(), as_size(out.elements() * size_bytes(out.dtype())));
  if (!existing_out) {
    std::ranges::fill(bytes, std::byte{0});
    return;
  }
  convert(*existing_out, out);
  if (everywhere) return;
  const std::size_t row_bytes = as_size(groups.columns * size_bytes(out.dtype()));
  for_each_row(groups, [&](Index, Index row) {
    std::ranges::fill(bytes.subspan(as_size(row) * row_bytes, row_bytes), std::byte{0});
  });
}

}  // namespace maskctl::attention
