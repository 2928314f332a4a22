// Latent attention by a kernel of its own, where the backend has one. Elsewhere: computes keys and
// values, appends the rotary parts, and runs masked_forward.
#include "maskctl/attention/operations/mla/mla.h"

#include <algorithm>
#include <array>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/outputs.h"
#include "maskctl/attention/problems/backends.h"
#include "maskctl/attention/problems/matrix_problem.h"
#include "maskctl/attention/softmax/checked.h"
#include "maskctl/attention/softmax/masked_softmax.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

struct MlaDims {
  Index batch = 0, queries = 0, keys = 0, q_heads = 0, kv_heads = 0;
  Index dim = 0, value_dim = 0, rank = 0, rotary = 0;

  Index tokens() const { return batch * keys; }
};

MlaDims checked(const Tensor& query, const Tensor& key_value, const Tensor& w_kc,
                const Tensor& w_vc, const MlaAttentionOptions& o) {
  check_rank("query", &query, 4);
  check_rank("key_value", &key_value, 3);
  check_rank("w_kc", &w_kc, 3);
  check_rank("w_vc", &w_vc, 3);
  MlaDims d{query.extent(0), query.extent(1),     key_value.extent(1),
            query.extent(2), w_kc.extent(1),      query.extent(3),
            w_vc.extent(2),  key_value.extent(2), 0};
  check_shape("key_value", key_value, std::array{d.batch, d.keys, d.rank});
  check_shape("w_kc", w_kc, std::array{d.rank, d.kv_heads, d.dim});
  check_shape("w_vc", w_vc, std::array{d.rank, d.kv_heads, d.value_dim});
  if (!o.b_q != !o.b_k) {
    refuse("b_q and b_k are given one without the other");
  }
  if (o.b_q) {
    check_rank("b_q", o.b_q, 3);
    d.rotary = o.b_q->extent(2);
    check_shape("b_q", *o.b_q, std::array{d.batch, d.queries, d.rotary});
    check_shape("b_k", *o.b_k, std::array{d.batch, d.keys, d.rotary});
  }
  check_dtypes({{"query", &query},
                {"key_value", &key_value},
                {"w_kc", &w_kc},
                {"w_vc", &w_vc},
                {"b_q", o.b_q},
                {"b_k", o.b_k}});
  return d;
}

/// Concatenates [B,T,H,X] and [B,T,P] to [B,T,H,X+P]; every head gets the same P elements.
Tensor append(const Tensor& heads, const Tensor* shared) {
  if (!shared) return heads;
  const Index x = heads.extent(3), p = shared->extent(2), h = heads.extent(2);
  Tensor out(DType::kFloat32, {heads.extent(0), heads.extent(1), h, x + p});
  for (Index n = 0; n < heads.extent(0) * heads.extent(1) * h; ++n) {
    float* const row = out.as<float>().data() + n * (x + p);
    std::copy_n(heads.as<float>().data() + n * x, x, row);
    std::copy_n(shared->as<float>().data() + n / h * p, p, row + x);
  }
  return out;
}

/// The gradients of the two inputs of append(): `heads` is a slice, `shared` a sum over heads.
struct Split {
  Tensor heads, shared;
};
Split split(const Tensor& gradient, Index x) {
  const Index h = gradient.extent(2), p = gradient.extent(3) - x;
  const Index b = gradient.extent(0), t = gradient.extent(1);
  Split parts{Tensor(DType::kFloat32, {b, t, h, x}), Tensor(DType::kFloat32, {b, t, p})};
  for (Index n = 0; n < b * t * h; ++n) {
    const float* const row = gradient.as<float>().data() + n * (x + p);
    std::copy_n(row, x, parts.heads.as<float>().data() + n * x);
    float* const sums = parts.shared.as<float>().data() + n / h * p;
    for (Index i = 0; i < p; ++i) sums[i] += row[x + i];
  }
  return parts;
}

MaskArguments mask_arguments(const MlaAttentionOptions& o) {
  MaskArguments mask = o.mask;
  if (o.cu_seqlens) mask.cum_seqlens_q = mask.cum_seqlens_k = o.cu_seqlens;
  return mask;
}

