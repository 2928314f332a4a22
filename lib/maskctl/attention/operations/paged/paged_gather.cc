// A sequence of many rows as an ordinary call of softmax attention.
#include <algorithm>

#include "maskctl/attention/operations/paged/paged_backends.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/bands.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

/// [1,n,heads,D] f32 of the positions in `read`.
Tensor gathered(const PagedCall& c, const PagedSequence& s, const std::byte* array, Range read) {
  Tensor rows(c.cache.dtype, {1, read.size(), c.cache.heads, c.cache.dim});
  const Index bytes = size_bytes(c.cache.dtype);
  std::byte* const out = rows.bytes().data();
  parallel_for(read.size(), [&](Index i) {
    for (Index u = 0; u < c.cache.heads; ++u) {
      const Index from = c.element(s, read.begin + i) + u * c.cache.head_stride;
      std::copy_n(array + from * bytes, c.cache.dim * bytes,
                  out + (i * c.cache.heads + u) * c.cache.dim * bytes);
    }
  });
  return c.cache.dtype == DType::kFloat32 ? rows : astype(rows, DType::kFloat32);
}

Tensor query_rows(const PagedCall& c, Range rows) {
  Tensor part(c.queries->dtype(), {1, rows.size(), c.q_heads, c.cache.dim});
  const Index row_bytes = c.q_heads * c.cache.dim * size_bytes(part.dtype());
  std::copy_n(c.queries->bytes().data() + rows.begin * row_bytes, rows.size() * row_bytes,
              part.bytes().data());
  return astype(part, DType::kFloat32);
}

}  // namespace

void gathered_attention(const PagedCall& c, const PagedSequence& s, Tensor& out) {
  const Range read = c.read(s);
  const Tensor query = query_rows(c, s.rows), key = gathered(c, s, c.cache.keys, read),
               value = gathered(c, s, c.cache.values, read);
  // Row 0 sees up to this key of those gathered.
  const Index last = c.visible(s, s.rows.begin).end - 1 - read.begin;
  const Mask mask(
      diagonal_band(s.rows.size(), read.size(), c.left ? last - *c.left : -kUnbounded, last));
  SoftmaxOptions options;
  options.scale = c.scale, options.soft_cap = c.soft_cap;
  options.q_block = c.tiles.queries;
  const SoftmaxResult result =
      softmax_forward({&query, &key, &value, &mask, nullptr, c.sinks}, options);
  const auto from = result.out.as<float>();
  std::transform(from.begin(), from.end(),
                 out.as<float>().begin() + s.rows.begin * c.q_heads * c.cache.dim,
                 [factor = static_cast<float>(c.value_scale)](float x) { return factor * x; });
}

}  // namespace maskctl::attention
