// each_array() (attention/cuda/arrays.h) of the problems without a mask.
#pragma once

#include "maskctl/attention/cuda/arrays.h"
#include "maskctl/attention/problems/grouped_problem.h"
#include "maskctl/kernels/problems/linear_problem.h"
#include "maskctl/kernels/problems/pooling_problem.h"

namespace maskctl::attention {

template <class F>
void each_array(LinearProblem& p, F&& f) {
  f(p.query), f(p.key), f(p.value), f(p.g), f(p.g_gamma), f(p.gk), f(p.gv), f(p.initial_state);
}
template <class F>
void each_array(LinearOutputs& o, F&& f) {
  f(o.out), f(o.final_state);
}
template <class F>
void each_array(LinearBackwardInputs& in, F&& f) {
  f(in.d_out), f(in.d_final_state);
}
template <class F>
void each_array(LinearGradientOutputs& o, F&& f) {
  f(o.query), f(o.key), f(o.value), f(o.g), f(o.g_gamma), f(o.gk), f(o.gv), f(o.initial_state);
}

template <class F>
void each_array(GroupedProblem& p, F&& f) {
  f(p.lhs), f(p.rhs), f(p.existing_out);
}
template <class F>
void each_array(GroupedGradientOutputs& o, F&& f) {
  f(o.lhs), f(o.rhs);
}

template <class F>
void each_array(PoolingProblem& p, F&& f) {
  f(p.x);
}

}  // namespace maskctl::attention
