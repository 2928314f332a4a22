// Attention of each token over its list of key blocks, on the CPU: for one token and key head at a
// time, all query heads that share the key head attend to the keys of the blocks, which are read in
// place. Also the selection of blocks by importance.
#include <algorithm>
#include <cmath>
#include <functional>

#include "maskctl/attention/cpu/heads.h"
#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/attention/cpu/kernels.h"
#include "maskctl/attention/cpu/row_products.h"
#include "maskctl/attention/problems/selection.h"
#include "maskctl/base/threads.h"

namespace maskctl::attention {
namespace {

struct Arrays {
  explicit Arrays(const BlockProblem& c) : query(c.query), key(c.key), value(c.value) {}
  Floats query, key, value;
};

/// The keys that one token sees for one key head, and the logits of the query heads that share that
/// key head.
class TokenRows {
 public:
  TokenRows(const BlockProblem& call, const Arrays& arrays) : c_(call), arrays_(arrays) {}

  /// Loads token t of the sequence for key head u. Returns false if the token sees no key.
  bool read(std::size_t sequence, Index t, Index u) {
    const TokenSequence& s = c_.sequences[sequence];
    batch_ = s.batch, token_ = s.tokens.begin + t, u_ = u;
    blocks_ = c_.blocks(sequence, t, u);
    key_offsets_.clear(), value_offsets_.clear();
    for (const KeyBlock& block : blocks_) {
      for (Index j = block.keys.begin; j < block.keys.end; ++j) {
        const Index row = (batch_ * c_.d.keys + j) * c_.d.kv_heads + u;
        key_offsets_.push_back(row * c_.d.dim);
        value_offsets_.push_back(row * c_.d.value_dim);
      }
    }
    keys_.place({DType::kFloat32, arrays_.key.data(), 1, 0, c_.d.dim}, key_offsets_);
    values_.place({DType::kFloat32, arrays_.value.data(), 1, 0, c_.d.value_dim}, value_offsets_);
    width_ = round_up(keys_.count(), kColumnGroup);
    return keys_.count() > 0;
  }

  /// Writes the logits [group, width]: scale * q.k + ln(times), and -inf past the last key.
  void logits(std::vector<float>& out) const {
    out.assign(as_size(c_.d.group() * width_), 0.0f);
    row_dots(keys_, query(), c_.d.group(), out.data(), width_);
    for (Index g = 0; g < c_.d.group(); ++g) {
      float* row = out.data() + g * width_;
      scale_by(row, width_, static_cast<float>(c_.scale));
      std::fill(row + keys_.count(), row + width_, kClosed);
      for (const KeyBlock& block : blocks_) {
        const Index size = block.keys.size();
        if (block.times > 1) {
          const float extra = std::log(static_cast<float>(block.times));
          for (Index j = 0; j < size; ++j) row[j] += extra;
        }
        row += size;
      }
    }
  }

  const KeyRows& keys() const { return keys_; }
  const KeyRows& values() const { return values_; }
  const std::vector<KeyBlock>& blocks() const { return blocks_; }
  Index width() const { return width_; }

  const float* query() const { return arrays_.query.data() + first_row() * c_.d.dim; }
  /// The index, in an array [B,T,Hq], of the token's row for the first query head that shares the
  /// key head.
  Index first_row() const {
    return (batch_ * c_.d.queries + token_) * c_.d.q_heads + u_ * c_.d.group();
  }
  /// The index, in an array [B,T,Hkv], of the row of key j.
  Index key_row(Index j) const { return (batch_ * c_.d.keys + j) * c_.d.kv_heads + u_; }
  Index lse_at(Index g) const {
    return (batch_ * c_.d.q_heads + u_ * c_.d.group() + g) * c_.d.queries + token_;
  }

