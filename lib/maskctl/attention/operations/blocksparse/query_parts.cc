#include "maskctl/attention/operations/blocksparse/query_parts.h"

#include <fmt/format.h>

#include <functional>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/slices.h"
#include "maskctl/attention/softmax/dims.h"
#include "maskctl/base/error.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

constexpr Index kTime = 1;      // axis of queries in [B,T,H,D]
constexpr Index kPlaneRow = 2;  // in the lse and in the bias

/// The call on a range of the queries.
struct Part {
  Part(const SoftmaxInputs& whole, const SoftmaxOptions& all, Range rows)
      : query(slice_of(*whole.query, kTime, rows)), inputs(whole), options(all) {
    inputs.query = &query;
    options.first_query += rows.begin;
    if (whole.mask) {
      const Mask& m = *whole.mask;
      mask = sliced(m, {0, m.batch()}, {0, m.heads()}, rows, {0, m.keys()});
      inputs.mask = &*mask;
    }
    if (whole.bias && whole.bias->extent(kPlaneRow) > 1) {
      bias = slice_of(*whole.bias, kPlaneRow, rows);
      inputs.bias = &*bias;
    }
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  Tensor query;
  std::optional<Mask> mask;
  std::optional<Tensor> bias;
  SoftmaxInputs inputs;
  SoftmaxOptions options;
};

void check_parts(const Dims& d, Index parts) {
  if (parts < 1) {
    throw Error(Errc::kInvalidArgument, fmt::format("sequence_parts {} is below 1", parts));
  }
  if (d.queries % parts != 0) {
    throw Error(Errc::kShape,
                fmt::format("{} queries, which {} sequence_parts do not divide", d.queries, parts));
  }
}

Range rows_of(const Dims& d, Index parts, Index part) {
  const Index size = d.queries / parts;
  return {part * size, (part + 1) * size};
}

/// sum += part, in f32; without a sum so far it is the part.
void add(const Tensor& part, std::optional<Tensor>& sum) {
  Tensor wide = astype(part, DType::kFloat32);
  if (!sum) {
    sum = std::move(wide);
    return;
  }
  const auto to = sum->as<float>();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += wide.as<float>()[i];
}

}  // namespace

SoftmaxResult forward_in_parts(const SoftmaxInputs& inputs, const SoftmaxOptions& options,
                               Index parts) {
  const Dims d = checked_dims(inputs, options);
  check_parts(d, parts);
  SoftmaxResult whole{Tensor(inputs.query->dtype(), {d.batch, d.queries, d.q_heads, d.value_dim}),
                      Tensor(DType::kFloat32, {d.batch, d.q_heads, d.queries})};
  for (Index n = 0; n < parts; ++n) {
    const Range rows = rows_of(d, parts, n);
    const Part part(inputs, options, rows);
    const SoftmaxResult result = softmax_forward(part.inputs, part.options);
    write_slice(result.out, kTime, rows.begin, whole.out);
    write_slice(result.lse, kPlaneRow, rows.begin, whole.lse);
  }
  return whole;
}

SoftmaxGradients backward_in_parts(const SoftmaxInputs& inputs, const SoftmaxResult& forward,
                                   const Tensor& d_out, const SoftmaxOptions& options,
                                   const Tensor* d_lse, Index parts) {
  const Dims d = checked_dims(inputs, options);
  check_parts(d, parts);
  check_shape("d_out", d_out, std::vector{d.batch, d.queries, d.q_heads, d.value_dim});
  check_shape("out", forward.out, d_out.shape());
  check_shape("lse", forward.lse, std::vector{d.batch, d.q_heads, d.queries});
  if (d_lse) check_shape("d_lse", *d_lse, forward.lse.shape());
  Tensor d_query(inputs.query->dtype(), inputs.query->shape());
  std::optional<Tensor> d_key, d_value, d_bias, d_sinks;
  for (Index n = 0; n < parts; ++n) {
    const Range rows = rows_of(d, parts, n);
    const Part part(inputs, options, rows);
    const SoftmaxResult result{slice_of(forward.out, kTime, rows),
                               slice_of(forward.lse, kPlaneRow, rows)};
    std::optional<Tensor> part_d_lse;
    if (d_lse) part_d_lse = slice_of(*d_lse, kPlaneRow, rows);
    const SoftmaxGradients g = softmax_backward(part.inputs, result, slice_of(d_out, kTime, rows),
                                                part.options, part_d_lse ? &*part_d_lse : nullptr);
    write_slice(g.query, kTime, rows.begin, d_query);
    add(g.key, d_key);
    add(g.value, d_value);
    if (g.sinks) add(*g.sinks, d_sinks);
    if (g.bias && !part.bias) add(*g.bias, d_bias);
    if (!part.bias) continue;
    if (!d_bias) d_bias.emplace(DType::kFloat32, inputs.bias->shape());
    write_slice(astype(*g.bias, DType::kFloat32), kPlaneRow, rows.begin, *d_bias);
  }
  SoftmaxGradients whole{std::move(d_query), astype(*d_key, inputs.key->dtype()),
                         astype(*d_value, inputs.value->dtype()), std::nullopt, std::nullopt};
  if (d_bias) whole.bias = astype(*d_bias, inputs.bias->dtype());
  if (d_sinks) whole.sinks = astype(*d_sinks, inputs.sinks->dtype());
  return whole;
}

}  // namespace maskctl::attention
