// Cuts the segments of mean pooling into parts.
#include <algorithm>

#include "maskctl/attention/cuda/gpus.h"
#include "maskctl/kernels/cuda/pooling/mean_pooling.h"

namespace maskctl::attention::cuda {
namespace {

Index counted_tokens(const PoolingProblem& problem, Range segment) {
  if (problem.counted.empty()) return segment.size();
  const auto begin = problem.counted.begin();
  return segment.size() -
         std::count(begin + segment.begin, begin + std::max(segment.begin, segment.end), char{0});
}

/// Returns how many tokens a part has: few enough for several blocks on each multiprocessor, but so
/// many that the sums of a part are small beside its tokens.
Index tokens_of_part(const PoolingProblem& problem) {
  constexpr Index kBlocksOfMultiprocessor = 4, kLeastTokens = 64, kBlockBytes = 4096;
  const Index strips = ceil_div(problem.width * size_bytes(problem.x.dtype()), kBlockBytes);
  const Index blocks = kBlocksOfMultiprocessor * properties_in_use().multiprocessors;
  return std::max(kLeastTokens, ceil_div(problem.tokens * strips, blocks));
}

}  // namespace

PoolingPlan::PoolingPlan(const PoolingProblem& problem, Stream stream)
    : counted_(problem.counted, stream) {
  const Index tokens = tokens_of_part(problem);
  std::vector<PoolingPart> cut, of_sums;
  for (Index n = 0; n < static_cast<Index>(problem.segments.size()); ++n) {
    const Range segment = problem.segments[as_size(n)];
    const Index count = counted_tokens(problem, segment);
    if (segment.size() <= tokens) {
      parts_.push_back({segment, n, count});
      continue;
    }
    const auto first = static_cast<Index>(cut.size());
    for (Index begin = segment.begin; begin < segment.end; begin += tokens) {
      cut.push_back(
          {{begin, std::min(begin + tokens, segment.end)}, static_cast<Index>(cut.size()), 1});
    }
    of_sums.push_back({{first, static_cast<Index>(cut.size())}, n, count});
  }
  const auto end = [this] { return static_cast<Index>(parts_.size()); };
  whole_ = {0, end()};
  parts_.insert(parts_.end(), cut.begin(), cut.end());
  cut_ = {whole_.end, end()};
  parts_.insert(parts_.end(), of_sums.begin(), of_sums.end());
  of_sums_ = {cut_.end, end()};
  device_parts_ = {parts_, stream};
}

PoolingPlan::Parts PoolingPlan::parts(Range range) const {
  Index longest = 0;
  for (Index n = range.begin; n < range.end; ++n) {
    longest = std::max(longest, parts_[as_size(n)].rows.size());
  }
  return {device_parts_.data() + range.begin, range.size(), longest};
}

}  // namespace maskctl::attention::cuda
