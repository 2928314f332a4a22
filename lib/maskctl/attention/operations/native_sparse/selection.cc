// The choice of blocks by their weights in the compressed branch.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "maskctl/attention/arrays/to_double.h"
#include "maskctl/attention/cpu/heads.h"
#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/attention/cpu/row_products.h"
#include "maskctl/attention/operations/native_sparse/compression.h"
#include "maskctl/base/threads.h"

namespace maskctl::attention {
namespace {

/// Blocks of one token and key head: `seen` whole ones from `first` (in [B,C]) on, and its own one.
struct Place {
  Index query_row;  // of the first query head, in [B,T,Hq]
  Index u;
  Index first, seen, own;
};

/// Adds to importance[c] the softmax weights of the whole blocks, summed over the query heads.
class Ranking {
 public:
  virtual ~Ranking() = default;
  virtual void add_weights(const Place& place, std::vector<double>& importance) = 0;
};

class ReferenceRanking : public Ranking {
 public:
  ReferenceRanking(const BlockCall& call, const BlockMeans& means)
      : c_(call), query_(doubles(call.query)), keys_(doubles(&means.key)) {}

  void add_weights(const Place& place, std::vector<double>& importance) override {
    for (Index g = 0; g < c_.d.group(); ++g) {
      std::vector<double> scores;
      for (Index c = 0; c < place.seen; ++c) {
        const Index q = (place.query_row + g) * c_.d.dim;
        const Index k = ((place.first + c) * c_.d.kv_heads + place.u) * c_.d.dim;
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
  const BlockCall& c_;
  std::vector<double> query_, keys_;
};

class CpuRanking : public Ranking {
 public:
  CpuRanking(const BlockCall& call, const BlockMeans& means, const Floats& query)
      : c_(call), keys_(means.key), query_(query) {}

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
      std::fill(row + place.seen, row + width, -std::numeric_limits<float>::infinity());
      const float sum = exp_and_sum(row, width, max_of(row, width));
      for (Index c = 0; c < place.seen; ++c) {
        importance[as_size(c)] += static_cast<double>(row[c] / sum);
      }
    }
  }

 private:
  const BlockCall& c_;
  const Tensor& keys_;
  const Floats& query_;
  std::vector<Index> offsets_;
  KeyRows rows_;
  std::vector<float> scores_;
};

/// The `count` best blocks, of equal ones the lower, in descending order of their numbers.
void choose(const std::vector<double>& importance, Index count, std::int32_t* out) {
  std::vector<std::int32_t> order(importance.size());
  std::iota(order.begin(), order.end(), 0);
  const auto kept = order.begin() + std::min<Index>(count, static_cast<Index>(order.size()));
  std::partial_sort(order.begin(), kept, order.end(), [&](std::int32_t a, std::int32_t b) {
    const double x = importance[as_size(a)], y = importance[as_size(b)];
    return x > y || (x == y && a < b);
  });
  std::sort(order.begin(), kept, std::greater<>());
  std::copy(order.begin(), kept, out);
}

void select(const BlockCall& c, const BlockMeans& means, const TokenTask& task, Ranking& ranking,
            Tensor& selected) {
  const auto& [n, u, tokens] = task;
  const TokenSequence& s = c.sequences[n];
  for (Index t = tokens.begin; t < tokens.end; ++t) {
    const Index token = s.batch * c.d.queries + s.tokens.begin + t;
    const Place place{token * c.d.q_heads + u * c.d.group(), u,
                      s.batch * means.key.extent(1) + means.first[n], (t + 1) / c.block_size,
                      t / c.block_size};
    std::vector<double> importance(as_size(place.own + 1));
    if (place.seen > 0) ranking.add_weights(place, importance);
    importance.back() = static_cast<double>(c.d.group());
    choose(importance, c.count,
           selected.as<std::int32_t>().data() + (token * c.d.kv_heads + u) * c.count);
  }
}

}  // namespace

Tensor select_blocks(const BlockCall& c, const BlockMeans& means, Backend backend) {
  Tensor selected(DType::kInt32, {c.d.batch, c.d.queries, c.d.kv_heads, c.count});
  std::fill(selected.as<std::int32_t>().begin(), selected.as<std::int32_t>().end(), -1);
  const std::vector<TokenTask> tasks = c.tasks();
  if (backend == Backend::kReference) {
    ReferenceRanking ranking(c, means);
    for (const TokenTask& task : tasks) select(c, means, task, ranking, selected);
    return selected;
  }
  const Floats query(c.query);
  parallel_for(static_cast<Index>(tasks.size()), [&](Index i) {
    CpuRanking ranking(c, means, query);
    select(c, means, tasks[as_size(i)], ranking, selected);
  });
  return selected;
}

}  // namespace maskctl::attention
