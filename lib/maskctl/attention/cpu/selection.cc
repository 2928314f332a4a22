// The weights of whole blocks on the CPU.
#include "maskctl/attention/operations/native_sparse/selection.h"

#include <algorithm>
#include <vector>

#include "maskctl/attention/cpu/heads.h"
#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/attention/cpu/kernels.h"
#include "maskctl/attention/cpu/row_products.h"
#include "maskctl/base/threads.h"

namespace maskctl::attention {
namespace {

class CpuRanking : public Ranking {
 public:
  CpuRanking(const SelectionProblem& problem, const Floats& query)
      : c_(*problem.blocks), keys_(problem.mean_keys), query_(query) {}

  void add_weights(const Place& place, std::vector<double>& importance) override {
    const Index dim = c_.d.dim, group = c_.d.group();
    offsets_.resize(as_size(place.seen));
    for (Index c = 0; c < place.seen; ++c) {
      offsets_[as_size(c)] = ((place.first + c) * c_.d.kv_heads + place.u) * dim;
    }
    const Index width = round_up(place.seen, kColumnGroup);
    scores_.assign(as_size(group * width), 0.0f);
    rows_.place({DType::kFloat32, keys_.as<float>().data(), 1, 0, dim}, offsets_);
    row_dots(rows_, query_.data() + place.query_row * dim, group, scores_.data(), width);
    for (Index g = 0; g < group; ++g) {
      float* const row = scores_.data() + g * width;
      scale_by(row, width, static_cast<float>(c_.scale));
      std::fill(row + place.seen, row + width, kClosed);
      const float sum = exp_and_sum(row, width, max_of(row, width));
      for (Index c = 0; c < place.seen; ++c) {
        importance[as_size(c)] += static_cast<double>(row[c] / sum);
      }
    }
  }

 private:
  const BlockProblem& c_;
  const TensorView& keys_;
  const Floats& query_;
  std::vector<Index> offsets_;
  KeyRows rows_;
  std::vector<float> scores_;
};

}  // namespace

void cpu::select_blocks(const SelectionProblem& problem, const MutableTensorView& selected,
                        const Context&) {
  std::ranges::fill(selected.as<std::int32_t>(), -1);
  const std::vector<TokenTask> tasks = problem.blocks->tasks();
  const Floats query(problem.blocks->query);
  parallel_for(static_cast<Index>(tasks.size()), [&](Index i) {
    CpuRanking ranking(problem, query);
    attention::select_blocks(problem, tasks[as_size(i)], ranking, selected);
  });
}

}  // namespace maskctl::attention