 private:
  const BlockProblem& c_;
  const Arrays& arrays_;
  Index batch_ = 0, token_ = 0, u_ = 0;
  std::vector<KeyBlock> blocks_;
  std::vector<Index> key_offsets_, value_offsets_;
  KeyRows keys_, values_;
  Index width_ = 0;
};

/// Writes the output and lse of one token, for the query heads of one key head.
void attend(const BlockProblem& c, const TokenRows& rows, std::vector<float>& scores, float* out,
            float* lse) {
  rows.logits(scores);
  for (Index g = 0; g < c.d.group(); ++g) {
    float* const row = scores.data() + g * rows.width();
    const float top = max_of(row, rows.width());
    const float sum = exp_and_sum(row, rows.width(), top);
    scale_by(row, rows.width(), 1 / sum);
    lse[rows.lse_at(g)] = top + std::log(sum);
  }
  row_sums(rows.values(), scores.data(), rows.width(), c.d.group(),
           out + rows.first_row() * c.d.value_dim);
}

/// The f32 arrays to which gradients are added, in the shapes of the inputs.
struct GradientSums {
  float *query, *key, *value;
};

/// Adds the gradients of the tokens of a task, one token at a time.
class Backward {
 public:
  Backward(const BlockProblem& call, const Arrays& arrays, std::span<const float> lse,
           const Floats& out, const Floats& d_out, const GradientSums& sums)
      : c_(call), rows_(call, arrays), lse_(lse), out_(out), d_out_(d_out), sums_(sums) {}

  void run(const TokenTask& task) {
    for (Index t = task.tokens.begin; t < task.tokens.end; ++t) {
      if (rows_.read(task.sequence, t, task.u)) add_token();
    }
  }

 private:
  void add_token() {
    const Index group = c_.d.group(), width = rows_.width(), dim = c_.d.dim, n = c_.d.value_dim;
    const float* const d_out = d_out_.data() + rows_.first_row() * n;
    rows_.logits(weights_);
    logit_gradients_.assign(weights_.size(), 0.0f);
    row_dots(rows_.values(), d_out, group, logit_gradients_.data(), width);
    for (Index g = 0; g < group; ++g) differentiate(g, d_out + g * n);
    row_sums(rows_.keys(), logit_gradients_.data(), width, group,
             sums_.query + rows_.first_row() * dim);
    Index first = 0;
    for (const KeyBlock& block : rows_.blocks()) {
      const Index row = rows_.key_row(block.keys.begin), size = block.keys.size();
      add_outer(logit_gradients_.data() + first, width, rows_.query(), group, dim,
                sums_.key + row * dim, c_.d.kv_heads * dim, size);
      add_outer(weights_.data() + first, width, d_out, group, n, sums_.value + row * n,
                c_.d.kv_heads * n, size);
      first += size;
    }
  }

  /// Turns logits into weights, and gradients of weights (d_out . v) into gradients of q . k.
  void differentiate(Index g, const float* d_out) {
    const Index width = rows_.width(), n = c_.d.value_dim;
    float* const p = weights_.data() + g * width;
    float* const ds = logit_gradients_.data() + g * width;
    const float* const out = out_.data() + (rows_.first_row() + g) * n;
    exp_and_sum(p, width, lse_[as_size(rows_.lse_at(g))]);
    float delta = 0;
    for (Index x = 0; x < n; ++x) delta += d_out[x] * out[x];
    deltas_.assign(as_size(width), delta);
    softmax_gradient(p, ds, deltas_.data(), ds, width);
    scale_by(ds, width, static_cast<float>(c_.scale));
  }

  const BlockProblem& c_;
  TokenRows rows_;
  std::span<const float> lse_;
  const Floats &out_, &d_out_;
  GradientSums sums_;
  std::vector<float> weights_, logit_gradients_, deltas_;
};

/// A gradient to which several tasks add concurrently, each into an array of its own.
class PartSums {
 public:
  PartSums(const MutableTensorView& gradient, Index parts)
      : first_(gradient),
        others_(as_size(parts - 1), std::vector<float>(as_size(gradient.elements()))) {
    first_.fill(0);
  }
  float* part(std::size_t p) { return p == 0 ? first_.data() : others_[p - 1].data(); }
  /// Adds the arrays of all tasks to the gradient, in a fixed order.
  void finish() {
    for (const std::vector<float>& other : others_) {
      std::ranges::transform(first_.values(), other, first_.data(), std::plus<>());
    }
    first_.finish();
  }

