// The importance of key blocks in float64 and plain loops: see Ranking.
#include "maskctl/attention/problems/selection.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "maskctl/attention/arrays/to_double.h"
#include "maskctl/attention/reference/kernels.h"

namespace maskctl::attention {
namespace {

class ReferenceRanking : public Ranking {
 public:
  explicit ReferenceRanking(const SelectionProblem& problem)
      : c_(*problem.blocks),
        query_(to_double(problem.query)),
        keys_(to_double(problem.mean_keys)) {}

  void add_weights(const BlockChoices& from, std::vector<double>& importance) override {
    for (Index g = 0; g < c_.d.group(); ++g) {
      std::vector<double> scores;
      for (Index c = 0; c < from.seen; ++c) {
        const Index q = (from.query_row + g) * c_.d.dim;
        const Index k = ((from.first + c) * c_.d.kv_heads + from.u) * c_.d.dim;
        double z = 0;
        for (Index x = 0; x < c_.d.dim; ++x) z += query_[as_size(q + x)] * keys_[as_size(k + x)];
        scores.push_back(c_.scale * z);
      }
      const double top = *std::max_element(scores.begin(), scores.end());
      double sum = 0;
      for (const double s : scores) sum += std::exp(s - top);
      for (std::size_t c = 0; c < scores.size(); ++c) {
        importance[c] += std::exp(scores[c] - top) / sum;
      }
    }
  }

 private:
  const BlockProblem& c_;
  std::vector<double> query_, keys_;
};

}  // namespace

void reference::select_blocks(const SelectionProblem& problem, const MutableTensorView& selected,
                              const Context&) {
  std::ranges::fill(selected.as<std::int32_t>(), -1);
  ReferenceRanking ranking(problem);
  for (const TokenTask& task : problem.blocks->tasks()) {
    attention::select_blocks(problem, task, ranking, selected);
  }
}

}  // namespace maskctl::attention