/// The checked problem of a call, for backends that have a kernel of latent attention.
struct OwnCall {
  OwnCall(const Tensor& query, const Tensor& latent, const Tensor& w_kc, const Tensor& w_vc,
          const MlaAttentionOptions& o) {
    const WorkScope scope(o.softmax.context.limits());
    const MlaDims m = checked(query, latent, w_kc, w_vc, o);
    check_head_groups(m.q_heads, m.kv_heads);
    check_options(o.softmax);
    ComposedMask composed =
        compose(mask_arguments(o), {m.batch, m.q_heads, m.kv_heads, m.queries, m.keys});
    query_ends = std::move(composed.query_ends);
    SoftmaxProblem& softmax = problem.softmax;
    softmax.d = {m.batch, m.queries, m.keys, m.q_heads, m.kv_heads, m.dim + m.rotary, m.value_dim};
    softmax.query = query;
    softmax.mask = std::move(composed.mask);
    softmax.block_map = o.mask.block_map;
    softmax.scale = o.softmax.scale.value_or(default_scale(softmax.d.dim));
    softmax.options = o.softmax;
    problem.latent = latent, problem.w_kc = w_kc, problem.w_vc = w_vc;
    problem.b_q = view_of(o.b_q), problem.b_k = view_of(o.b_k);
  }

  MlaProblem problem;
  std::vector<Index> query_ends;  // where the void queries begin: see ComposedMask::query_ends
};

bool has_own_kernels(const MlaAttentionOptions& o) {
  const BackendRow& row = backend_row(o.softmax.context.backend);
  return row.unavailable().empty() && supports(row, &Kernels::mla_forward);
}

MlaGradients own_gradients(const OwnCall& own, const SoftmaxResult& forward, const Tensor& d_out,
                           const Context& context) {
  const MlaProblem& p = own.problem;
  check_backward(p.softmax.d, forward, d_out, nullptr);
  Tensor live_out = d_out;
  clear_void(own.query_ends, 1, live_out);
  MlaGradients g{unwritten_like(p.softmax.query), unwritten_like(p.latent), unwritten_like(p.w_kc),
                 unwritten_like(p.w_vc),          unwritten_like(p.b_q),    unwritten_like(p.b_k)};
  run_kernel(context, "mla_attention_backward", &Kernels::mla_backward, p,
             {forward.out, forward.lse, live_out, {}},
             {g.query, g.key_value, g.w_kc, g.w_vc, view_of(g.b_q), view_of(g.b_k)});
  return g;
}

/// A call in f32, with keys and values computed from the latent.
struct WideCall {
  WideCall(const Tensor& q, const Tensor& latent_in, const Tensor& w_k, const Tensor& w_v,
           const MlaAttentionOptions& o)
      : d(checked(q, latent_in, w_k, w_v, o)),
        latent(astype(latent_in, DType::kFloat32)),
        w_kc(astype(w_k, DType::kFloat32)),
        w_vc(astype(w_v, DType::kFloat32)),
        mask(mask_arguments(o)),
        softmax(o.softmax) {
    std::optional<Tensor> b_q, b_k;
    if (o.b_q) b_q = astype(*o.b_q, DType::kFloat32), b_k = astype(*o.b_k, DType::kFloat32);
    query = append(astype(q, DType::kFloat32), b_q ? &*b_q : nullptr);
    key = append(rebuild(w_kc), b_k ? &*b_k : nullptr);
    value = rebuild(w_vc);
    inputs = {&query, &key, &value, nullptr, nullptr, nullptr};
  }
  WideCall(const WideCall&) = delete;
  WideCall& operator=(const WideCall&) = delete;

