// Computes where the rows of a head are in the arrays of a call.
#include "maskctl/kernels/cpu/linear/heads.h"

namespace maskctl::attention {

LinearCpuCall::LinearCpuCall(const LinearProblem& p)
    : LinearArrays(map_arrays(p, [](const auto& array) { return Floats(array); })), d(p.d) {}

LinearHead LinearCpuCall::head(Index sequence, Index h) const {
  const Index u = d.kv_head(h);
  LinearHead head;
  head.tokens = d.sequences[as_size(sequence)].tokens.size();
  head.q = rows(query.data(), sequence, d.heads, h, d.key_dim);
  head.k = rows(key.data(), sequence, d.kv_heads, u, d.key_dim);
  head.v = rows(value.data(), sequence, d.kv_heads, u, d.value_dim);
  if (d.g_per_head) {
    head.head_gates = rows(g.data(), sequence, d.heads, h, 1);
  } else {
    head.key_gates[0] = rows(g.data(), sequence, d.heads, h, d.key_dim);
  }
  head.key_gates[1] = rows(gk.data(), sequence, d.heads, h, d.key_dim);
  head.value_gates = rows(gv.data(), sequence, d.heads, h, d.value_dim);
  if (g_gamma) head.head_gate = g_gamma.data()[h];
  return head;
}

const float* LinearCpuCall::state(const Floats& states, Index sequence, Index h) const {
  if (!states) return nullptr;
  return states.data() + (sequence * d.heads + h) * d.key_dim * d.value_dim;
}

}  // namespace maskctl::attention
