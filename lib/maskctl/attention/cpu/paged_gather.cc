#include "maskctl/attention/cpu/paged_gather.h"

#include <algorithm>
#include <array>
#include <utility>

#include "maskctl/attention/cpu/kernels.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/bands.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

/// [1,n,heads,D] f32 of the positions in `read`.
Tensor gathered(const PagedProblem& c, const PagedSequence& s, const std::byte* array, Range read) {
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

Tensor query_rows(const PagedProblem& c, Range rows) {
  const std::array<Index, 4> shape{1, rows.size(), c.q_heads, c.cache.dim};
  const Index row_bytes = c.q_heads * c.cache.dim * size_bytes(c.queries.dtype());
  Tensor part = Tensor::unwritten(DType::kFloat32, {shape.begin(), shape.end()});
  convert({c.queries.data() + rows.begin * row_bytes, c.queries.dtype(), shape}, part);
  return part;
}

}  // namespace

void gathered_attention(const PagedProblem& c, const PagedSequence& s, const Context& context,
                        float* out) {
  const Range read = c.read(s);
  const Tensor query = query_rows(c, s.rows), key = gathered(c, s, c.cache.keys, read),
               value = gathered(c, s, c.cache.values, read);
  // Row 0 sees up to this key of those gathered.
  const Index last = c.visible(s, s.rows.begin).end - 1 - read.begin;
  Mask mask(diagonal_band(s.rows.size(), read.size(), c.left ? last - *c.left : -kUnbounded, last));
  SoftmaxOptions options;
  options.soft_cap = c.soft_cap;
  options.q_block = c.tiles.queries;
  const Dims d{1, s.rows.size(), read.size(), c.q_heads, c.cache.heads, c.cache.dim, c.cache.dim};
  Tensor lse = Tensor::unwritten(DType::kFloat32, {1, c.q_heads, s.rows.size()});
  const MutableTensorView rows(
      reinterpret_cast<std::byte*>(out + s.rows.begin * c.q_heads * c.cache.dim), DType::kFloat32,
      query.shape());
  cpu::softmax_forward(
      {d, query, key, value, std::move(mask), nullptr, std::nullopt, c.sinks, c.scale, options},
      {rows, lse}, context);
  for (float& x : rows.as<float>()) x *= static_cast<float>(c.value_scale);
}

}  // namespace maskctl::attention