 private:
  FloatOutput first_;
  std::vector<std::vector<float>> others_;
};

/// Computes the importance of whole blocks: see Ranking.
class CpuRanking : public Ranking {
 public:
  CpuRanking(const SelectionProblem& problem, const Floats& query)
      : c_(*problem.blocks), keys_(problem.mean_keys), query_(query) {}

  void add_weights(const BlockChoices& from, std::vector<double>& importance) override {
    const Index dim = c_.d.dim, group = c_.d.group();
    offsets_.resize(as_size(from.seen));
    for (Index c = 0; c < from.seen; ++c) {
      offsets_[as_size(c)] = ((from.first + c) * c_.d.kv_heads + from.u) * dim;
    }
    const Index width = round_up(from.seen, kColumnGroup);
    scores_.assign(as_size(group * width), 0.0f);
    rows_.place({DType::kFloat32, keys_.as<float>().data(), 1, 0, dim}, offsets_);
    row_dots(rows_, query_.data() + from.query_row * dim, group, scores_.data(), width);
    for (Index g = 0; g < group; ++g) {
      float* const row = scores_.data() + g * width;
      scale_by(row, width, static_cast<float>(c_.scale));
      std::fill(row + from.seen, row + width, kClosed);
      const float sum = exp_and_sum(row, width, max_of(row, width));
      for (Index c = 0; c < from.seen; ++c) {
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

void cpu::blocks_forward(const BlockProblem& c, const SoftmaxOutputs& outputs, const Context&) {
  const Arrays arrays(c);
  FloatOutput out(outputs.out);
  out.fill(0);
  std::ranges::fill(outputs.lse.as<float>(), kClosed);
  const std::vector<TokenTask> tasks = c.tasks();
  parallel_for(static_cast<Index>(tasks.size()), [&](Index i) {
    const auto& [sequence, u, tokens] = tasks[as_size(i)];
    TokenRows rows(c, arrays);
    std::vector<float> scores;
    for (Index t = tokens.begin; t < tokens.end; ++t) {
      if (rows.read(sequence, t, u))
        attend(c, rows, scores, out.data(), outputs.lse.as<float>().data());
    }
  });
  out.finish();
}

void cpu::blocks_backward(const BlockProblem& c, const SoftmaxBackwardInputs& inputs,
                          const SoftmaxGradientOutputs& gradients, const Context&) {
  const Arrays arrays(c);
  const Floats out(inputs.out), d_out(inputs.d_out);
  const Index heads = static_cast<Index>(c.sequences.size()) * c.d.kv_heads;
  const Index parts = parts_of_head(heads);
  FloatOutput d_query(gradients.query);
  d_query.fill(0);
  PartSums d_key(gradients.key, parts), d_value(gradients.value, parts);
  // All tokens of a sequence and key head add to the gradients of the same keys. The tokens are
  // split into `parts` sets of ranges, and each set gets a task with sums of its own.
  parallel_for(heads * parts, [&](Index i) {
    const std::size_t sequence = as_size(i / parts / c.d.kv_heads), part = as_size(i % parts);
    const Index u = i / parts % c.d.kv_heads, tokens = c.sequences[sequence].tokens.size();
    Backward task(c, arrays, inputs.lse.as<float>(), out, d_out,
                  {d_query.data(), d_key.part(part), d_value.part(part)});
    for (Index t = i % parts * kTaskTokens; t < tokens; t += parts * kTaskTokens) {
      task.run({sequence, u, {t, std::min(t + kTaskTokens, tokens)}});
    }
  });
  d_query.finish();
  d_key.finish();
  d_value.finish();
}

void cpu::select_blocks(const SelectionProblem& problem, const MutableTensorView& selected,
                        const Context&) {
  std::ranges::fill(selected.as<std::int32_t>(), -1);
  const std::vector<TokenTask> tasks = problem.blocks->tasks();
  const Floats query(problem.query);
  parallel_for(static_cast<Index>(tasks.size()), [&](Index i) {
    CpuRanking ranking(problem, query);
    attention::select_blocks(problem, tasks[as_size(i)], ranking, selected);
  });
}

}  // namespace maskctl::attention
