// Prepares what a call over pages needs on the GPU, and copies the cache of the call there.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>

#include "maskctl/attention/cuda/host_call.h"
#include "maskctl/attention/cuda/paged/decode.h"
#include "maskctl/attention/cuda/paged/paged.h"
#include "maskctl/attention/cuda/pinned.h"

namespace maskctl::attention::cuda {

namespace {

/// How many page numbers of a sequence are read: those up to its last key.
Index listed_pages(const PagedProblem& problem, const PagedSequence& s) {
  return s.keys.empty() ? 0 : ceil_div(s.keys.end, problem.cache.page_size);
}

/// Returns how many bytes the sequences of a problem take with the page numbers that are read,
/// rounded up to 16 so that what follows them in memory is aligned.
std::size_t package_bytes(const PagedProblem& problem) {
  Index pages = 0;
  for (const PagedSequence& s : problem.sequences) pages += listed_pages(problem, s);
  const std::size_t bytes =
      problem.sequences.size() * sizeof(PagedSequence) + as_size(pages) * sizeof(std::int32_t);
  return (bytes + 15) / 16 * 16;
}

/// Writes the sequences, and after them their page numbers.
void pack(const PagedProblem& problem, std::byte* to) {
  auto* sequences = reinterpret_cast<PagedSequence*>(to);
  auto* const tables = reinterpret_cast<std::int32_t*>(sequences + problem.sequences.size());
  Index table = 0;
  for (PagedSequence s : problem.sequences) {
    const Index listed = listed_pages(problem, s);
    std::copy_n(problem.tables.begin() + s.table, listed, tables + table);
    s.table = std::exchange(table, table + listed);
    std::construct_at(sequences++, s);
  }
}

}  // namespace

/// Allocates and copies only once, since either takes as long as everything else here.
PagedPlan::PagedPlan(const PagedProblem& problem, Stream stream) : prompts_(prompt_room(problem)) {
  arrays_.sequences = static_cast<Index>(problem.sequences.size());
  for (const PagedSequence& s : problem.sequences) {
    most_keys_ = std::max(most_keys_, s.keys.size());
    if (prompts_.tokens == 0 || s.rows.size() < kPromptRows) {
      most_rows_ = std::max(most_rows_, s.rows.size());
    }
  }
  PinnedBuffer package(package_bytes(problem));
  pack(problem, package.data());
  const bool is_divided = prompts_.tokens == 0 && decodes(problem, most_rows_);
  memory_ = DeviceBuffer(
      package.bytes() + (is_divided ? divided_work_bytes(problem, most_rows_) : 0), stream);
  package.send(memory_.data(), stream);
  const auto* const sequences = reinterpret_cast<const PagedSequence*>(memory_.data());
  if (!problem.sequences.empty()) sequences_ = sequences;
  arrays_.tables = reinterpret_cast<const std::int32_t*>(sequences + problem.sequences.size());
  if (!is_divided) return;
  divided_work_ = memory_.data() + package.bytes();
  divide_work(problem, *this, stream);
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
