// Checks sequences that come as arrays on the GPU.
#include "maskctl/attention/cuda/paged/source.cuh"

namespace maskctl::attention::cuda {
namespace {

constexpr int kThreads = 256;

__device__ int problems_of(const PagedCall& c, const PagedArrays& arrays, Index n,
                           const PagedSequence& s) {
  int found = 0;
  if (s.rows.begin < 0 || s.rows.end < s.rows.begin || s.rows.end > c.rows ||
      (n == 0 && s.rows.begin != 0)) {
    found |= kBadRows;
  }
  const bool is_empty_decode = !arrays.starts && s.keys.end == 0;
  if (s.keys.end < 0 || s.keys.end > arrays.width * c.page_size ||
      (s.keys.end < s.rows.size() && !is_empty_decode)) {
    found |= kBadLengths;
  }
  return found;
}

/// A block checks one sequence.
__global__ void check_sequences(const PagedCall c, const Source source, int* status, char* is_bad) {
  const Index n = blockIdx.x;
  const PagedSequence s = source[n];
  int found = problems_of(c, source.arrays, n, s);
  int bad_page = 0;
  if (found == 0) {
    const Range read = c.read(s);
    const Range pages{read.begin / c.page_size, ceil_div(read.end, c.page_size)};
    for (Index p = pages.begin + threadIdx.x; p < pages.end; p += blockDim.x) {
      const Index page = c.tables[s.table + p];
      bad_page |= page < 0 || page >= c.pages;
    }
  }
  if (__syncthreads_or(bad_page)) found |= kBadPages;
  if (threadIdx.x != 0) return;
  is_bad[n] = found != 0;
  if (found != 0) atomicOr(status, found);
}

}  // namespace

Source checked_source(Workspace& workspace, const PagedCall& call, const PagedPlan& plan) {
  Source source{plan.sequences(), plan.arrays(), nullptr, nullptr};
  int* const status = plan.arrays().status;
  if (!status) return source;
  const Stream stream = workspace.stream();
  const Index count = plan.arrays().sequences;
  char* const is_bad = workspace.take<char>(count);
  fill_bytes(status, 0, sizeof(int), stream);
  launch("check_sequences", check_sequences, static_cast<unsigned>(count), kThreads, 0, stream,
         call, source, status, is_bad);
  source.status = status, source.is_bad = is_bad;
  return source;
}

}  // namespace maskctl::attention::cuda
