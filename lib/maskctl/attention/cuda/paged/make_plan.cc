// Prepares what calls over pages need on the GPU beside their arrays.
#include <algorithm>
#include <memory>
#include <utility>

#include "maskctl/attention/cuda/paged/decode/decode.h"
#include "maskctl/attention/cuda/paged/plan.h"
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

}  // namespace maskctl::attention::cuda
