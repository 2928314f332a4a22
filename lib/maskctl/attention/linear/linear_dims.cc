// Checks of shapes and options, before any work.
#include "maskctl/attention/linear/linear_dims.h"

#include <fmt/format.h>

#include <cmath>

#include "maskctl/attention/core/dims.h"
#include "maskctl/attention/core/packed_sequences.h"
#include "maskctl/base/error.h"

namespace maskctl::attention {
namespace {

using Shape = std::vector<Index>;

void check_rank(const char* what, const Tensor* tensor) {
  if (!tensor) throw Error(Errc::kInvalidArgument, fmt::format("{} is missing", what));
  if (tensor->rank() != 4) {
    throw Error(Errc::kShape, fmt::format("{} is {}, expected 4 axes: batch, tokens, heads, width",
                                          what, shape_text(tensor->shape())));
  }
}

void check_dtypes(const RecurrentAttentionInputs& in) {
  const DType dtype = in.query->dtype();
  if (dtype != DType::kFloat32 && dtype != DType::kFloat16 && dtype != DType::kBFloat16) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("query is {}, expected float32, float16 or bfloat16", name(dtype)));
  }
  if (in.key->dtype() == dtype && in.value->dtype() == dtype) return;
  throw Error(Errc::kInvalidArgument,
              fmt::format("query is {}, key {} and value {}; expected one dtype", name(dtype),
                          name(in.key->dtype()), name(in.value->dtype())));
}

void check_floats(const char* what, const Tensor* tensor, const Shape& shape) {
  if (!tensor) return;
  if (!is_floating(tensor->dtype())) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{} is {}, expected a float", what, name(tensor->dtype())));
  }
  check_shape(what, *tensor, shape);
}

std::vector<LinearSequence> sequences(const Tensor* cu_seqlens, Index batch, Index tokens) {
  std::vector<LinearSequence> out;
  if (!cu_seqlens) {
    for (Index b = 0; b < batch; ++b) out.push_back({b, {0, tokens}});
    return out;
  }
  if (batch != 1) {
    throw Error(
        Errc::kShape,
        fmt::format("cu_seqlens needs a batch of 1, the batch is {}; pack the rows", batch));
  }
  for (const Range range : packed_sequences(*cu_seqlens, tokens)) out.push_back({0, range});
  return out;
}

}  // namespace

LinearDims checked_linear_dims(const RecurrentAttentionInputs& in,
                               const RecurrentAttentionOptions& options) {
  check_rank("query", in.query);
  check_rank("key", in.key);
  check_rank("value", in.value);
  check_dtypes(in);
  LinearDims d;
  d.batch = in.query->extent(0), d.tokens = in.query->extent(1);
  d.heads = in.query->extent(2), d.kv_heads = in.key->extent(2);
  d.key_dim = in.query->extent(3), d.value_dim = in.value->extent(3);
  check_shape("key", *in.key, Shape{d.batch, d.tokens, d.kv_heads, d.key_dim});
  check_shape("value", *in.value, Shape{d.batch, d.tokens, d.kv_heads, d.value_dim});
  if (d.kv_heads == 0 || d.heads % d.kv_heads != 0) {
    throw Error(Errc::kShape,
                fmt::format("{} query heads do not divide into groups of {} key heads", d.heads,
                            d.kv_heads));
  }
  if (d.key_dim == 0 || d.value_dim == 0) {
    throw Error(Errc::kShape, fmt::format("key width {} and value width {}, expected at least 1",
                                          d.key_dim, d.value_dim));
  }
  d.g_per_head = in.g && in.g->rank() == 3;
  Shape of_keys{d.batch, d.tokens, d.heads, d.key_dim}, of_heads{d.batch, d.tokens, d.heads};
  check_floats("g", in.g, d.g_per_head ? of_heads : of_keys);
  check_floats("g_gamma", in.g_gamma, {d.heads});
  check_floats("gk", in.gk, of_keys);
  check_floats("gv", in.gv, d.out_shape());
  d.sequences = sequences(in.cu_seqlens, d.batch, d.tokens);
  check_floats("initial_state", in.initial_state, d.state_shape());
  d.reverse = options.reverse;
  d.scale = options.softmax_scale.value_or(1 / std::sqrt(static_cast<double>(d.key_dim)));
  return d;
}

}  // namespace maskctl::attention
