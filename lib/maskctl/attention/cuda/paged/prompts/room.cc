#include "maskctl/attention/cuda/paged/prompts/room.h"

#include <algorithm>

#include "maskctl/attention/cuda/gpus.h"

namespace maskctl::attention::cuda {
namespace {

constexpr Index kMostDim = 256;

/// Whether the kernels of softmax/hopper/ can take the arrays, and the rows give them at least one
/// tile for every four multiprocessors.
bool fit_tiles(const PagedProblem& problem, Index rows) {
  const PagedCache& cache = problem.cache;
  const GpuProperties& gpu = properties_in_use();
  return size_bytes(cache.dtype) == 2 && problem.queries.dtype() == cache.dtype && gpu.major == 9 &&
         cache.dim % 8 == 0 && cache.dim <= kMostDim &&
         ceil_div(rows, 64) * problem.q_heads * 4 >= gpu.multiprocessors;
}

/// Reduces the number of copied tokens, if need be, so that the keys and values of one head take at
/// most kMostCopiedBytes.
Index limited(Index tokens, const PagedProblem& problem) {
  const Index bytes = 2 * problem.cache.dim * size_bytes(problem.cache.dtype);
  return std::min(tokens, kMostCopiedBytes / bytes / kPromptTokens * kPromptTokens);
}

}  // namespace

PromptRoom prompt_room(const PagedProblem& problem) {
  Index prompts = 0, rows = 0, tokens = 0, end = 0;
  for (const PagedSequence& s : problem.sequences) {
    if (s.rows.begin < end) return {};  // prompt_tiles() needs the rows in the order of sequences
    end = s.rows.end;
    if (s.rows.size() < kPromptRows) continue;
    ++prompts, rows += s.rows.size();
    tokens += prompt_tokens(s, problem.read(s));
  }
  if (prompts == 0 || !fit_tiles(problem, rows)) return {};
  return {limited(tokens, problem), problem.cache.dim <= 128 && rows < 128 * prompts};
}

PromptRoom prompt_room(const PagedProblem& problem, const PagedArrays& arrays) {
  const Index rows = problem.rows(), most = std::min(arrays.sequences, rows / kPromptRows);
  if (!arrays.starts || rows <= arrays.sequences || most == 0 || !fit_tiles(problem, rows)) {
    return {};
  }
  const Index keys = arrays.width * problem.cache.page_size;
  const Index each = (ceil_div(keys, kPromptTokens) + 1) * kPromptTokens;
  return {limited(most * limited(each, problem), problem), false};
}

}  // namespace maskctl::attention::cuda
