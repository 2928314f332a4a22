// Checks what the host can see of calls without a mask, and runs their kernels.
#include "maskctl/kernels/gpu/plans.h"

#include <fmt/format.h>

#include "maskctl/attention/gpu/check_arrays.h"
#include "maskctl/attention/gpu/plan_calls.h"
#include "maskctl/kernels/cuda/arrays.h"
#include "maskctl/kernels/cuda/kernels.h"

namespace maskctl::attention::gpu {
namespace {

void check(const LinearProblem& p) {
  const LinearDims& d = p.d;
  check_dims({d.batch, d.tokens, d.tokens, d.heads, d.kv_heads, d.key_dim, d.value_dim},
             dims_of(p.query, p.key, p.value));
  check_tokens(d.sequences, d.batch, d.tokens);
  const Shape of_keys{d.batch, d.tokens, d.heads, d.key_dim}, of_heads{d.batch, d.tokens, d.heads};
  check_given("g", p.g, d.g_per_head ? of_heads : of_keys);
  check_given("g_gamma", p.g_gamma, {d.heads});
  check_given("gk", p.gk, of_keys);
  check_given("gv", p.gv, d.out_shape());
  check_given("initial_state", p.initial_state, d.state_shape());
}
void check(const LinearProblem& p, const LinearOutputs& o) {
  check_array("out", o.out, p.d.out_shape(), p.value.dtype());
  check_array("final_state", o.final_state, p.d.state_shape(), DType::kFloat32);
}
void check(const LinearProblem& p, const LinearBackwardInputs& in, const LinearGradientOutputs& o) {
  check_floats("d_out", in.d_out, p.d.out_shape());
  check_given("d_final_state", in.d_final_state, p.d.state_shape());
  check_gradient("query", o.query, p.query);
  check_gradient("key", o.key, p.key);
  check_gradient("value", o.value, p.value);
  check_gradient("g", o.g, p.g);
  check_gradient("g_gamma", o.g_gamma, p.g_gamma);
  check_gradient("gk", o.gk, p.gk);
  check_gradient("gv", o.gv, p.gv);
  check_gradient("initial_state", o.initial_state, p.initial_state);
}

void check(const GroupedProblem& p) {
  const RowGroups& g = p.groups;
  const Index first = p.transpose_rhs ? g.columns : g.inner,
              second = p.transpose_rhs ? g.inner : g.columns;
  check_array("lhs", p.lhs, {g.rows, g.inner});
  check_array("rhs", p.rhs, {g.matrices(), first, second});
  check_factors({{"lhs", &p.lhs}, {"rhs", &p.rhs}});
  check_given("existing_out", p.existing_out, {g.rows, g.columns});
  if (!g.order.empty() && std::ssize(g.order) != g.rows) {
    refuse_shape(fmt::format("order has {} rows and lhs {}", g.order.size(), g.rows));
  }
  for (const Index row : g.order) {
    if (row < 0 || row >= g.rows) refuse(fmt::format("order names row {} of {}", row, g.rows));
  }
  for (Index n = 0, end = 0; n < g.matrices(); ++n) {
    const Range rows = g.positions[as_size(n)];
    if (rows.begin < end || rows.size() < 0 || rows.end > g.rows) {
      refuse(fmt::format("group {} has the rows {} .. {}, expected {} .. {} at most", n, rows.begin,
                         rows.end, end, g.rows));
    }
    end = rows.end;
  }
}
void check(const GroupedProblem& p, const MutableTensorView& out) {
  check_floats("out", out, {p.groups.rows, p.groups.columns});
  if (p.existing_out) check_gradient("existing_out", out, *p.existing_out);
}
void check(const GroupedProblem& p, const TensorView& d_out, const GroupedGradientOutputs& o) {
  check_floats("d_out", d_out, {p.groups.rows, p.groups.columns});
  check_gradient("lhs", o.lhs, p.lhs);
  check_gradient("rhs", o.rhs, p.rhs);
}

void check(const PoolingProblem& p) {
  check_factors({{"x", &p.x}});
  if (p.x.elements() != p.tokens * p.width) {
    refuse_shape(fmt::format("x is {}, expected {} tokens of {}", shape_text(p.x.shape()), p.tokens,
                             p.width));
  }
  check_array("x", p.x, {p.x.shape().begin(), p.x.shape().end()});
  if (!p.counted.empty() && std::ssize(p.counted) != p.tokens) {
    refuse_shape(fmt::format("{} tokens count or not, of {}", p.counted.size(), p.tokens));
  }
  for (const Range segment : p.segments) {
    if (segment.begin < 0 || segment.size() < 0 || segment.end > p.tokens) {
      refuse(fmt::format("a segment has the tokens {} .. {}, of {}", segment.begin, segment.end,
                         p.tokens));
    }
  }
}
void check(const PoolingProblem& p, const MutableTensorView& out) {
  check_array("out", out, p.out_shape, p.x.dtype());
  if (out.elements() != std::ssize(p.segments) * p.width) {
    refuse_shape(fmt::format("out is {}, expected {} means of {}", shape_text(p.out_shape),
                             p.segments.size(), p.width));
  }
}

}  // namespace

template <class Problem>
struct MasklessCalls {
  template <class... Arrays>
  static void check_call(const Problem& problem, const Arrays&... arrays) {
    check(problem, arrays...);
  }
  static const cuda::MasklessInPlaceKernels& kernels() { return cuda::kMasklessInPlaceKernels; }
};

template <>
struct CallsOf<LinearProblem> : MasklessCalls<LinearProblem> {};
template <>
struct CallsOf<GroupedProblem> : MasklessCalls<GroupedProblem> {};
template <>
struct CallsOf<PoolingProblem> : MasklessCalls<PoolingProblem> {};

template class Plan<LinearProblem, LinearOutputs>;
template class Plan<LinearProblem, LinearBackwardInputs, LinearGradientOutputs>;
template class Plan<GroupedProblem, MutableTensorView>;
template class Plan<GroupedProblem, TensorView, GroupedGradientOutputs>;
template class Plan<PoolingProblem, MutableTensorView>;

}  // namespace maskctl::attention::gpu