  /// Keys or values of all heads: [B,T,R] times [R,H,X] -> [B,T,H,X].
  Tensor rebuild(const Tensor& w) const {
    Tensor out(DType::kFloat32, {d.batch, d.keys, w.extent(1), w.extent(2)});
    multiply({rows_of(latent, d.tokens()), rows_of(w, d.rank), false, tiles()}, out);
    return out;
  }
  static MatrixView rows_of(const Tensor& x, Index rows) {
    const Index columns = rows == 0 ? 0 : x.elements() / rows;
    return {x.as<float>().data(), rows, columns, columns, false};
  }
  MatrixTiles tiles() const { return {softmax.q_block, softmax.k_block}; }
  static MatrixView transposed(MatrixView m) {
    return {m.data, m.columns, m.rows, m.stride, !m.transposed};
  }
  /// Zeroes the latent of tokens that no query sees, that is, whose key and value gradients are all
  /// 0. Otherwise a NaN in the latent would spread into the gradient of w (0 * NaN).
  void drop_unseen(const Tensor& d_key, const Tensor& d_value) {
    const auto is_zero = [](const Tensor& gradient, Index row, Index rows) {
      const auto n = as_size(gradient.elements() / rows);
      return std::ranges::all_of(gradient.as<float>().subspan(as_size(row) * n, n),
                                 [](float x) { return x == 0; });
    };
    for (Index t = 0; t < d.tokens(); ++t) {
      if (!is_zero(d_key, t, d.tokens()) || !is_zero(d_value, t, d.tokens())) continue;
      std::fill_n(latent.as<float>().begin() + t * d.rank, d.rank, 0.0f);
    }
  }
  /// The gradients of rebuild(w): returns that of w, and writes (or adds) that of the latent to
  /// d_latent.
  Tensor pull_back(const Tensor& gradient, const Tensor& w, bool accumulate,
                   Tensor& d_latent) const {
    const MatrixView d_rows = rows_of(gradient, d.tokens());
    multiply({d_rows, transposed(rows_of(w, d.rank)), accumulate, tiles()}, d_latent);
    Tensor d_w(DType::kFloat32, w.shape());
    multiply({transposed(rows_of(latent, d.tokens())), d_rows, false, tiles()}, d_w);
    return d_w;
  }
  void multiply(const MatrixProblem& problem, const MutableTensorView& out) const {
    run_kernel(softmax.context, "matrix_product", &Kernels::matrix_product, problem, out);
  }

  MlaDims d;
  Tensor latent, w_kc, w_vc, query, key, value;
  SoftmaxInputs inputs;
  MaskArguments mask;
  SoftmaxOptions softmax;
};

}  // namespace

SoftmaxResult mla_attention(const Tensor& query, const Tensor& key_value, const Tensor& w_kc,
                            const Tensor& w_vc, const MlaAttentionOptions& options) {
  if (has_own_kernels(options)) {
    const OwnCall own(query, key_value, w_kc, w_vc, options);
    SoftmaxResult result = unwritten_result(own.problem.softmax.d, query.dtype());
    run_kernel(options.softmax.context, "mla_attention", &Kernels::mla_forward, own.problem,
               {result.out, result.lse});
    clear_void(own.query_ends, 1, result.out);
    return result;
  }
  const WideCall call(query, key_value, w_kc, w_vc, options);
  SoftmaxResult result = masked_forward(call.inputs, call.mask, call.softmax);
  result.out = astype(result.out, query.dtype());
  return result;
}

MlaGradients mla_attention_backward(const Tensor& query, const Tensor& key_value,
                                    const Tensor& w_kc, const Tensor& w_vc,
                                    const SoftmaxResult& forward, const Tensor& d_out,
                                    const MlaAttentionOptions& options) {
  if (has_own_kernels(options)) {
    return own_gradients({query, key_value, w_kc, w_vc, options}, forward, d_out,
                         options.softmax.context);
  }
  WideCall call(query, key_value, w_kc, w_vc, options);
  const DType dtype = query.dtype();
  const SoftmaxResult wide{astype(forward.out, DType::kFloat32), forward.lse};
  const SoftmaxGradients g =
      masked_backward(call.inputs, call.mask, wide, astype(d_out, DType::kFloat32), call.softmax);
  const Split d_query = split(g.query, call.d.dim), d_key = split(g.key, call.d.dim);
  call.drop_unseen(d_key.heads, g.value);
  Tensor d_latent(DType::kFloat32, call.latent.shape());
  const Tensor d_w_kc = call.pull_back(d_key.heads, call.w_kc, false, d_latent);
  const Tensor d_w_vc = call.pull_back(g.value, call.w_vc, true, d_latent);
  MlaGradients gradients{astype(d_query.heads, dtype),
                         astype(d_latent, dtype),
                         astype(d_w_kc, dtype),
                         astype(d_w_vc, dtype),
                         {},
                         {}};
  if (options.b_q) {
    gradients.b_q = astype(d_query.shared, dtype);
    gradients.b_k = astype(d_key.shared, dtype);
  }
  return gradients;
}

}  // namespace maskctl::attention
