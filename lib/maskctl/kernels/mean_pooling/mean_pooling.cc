// Mean pooling and its gradient: checks a call, then runs its kernels.
#include "maskctl/kernels/mean_pooling/mean_pooling.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/to_double.h"
#include "maskctl/kernels/problems/pooling_problem.h"
#include "maskctl/kernels/problems/table.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

void check_inputs(const MeanPoolingInputs& in, const MeanPoolingOptions& options) {
  if (!in.x) refuse("x is missing");
  check_dtypes({{"x", in.x}});
  if (in.cu_seqlens && in.attention_mask) {
    refuse("cu_seqlens and attention_mask are given, expected one at most");
  }
  if (options.chunk_size < 1) {
    refuse(fmt::format("chunk_size is {}, expected at least 1", options.chunk_size));
  }
}

/// For each token of [B,T], 1 if it counts, else 0.
std::vector<char> counted_tokens(const Tensor& mask, Index batch, Index tokens) {
  check_shape("attention_mask", mask, std::vector<Index>{batch, tokens});
  const Tensor bools = mask.dtype() == DType::kBool ? astype(mask, DType::kUInt8) : mask;
  std::vector<char> counted;
  counted.reserve(as_size(mask.elements()));
  for (const std::int64_t x : as_int64(bools, "attention_mask")) {
    if (x != 0 && x != 1) refuse(fmt::format("attention_mask has {}, expected 0 and 1", x));
    counted.push_back(static_cast<char>(x));
  }
  return counted;
}

/// The tokens of each sequence, as ranges over all tokens. `has_batch`: x begins with a batch axis.
std::vector<Range> sequences(const MeanPoolingInputs& in, bool has_batch) {
  const Index batch = has_batch ? in.x->extent(0) : 1, tokens = in.x->extent(has_batch ? 1 : 0);
  if (in.cu_seqlens) {
    check_one_row(batch);
    return packed_sequences(*in.cu_seqlens, tokens);
  }
  std::vector<Range> rows;
  for (Index b = 0; b < batch; ++b) rows.push_back({b * tokens, (b + 1) * tokens});
  return rows;
}

std::vector<Range> chunks(const std::vector<Range>& sequences, Index size) {
  std::vector<Range> out;
  for (const Range& s : sequences) {
    for (Index t = s.begin; t < s.end; t += size) out.push_back({t, std::min(t + size, s.end)});
  }
  return out;
}

PoolingProblem checked_pooling(const MeanPoolingInputs& in, const MeanPoolingOptions& options) {
  check_inputs(in, options);
  const bool per_chunk = options.mode == PoolingMode::kPerChunk;
  const bool has_batch = per_chunk || !in.cu_seqlens;
  const Index lead = has_batch ? 2 : 1;  // number of token axes: B and T, or only T
  if (in.x->rank() < lead) {
    refuse_shape(fmt::format("x is {}, expected {} or more axes", shape_text(in.x->shape()), lead));
  }
  PoolingProblem p;
  p.x = *in.x;
  p.segments = sequences(in, has_batch);
  if (per_chunk) {
    p.segments = chunks(p.segments, options.chunk_size);
    const Index batch = in.x->extent(0), count = static_cast<Index>(p.segments.size());
    p.out_shape = {batch, batch == 0 ? 0 : count / batch};
  } else {
    p.out_shape = {static_cast<Index>(p.segments.size())};
  }
  p.tokens = has_batch ? in.x->extent(0) * in.x->extent(1) : in.x->extent(0);
  for (Index axis = lead; axis < in.x->rank(); ++axis) {
    p.out_shape.push_back(in.x->extent(axis));
    p.width *= in.x->extent(axis);
  }
  if (in.attention_mask) {
    p.counted = counted_tokens(*in.attention_mask, in.x->extent(0), in.x->extent(1));
  }
  return p;
}

}  // namespace

Tensor mean_pooling(const MeanPoolingInputs& in, const MeanPoolingOptions& options) {
  const PoolingProblem problem = checked_pooling(in, options);
  Tensor out = Tensor::unwritten(in.x->dtype(), problem.out_shape);
  run_kernel(options.context, "mean_pooling", &MasklessKernels::mean_pooling, problem, out);
  return out;
}

Tensor mean_pooling_backward(const MeanPoolingInputs& in, const Tensor& d_out,
                             const MeanPoolingOptions& options) {
  const PoolingProblem p = checked_pooling(in, options);
  check_shape("d_out", d_out, p.out_shape);
  // Each element is a single product, so every backend computes it here in float64.
  const std::vector<double> d_means = to_double(d_out);
  std::vector<double> d_x(as_size(in.x->elements()));
  for (std::size_t n = 0; n < p.segments.size(); ++n) {
    const double weight = p.weight(p.segments[n]);
    for (Index t = p.segments[n].begin; t < p.segments[n].end; ++t) {
      for (Index c = 0; p.counts(t) && c < p.width; ++c) {
        d_x[as_size(t * p.width + c)] = weight * d_means[n * as_size(p.width) + as_size(c)];
      }
    }
  }
  return tensor_of(d_x, *in.x);
}

}  // namespace maskctl::attention
