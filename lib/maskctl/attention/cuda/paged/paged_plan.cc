// What a call over pages needs on the GPU, and the copy of its cache to there.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/attention/cuda/host_call.h"
#include "maskctl/attention/cuda/paged/paged.h"

namespace maskctl::attention::cuda {

PagedPlan::PagedPlan(const PagedProblem& problem, Stream stream)
    : sequences_(problem.sequences, stream), tables_(problem.tables, stream) {
  arrays_.tables = tables_.data();
  arrays_.sequences = static_cast<Index>(problem.sequences.size());
  for (const PagedSequence& s : problem.sequences) {
    most_keys_ = std::max(most_keys_, s.keys.size());
    most_rows_ = std::max(most_rows_, s.rows.size());
  }
}

PagedPlan::PagedPlan(const PagedArrays& arrays, Stream stream, PagedCheck check)
    : status_(check == PagedCheck::kCheck ? sizeof(int) : 0, stream), arrays_(arrays) {
  fill_bytes(status_.data(), 0, status_.bytes(), stream);
}

std::string paged_unsupported(const PagedProblem& problem) {
  const Index most = kMostHeadBytes / size_bytes(problem.cache.dtype);
  if (problem.cache.dim <= most) return "";
  return fmt::format("heads have {} elements, more than {}", problem.cache.dim, most);
}

PagedProblem to_device(HostCall& host_call, PagedProblem problem) {
  PagedCache& cache = problem.cache;
  problem.queries = host_call.to_device(problem.queries);
  if (problem.sinks) problem.sinks = host_call.to_device(*problem.sinks);
  const Index bytes = cache.extent() * size_bytes(cache.dtype);
  const auto region = [&](const std::byte* begin, const std::byte* end) {
    const std::array size{Index{end - begin}};
    return host_call.to_device(TensorView(begin, DType::kUInt8, size, cache.place)).data();
  };
  const std::byte* const first = std::min(cache.keys, cache.values);
  const std::byte* const last = std::max(cache.keys, cache.values);
  if (last - first < bytes) {  // heads of keys and values alternate in memory
    const std::byte* const both = region(first, last + bytes);
    cache.keys = both + (cache.keys - first), cache.values = both + (cache.values - first);
  } else {
    cache.keys = region(cache.keys, cache.keys + bytes);
    cache.values = region(cache.values, cache.values + bytes);
  }
  cache.place = {MemorySpace::kDevice, 0};
  return problem;
}

}  // namespace maskctl::attention::cuda
