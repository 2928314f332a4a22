#include "maskctl/kernels/cuda/linear/plan.h"

namespace maskctl::attention::cuda {
namespace {

/// Short intervals make the gradients of gates more exact, but a state is kept for each. The length
/// is chosen so that these states take at most about as much memory as queries, keys, values and
/// output gradients. 16-bit arrays get longer intervals, which are faster: their rounding error is
/// larger anyway.
Index tokens_of_interval(const LinearProblem& p) {
  const Index cells = p.d.key_dim * p.d.value_dim, channels = p.d.key_dim + p.d.value_dim;
  const Index least = size_bytes(p.query.dtype()) == 2 ? 8 * kLeastInterval : kLeastInterval;
  return least * std::max<Index>(ceil_div(cells, least * channels), 1);
}

}  // namespace

LinearPlan::LinearPlan(const LinearProblem& problem, Stream stream)
    : sequences(static_cast<Index>(problem.d.sequences.size())),
      longest(problem.d.longest()),
      interval_tokens(tokens_of_interval(problem)),
      token_step(problem.d.reverse ? -1 : 1),
      covers_tokens(problem.d.covers_tokens()) {
  std::vector<LinearRun> all_runs;
  std::vector<LinearInterval> all_intervals;
  for (Index n = 0; n < sequences; ++n) {
    const LinearSequence& s = problem.d.sequences[as_size(n)];
    const Index length = s.tokens.size();
    all_runs.push_back({problem.d.token(s, 0), length, intervals, boundaries, chunks});
    for (Index begin = 0; begin < length; begin += interval_tokens) {
      all_intervals.push_back({n, {begin, std::min(length, begin + interval_tokens)}});
    }
    boundaries += std::max<Index>(ceil_div(length, interval_tokens) - 1, 0);
    chunks += ceil_div(length, kLeastInterval);
    intervals = static_cast<Index>(all_intervals.size());
  }
  runs = DeviceArray(all_runs, stream);
  interval_list = DeviceArray(all_intervals, stream);
}

}  // namespace maskctl::attention::cuda
