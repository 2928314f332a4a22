#include "maskctl/attention/softmax/array_masks.h"

#include <fmt/format.h>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/mask/arrays/dense.h"

namespace maskctl::attention {

Mask fit(const Mask& mask, const MaskExtents& x, const char* what) {
  const Index heads = mask.heads();
  const bool fits = (mask.batch() == 1 || mask.batch() == x.batch) &&
                    (heads == 1 || heads == x.kv_heads || heads == x.q_heads) &&
                    mask.queries() == x.queries && mask.keys() == x.keys;
  if (!fits) {
    refuse_shape(fmt::format("{} is {}, expected [B {}, H {}, Q {}, K {}]", what, shape_text(mask),
                             any_of_text({1, x.batch}), any_of_text({1, x.kv_heads, x.q_heads}),
                             x.queries, x.keys));
  }
  if (heads == 1 || heads == x.q_heads) return mask;
  return Mask::make(mask.batch(), x.q_heads, x.queries, x.keys,
                    [&](Index b, Index h) { return mask.plane(b, h / (x.q_heads / x.kv_heads)); });
}

Mask array_mask(const Tensor& array, const MaskExtents& x) {
  if (array.rank() != 2) return fit(mask_from_dense(array), x, "attention_mask");
  if (array.extent(1) != x.keys) {
    refuse_shape(fmt::format("attention_mask is {}, expected ({}, {}): one flag for each key",
                             shape_text(array.shape()), x.batch, x.keys));
  }
  return fit(mask_from_key_padding(array, x.queries), x, "attention_mask");
}

Mask block_mask(const Tensor& map, Index size, const MaskExtents& x) {
  if (map.dtype() != DType::kBool) {
    refuse(fmt::format("block_mask is {}, expected bool", name(map.dtype())));
  }
  if (size < 1) refuse(fmt::format("block_size {} is below 1", size));
  const Index rank = map.rank(), rows = ceil_div(x.queries, size), columns = ceil_div(x.keys, size);
  const bool ranked = rank >= 2 && rank <= 4;
  if (!ranked || map.extent(rank - 2) != rows || map.extent(rank - 1) != columns) {
    refuse_shape(fmt::format("block_mask is {}, expected [B, H, {}, {}] for blocks of {}",
                             shape_text(map.shape()), rows, columns, size));
  }
  const Index batch = rank == 4 ? map.extent(0) : 1, heads = rank > 2 ? map.extent(rank - 3) : 1;
  return fit(mask_from_blocks(map, batch, heads, x.queries, x.keys, {size, size}), x, "block_mask");
}

}  // namespace maskctl::attention
