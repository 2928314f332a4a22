// each_array(x, f) calls f with every array in the struct x, which is a problem, its inputs or its
// results.
#pragma once

#include "maskctl/attention/problems/cache_update.h"
#include "maskctl/attention/problems/kernels.h"

namespace maskctl::attention {

template <class F>
void each_array(TensorView& array, F&& f) {
  f(array);
}
template <class F>
void each_array(MutableTensorView& array, F&& f) {
  f(array);
}

template <class F>
void each_array(SoftmaxProblem& p, F&& f) {
  f(p.query), f(p.key), f(p.value), f(p.bias), f(p.sinks);
}
template <class F>
void each_array(SoftmaxOutputs& o, F&& f) {
  f(o.out), f(o.lse);
}
template <class F>
void each_array(SoftmaxBackwardInputs& in, F&& f) {
  f(in.out), f(in.lse), f(in.d_out), f(in.d_lse);
}
template <class F>
void each_array(SoftmaxGradientOutputs& o, F&& f) {
  f(o.query), f(o.key), f(o.value), f(o.bias), f(o.sinks);
}

template <class F>
void each_array(RingProblem& p, F&& f) {
  f(p.query), f(p.key), f(p.value), f(p.sinks);
}

template <class F>
void each_array(MlaProblem& p, F&& f) {
  f(p.softmax.query), f(p.latent), f(p.w_kc), f(p.w_vc), f(p.b_q), f(p.b_k);
}
template <class F>
void each_array(MlaGradientOutputs& o, F&& f) {
  f(o.query), f(o.latent), f(o.w_kc), f(o.w_vc), f(o.b_q), f(o.b_k);
}

template <class F>
void each_array(NewTokens& t, F&& f) {
  f(t.keys), f(t.values);
}
template <class F>
void each_array(CachePages&, F&&) {}  // CachePages has no array views: it is memory of the GPU

template <class F>
void each_array(BlockProblem& p, F&& f) {
  f(p.query), f(p.key), f(p.value);
}
template <class F>
void each_array(SelectionProblem& p, F&& f) {
  f(p.query), f(p.mean_keys);
}

}  // namespace maskctl::attention
