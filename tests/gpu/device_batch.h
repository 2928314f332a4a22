// Batches of sequences in the pages of a cache, with all arrays on the GPU, for tests.
#pragma once

#include "attention/paged_batches.h"
#include "maskctl/attention/cuda/host_call.h"
#include "maskctl/attention/cuda/paged/paged.h"

namespace maskctl::attention::paging {

/// Number of key heads, of query heads for each key head, and of channels.
struct Heads {
  Index kv_heads, group, dim;
};

/// Makes sequences with these lengths and numbers of queries (rows); their pages are assigned at
/// random.
inline Batch dealt_batch(RandomTensors& r, const Heads& heads, DType dtype, Index page_size,
                         const std::vector<std::int32_t>& lengths,
                         const std::vector<std::int32_t>& rows) {
  Batch b;
  b.dtype = dtype, b.kv_heads = heads.kv_heads, b.q_heads = heads.kv_heads * heads.group;
  b.dim = heads.dim, b.page_size = page_size, b.lengths = lengths;
  for (const std::int32_t n : rows) b.starts.push_back(b.starts.back() + n);
  for (const std::int32_t length : lengths) {
    b.width = std::max(b.width, ceil_div(length, page_size) + 1);
    b.keys.push_back(r.normal({length, b.kv_heads, b.dim}, dtype));
    b.values.push_back(r.normal({length, b.kv_heads, b.dim}, dtype));
  }
  b.pages = b.width * b.count() + 1;
  std::vector<std::int32_t> pages(as_size(b.pages));
  for (Index n = 0; n < b.pages; ++n) pages[as_size(n)] = static_cast<std::int32_t>(n);
  for (Index n = b.pages - 1; n > 0; --n)
    std::swap(pages[as_size(n)], pages[as_size(r.below(n + 1))]);
  for (Index n = 0; n < b.count(); ++n) {
    for (Index i = 0; i < b.width; ++i) {
      const bool is_used = i * page_size < lengths[as_size(n)];
      b.table.push_back(is_used ? pages[as_size(n * b.width + i)] : -1);
    }
  }
  b.queries = r.normal({b.starts.back() + r.below(2), b.q_heads, b.dim}, dtype);
  return b;
}

/// A batch whose queries, cache and sequences are on the GPU.
class DeviceBatch {
 public:
  DeviceBatch(const Batch& b, const Rules& rules)
      : keys_(b.tokens_first(b.keys)),
        values_(b.tokens_first(b.values)),
        out_(b.dtype, b.queries.shape()),
        lengths_(b.lengths, host_call_.stream()),
        tables_(b.table, host_call_.stream()),
        starts_(b.starts, host_call_.stream()),
        status_(std::vector<int>{-1}, host_call_.stream()) {
    PagedProblem problem;
    problem.queries = b.queries;
    problem.q_heads = b.q_heads;
    problem.cache = tokens_first_cache(keys_, values_);
    problem.scale = rules.scale.value_or(default_scale(b.dim));
    problem.soft_cap = rules.soft_cap;
    if (rules.window) problem.left = *rules.window - 1;
    if (rules.sinks) problem.sinks = *rules.sinks;
    static_cast<PagedProblem&>(problem_) = cuda::to_device(host_call_, problem);
    problem_.arrays = {lengths_.data(), tables_.data(), starts_.data(),
                       b.count(),       b.width,        const_cast<int*>(status_.data())};
  }

  PagedArrays& arrays() { return problem_.arrays; }
  const PagedArraysProblem& problem() const { return problem_; }
  cuda::HostCall& host_call() { return host_call_; }
  /// Replaces the elements of one of the arrays lengths, tables and starts.
  void change(const std::int32_t* array, const std::vector<std::int32_t>& elements) {
    cuda::copy_to_device(const_cast<std::int32_t*>(array), std::as_bytes(std::span(elements)),
                         host_call_.stream());
  }
  cuda::PagedPlan plan() { return cuda::PagedPlan(problem_, host_call_.stream()); }
  /// Returns a plan that does not check lengths, tables and starts, since the caller vouches for
  /// them.
  cuda::PagedPlan trusting_plan() {
    PagedArraysProblem trusted = problem_;
    trusted.arrays.status = nullptr;
    return cuda::PagedPlan(trusted, host_call_.stream());
  }
  Tensor run(const cuda::PagedPlan& plan) {
    const MutableTensorView there = host_call_.to_device(MutableTensorView(out_));
    cuda::paged(host_call_.workspace(), problem_, plan, there);
    host_call_.finish();
    return out_;
  }
  /// Returns the status that the last call reported: 0, or the faults of its arrays.
  int status() {
    int status = -1;
    cuda::copy_to_host(std::as_writable_bytes(std::span(&status, 1)), status_.data(),
                       host_call_.stream());
    host_call_.finish();
    return status;
  }

 private:
  Tensor keys_, values_, out_;
  cuda::HostCall host_call_;
  cuda::DeviceArray<std::int32_t> lengths_, tables_, starts_;
  cuda::DeviceArray<int> status_;
  PagedArraysProblem problem_;
};

/// Checks that rows [begin, end) are NaN and that all others are as expected.
inline void check_nan_rows(const Tensor& seen, Tensor expected, Index begin, Index end) {
  const Index row = expected.elements() / expected.extent(0);
  for (Index i = begin * row; i < end * row; ++i) put(expected, i, std::nanf(""));
  check_close(seen, expected, tolerance(seen.dtype()), "rows");
}

}  // namespace maskctl::attention::paging
