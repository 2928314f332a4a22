// Segments of tokens, their means and the gradients of these.
#include "maskctl/attention/operations/mean_pooling/mean_pooling.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/packed_sequences.h"
#include "maskctl/attention/arrays/round_to.h"
#include "maskctl/attention/arrays/to_double.h"
#include "maskctl/attention/cpu/heads.h"
#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(Errc::kInvalidArgument, message);
}

/// One call, checked: mean n is over the tokens `segments[n]` of all tokens of the batch.
struct Pooling {
  Index tokens = 0, width = 1;  // of x as [tokens, width]
  std::vector<Range> segments;
  std::vector<Index> out_shape;
  std::vector<char> counted;  // empty: all

  bool counts(Index token) const { return counted.empty() || counted[as_size(token)] != 0; }
  /// 1 / the number of tokens that count, 0 when there are none.
  double weight(Range segment) const {
    Index count = 0;
    for (Index t = segment.begin; t < segment.end; ++t) count += counts(t);
    return count == 0 ? 0 : 1 / static_cast<double>(count);
  }
};

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

/// Each token of [B,T]: whether it counts.
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

/// The tokens of each sequence, and whether x starts with an axis of batches.
std::vector<Range> sequences(const MeanPoolingInputs& in, bool has_batch) {
  const Index batch = has_batch ? in.x->extent(0) : 1, tokens = in.x->extent(has_batch ? 1 : 0);
  if (in.cu_seqlens) {
    if (batch != 1) {
      throw Error(
          Errc::kShape,
          fmt::format("cu_seqlens needs a batch of 1, the batch is {}; pack the rows", batch));
    }
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

Pooling checked_pooling(const MeanPoolingInputs& in, const MeanPoolingOptions& options) {
  check_inputs(in, options);
  const bool per_chunk = options.mode == PoolingMode::kPerChunk;
  const bool has_batch = per_chunk || !in.cu_seqlens;
  const Index lead = has_batch ? 2 : 1;  // axes before those that are pooled alike
  if (in.x->rank() < lead) {
    throw Error(Errc::kShape,
                fmt::format("x is {}, expected {} or more axes", shape_text(in.x->shape()), lead));
  }
  Pooling p;
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

Tensor reference_forward(const Tensor& x, const Pooling& p) {
  const std::vector<double> values = doubles(&x);
  std::vector<double> means(p.segments.size() * as_size(p.width));
  for (std::size_t n = 0; n < p.segments.size(); ++n) {
    for (Index c = 0; c < p.width; ++c) {
      double sum = 0;
      for (Index t = p.segments[n].begin; t < p.segments[n].end; ++t) {
        if (p.counts(t)) sum += values[as_size(t * p.width + c)];
      }
      means[n * as_size(p.width) + as_size(c)] = sum * p.weight(p.segments[n]);
    }
  }
  return tensor_of(means, x.dtype(), p.out_shape);
}

/// Columns of one task: the sums stay in the L1 cache.
constexpr Index kColumns = 512;

/// f(segment, columns) on all threads.
template <class F>
void for_each_part(const Pooling& p, F&& f) {
  const Index parts = ceil_div(p.width, kColumns);
  parallel_for(static_cast<Index>(p.segments.size()) * parts, [&](Index n) {
    const Index first = n % parts * kColumns;
    f(as_size(n / parts), Range{first, std::min(first + kColumns, p.width)});
  });
}

Tensor cpu_forward(const Tensor& x, const Pooling& p) {
  const Floats values(&x);
  Tensor means(DType::kFloat32, p.out_shape);
  for_each_part(p, [&](std::size_t n, Range columns) {
    std::vector<double> sums(as_size(columns.size()));
    for (Index t = p.segments[n].begin; t < p.segments[n].end; ++t) {
      if (!p.counts(t)) continue;
      const float* const row = values.data() + t * p.width + columns.begin;
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += static_cast<double>(row[c]);
    }
    const double weight = p.weight(p.segments[n]);
    float* const out = means.as<float>().data() + static_cast<Index>(n) * p.width + columns.begin;
    for (std::size_t c = 0; c < sums.size(); ++c) out[c] = static_cast<float>(sums[c] * weight);
  });
  return rounded(std::move(means), x.dtype());
}

}  // namespace

Tensor mean_pooling(const MeanPoolingInputs& in, const MeanPoolingOptions& options) {
  const Pooling p = checked_pooling(in, options);
  return options.backend == Backend::kReference ? reference_forward(*in.x, p)
                                                : cpu_forward(*in.x, p);
}

Tensor mean_pooling_backward(const MeanPoolingInputs& in, const Tensor& d_out,
                             const MeanPoolingOptions& options) {
  const Pooling p = checked_pooling(in, options);
  check_shape("d_out", d_out, p.out_shape);
  // Each element is one product: float64 for every backend.
  const std::vector<double> slope = doubles(&d_out);
  std::vector<double> d_x(as_size(in.x->elements()));
  for (std::size_t n = 0; n < p.segments.size(); ++n) {
    const double weight = p.weight(p.segments[n]);
    for (Index t = p.segments[n].begin; t < p.segments[n].end; ++t) {
      for (Index c = 0; p.counts(t) && c < p.width; ++c) {
        d_x[as_size(t * p.width + c)] = weight * slope[n * as_size(p.width) + as_size(c)];
      }
    }
  }
  return tensor_of(d_x, *in.x);
}

}  // namespace maskctl::attention
