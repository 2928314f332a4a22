#include "maskctl/attention/cuda/paged/paged.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/attention/cuda/host_call.h"
#include "maskctl/attention/cuda/paged/decode/decode.h"
#include "maskctl/attention/cuda/paged/tiles/attend.h"
#include "maskctl/attention/cuda/paged/tiles/tiling.h"
#include "maskctl/base/error.h"

namespace maskctl::attention::cuda {
namespace {

/// Whether decode() takes the call.
bool can_decode(const PagedProblem& p, const PagedPlan& plan) {
  return decodes(p, plan.usual_rows(p.rows())) && is_aligned(p.cache) &&
         reinterpret_cast<std::uintptr_t>(p.queries.data()) % 4 == 0;
}

}  // namespace

void paged(Workspace& workspace, const PagedProblem& problem, const PagedPlan& plan,
           const MutableTensorView& out) {
  if (out.elements() == 0) {  // no result depends on the arrays, so their status is 0: all is well
    if (plan.arrays().status) fill_bytes(plan.arrays().status, 0, sizeof(int), workspace.stream());
    return;
  }
  if (const std::string why = paged_unsupported(problem); !why.empty()) {
    throw Error(Errc::kUnsupported, why);
  }
  const Workspace::Scope scope(workspace);
  if (can_decode(problem, plan)) return decode(workspace, problem, plan, out);
  attend_tiles(workspace, problem, plan, out);
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
  // The memory of keys and values overlaps (their heads alternate), so one copy has both.
  if (last - first < bytes) {
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
