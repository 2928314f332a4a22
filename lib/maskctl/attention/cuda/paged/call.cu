// Makes what the kernels of paged attention read, from a problem and its plan.
#include <limits>

#include "maskctl/attention/cuda/paged/call.cuh"

namespace maskctl::attention::cuda {

PagedCall call_of(const PagedProblem& p, const PagedPlan& plan) {
  PagedCall c{};
  const PagedCache& cache = p.cache;
  c.queries = {p.queries.data(), p.queries.dtype()};
  c.keys = cache.keys, c.values = cache.values, c.tables = plan.arrays().tables;
  c.rows = p.rows(), c.q_heads = p.q_heads, c.kv_heads = cache.heads, c.group = p.group();
  c.dim = cache.dim, c.pages = cache.pages, c.page_size = cache.page_size;
  c.page_stride = cache.page_stride, c.slot_stride = cache.slot_stride;
  c.head_stride = cache.head_stride;
  c.left = p.left.value_or(std::numeric_limits<Index>::max() / 2);
  c.scale = static_cast<float>(p.scale), c.value_scale = static_cast<float>(p.value_scale);
  c.soft_cap = static_cast<float>(p.soft_cap.value_or(0));
  c.heads_of_sinks = 1;
  if (!p.sinks) return c;
  c.sinks = {p.sinks->data(), p.sinks->dtype()};
  c.sinks_of_head = sink_count(p.sinks);
  if (p.sinks->rank() == 1) {
    c.heads_of_sinks = p.q_heads;
  } else if (p.sinks->extent(0) != p.q_heads) {
    c.heads_of_sinks = c.group;
  }
  return c;
}

}  // namespace maskctl::attention::cuda
