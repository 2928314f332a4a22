// Checks of shapes and options, before any work.
#include "maskctl/attention/operations/linear/linear_problem.h"

#include <fmt/format.h>

#include <cmath>

#include "maskctl/attention/arrays/checks.h"

namespace maskctl::attention {
namespace {

using Shape = std::vector<Index>;

void check_floats(const char* what, const Tensor* tensor, const Shape& shape) {
  if (!tensor) return;
  check_float(what, *tensor);
  check_shape(what, *tensor, shape);
}

}  // namespace

LinearProblem checked_linear(const RecurrentAttentionInputs& in,
                             const RecurrentAttentionOptions& options) {
  check_rank("query", in.query, 4);
  check_rank("key", in.key, 4);
  check_rank("value", in.value, 4);
  check_dtypes({{"query", in.query}, {"key", in.key}, {"value", in.value}});
  LinearDims d;
  d.batch = in.query->extent(0), d.tokens = in.query->extent(1);
  d.heads = in.query->extent(2), d.kv_heads = in.key->extent(2);
  d.key_dim = in.query->extent(3), d.value_dim = in.value->extent(3);
  check_shape("key", *in.key, Shape{d.batch, d.tokens, d.kv_heads, d.key_dim});
  check_shape("value", *in.value, Shape{d.batch, d.tokens, d.kv_heads, d.value_dim});
  check_head_groups(d.heads, d.kv_heads);
  if (d.key_dim == 0 || d.value_dim == 0) {
    refuse_shape(fmt::format("key width {} and value width {}, expected at least 1", d.key_dim,
                             d.value_dim));
  }
  d.g_per_head = in.g && in.g->rank() == 3;
  Shape of_keys{d.batch, d.tokens, d.heads, d.key_dim}, of_heads{d.batch, d.tokens, d.heads};
  check_floats("g", in.g, d.g_per_head ? of_heads : of_keys);
  check_floats("g_gamma", in.g_gamma, {d.heads});
  check_floats("gk", in.gk, of_keys);
  check_floats("gv", in.gv, d.out_shape());
  d.sequences = sequences_in<LinearSequence>(in.cu_seqlens, d.batch, d.tokens);
  check_floats("initial_state", in.initial_state, d.state_shape());
  d.reverse = options.reverse;
  d.chunk_size = options.chunk_size;
  d.scale = options.softmax_scale.value_or(1 / std::sqrt(static_cast<double>(d.key_dim)));
  return {d,
          *in.query,
          *in.key,
          *in.value,
          view_of(in.g),
          view_of(in.g_gamma),
          view_of(in.gk),
          view_of(in.gv),
          view_of(in.initial_state)};
}

}  // namespace maskctl::attention
