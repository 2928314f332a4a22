// The attention weights on the CPU: computes the scores of a few queries with all keys and turns
// them into weights in place.
#include <algorithm>
#include <cmath>
#include <vector>

#include "maskctl/attention/cpu/heads.h"
#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/attention/cpu/kernels.h"
#include "maskctl/attention/cpu/tiles.h"
#include "maskctl/base/threads.h"

namespace maskctl::attention {
namespace {

/// Computes the weights of a group of kRowGroup queries for all keys of their head.
class RowGroup {
 public:
  RowGroup(const CpuCall& c, Index b, Index h, Index first)
      : c_(c),
        b_(b),
        h_(h),
        rows_{first, std::min(first + kRowGroup, c.d.queries)},
        block_(kRowGroup, c.d.keys) {
    block_.read(c.mask.plane(b, h), nullptr, rows_);
  }

  /// Writes the weights of the group's rows to `out`, which must be 0.
  void run(const float* packed_keys, float* out) {
    if (!block_.tiles().empty()) score(packed_keys);
    for (Index r = 0; r < rows_.size(); ++r) {
      float* const weights = out + r * c_.d.keys;
      if (block_.tiles().empty() || tile().span(r).empty()) {
        apply_policy(weights);
      } else {
        softmax(r, scores_.data() + r * width());
        std::copy_n(scores_.data() + r * width(), c_.d.keys, weights);
      }
    }
  }

 private:
  /// The only tile of `block_`, which covers all keys.
  const KeyTile& tile() const { return block_.tiles().front(); }
  Index width() const { return round_up(c_.d.keys, kColumnGroup); }

  void score(const float* packed_keys) {
    Buffer query = buffer(kRowGroup * c_.d.dim);
    for (Index r = 0; r < rows_.size(); ++r) {
      const float* row = c_.query(b_, h_) + (rows_.begin + r) * c_.query_stride();
      for (Index x = 0; x < c_.d.dim; ++x) query[as_size(r * c_.d.dim + x)] = row[x] * c_.scale;
    }
    scores_.resize(as_size(kRowGroup * width()));
    multiply(query.data(), c_.d.dim, kRowGroup, c_.d.dim, packed_keys, width(), scores_.data(),
             width(), false);
  }

  /// Turns the scores x of row r into weights.
  void softmax(Index r, float* x) {
    const Range keys{0, c_.d.keys};
    if (c_.adjusts_logits()) c_.adjust(x, b_, h_, rows_.begin + r, keys, width(), nullptr);
    tile().each_closed(r, keys,
                       [x](Range closed) { std::fill(x + closed.begin, x + closed.end, kClosed); });
    std::fill(x + c_.d.keys, x + width(), kClosed);
    float top = max_of(x, width());
    const Index sinks = sink_count(c_.sink_array);
    const float* sink =
        sinks > 0 ? c_.sinks.data() + first_sink(*c_.sink_array, c_.d, h_) : nullptr;
    for (Index t = 0; t < sinks; ++t) top = std::max(top, sink[t]);
    float sum = exp_and_sum(x, width(), top);
    for (Index t = 0; t < sinks; ++t) sum += std::exp(sink[t] - top);
    scale_by(x, width(), 1 / sum);
  }

  void apply_policy(float* weights) const {
    const EmptyRow policy = c_.options.empty_row;
    if (policy == EmptyRow::kZero || sink_count(c_.sink_array) > 0) return;
    const float even = 1 / static_cast<float>(c_.d.keys);
    std::fill_n(weights, c_.d.keys, policy == EmptyRow::kMean ? even : std::nanf(""));
  }

  const CpuCall& c_;
  Index b_, h_;
  Range rows_;
  QueryBlock block_;
  Buffer scores_;
};

}  // namespace

void cpu::softmax_weights(const SoftmaxProblem& problem, const MutableTensorView& weights,
                          const Context&) {
  const CpuCall c(problem);
  const Dims& d = c.d;
  if (weights.elements() == 0) return;
  std::ranges::fill(weights.as<float>(), 0.0f);
  std::vector<Buffer> packed(as_size(d.batch * d.kv_heads));
  parallel_for(d.batch * d.kv_heads, [&](Index n) {
    HeadRows rows(c, n / d.kv_heads, n % d.kv_heads);
    rows.clean();
    Buffer& keys = packed[as_size(n)];
    keys = buffer(d.dim * round_up(d.keys, kColumnGroup));
    pack_columns(rows.key(0), rows.key_stride(), d.keys, d.dim, keys.data());
  });
  const Index groups = ceil_div(d.queries, kRowGroup);
  float* const out = weights.as<float>().data();
  parallel_for(d.batch * d.q_heads * groups, [&](Index n) {
    const Index head = n / groups, first = n % groups * kRowGroup;
    const Index b = head / d.q_heads, h = head % d.q_heads;
    RowGroup(c, b, h, first)
        .run(packed[as_size(b * d.kv_heads + d.kv_head(h))].data(),
             out + (head * d.queries + first) * d.keys);
  });
}

}  // namespace maskctl::attention
