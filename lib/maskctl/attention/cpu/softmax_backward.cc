// The backward pass of softmax attention on the CPU: one pass over the open tiles gives all
// gradients.
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "maskctl/attention/cpu/heads.h"
#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/attention/cpu/kernels.h"
#include "maskctl/attention/cpu/small_gradients.h"
#include "maskctl/attention/cpu/tiles.h"
#include "maskctl/base/buffer_pool.h"
#include "maskctl/base/threads.h"
#include "maskctl/base/work_scope.h"

namespace maskctl::attention {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr Index kTile = 96;  // queries and keys of a tile; a multiple of kRowGroup and kColumnGroup

/// Copies rows of a head, times `factor`, to a tile of kTile contiguous rows; missing rows are 0.
void copy_tile(const float* src, Index stride, Index rows, Index columns, float factor,
               float* out) {
  for (Index r = 0; r < rows; ++r) scale(src + r * stride, columns, factor, out + r * columns);
  std::fill(out + rows * columns, out + kTile * columns, 0.0f);
}

/// Queries and d_out of one tile, in the layouts that the products read.
struct QueryTile {
  explicit QueryTile(const CpuCall& c)
      : rows_q(buffer(kTile * c.d.dim)),
        rows_out(buffer(kTile * c.d.value_dim)),
        columns_q(rows_q.size()),
        columns_out(rows_out.size()),
        packed_q(buffer(kTile * round_up(c.d.dim, kColumnGroup))),
        packed_out(buffer(kTile * round_up(c.d.value_dim, kColumnGroup))),
        lse(buffer(kTile)),
        delta(buffer(kTile)) {}

  Buffer rows_q, rows_out;  // rows of scaled queries and of d_out
  // Queries and d_out packed as right factors of products: transposed (columns_) or not (packed_).
  Buffer columns_q, columns_out;
  Buffer packed_q, packed_out;
  Buffer lse, delta;  // delta: out . d_out - d_lse
};

/// Computes the gradients of some tiles of queries against one key head. Keys and values are padded
/// to whole tiles.
class GradientTask {
 public:
  GradientTask(const CpuCall& c, std::span<const float> lse, const Floats& d_out, const Floats& out,
               const Floats& d_lse, Index b, Index u)
      : c_(c),
        lse_(lse),
        d_out_(d_out),
        out_(out),
        d_lse_(d_lse),
        b_(b),
        u_(u),
        q_(c),
        tiles_(ceil_div(c.d.keys, kTile)),
        dim_columns_(round_up(c.d.dim, kColumnGroup)),
        value_columns_(round_up(c.d.value_dim, kColumnGroup)),
        memory_(as_size(tiles_ * kTile *
                        (c.d.dim + c.d.value_dim + 2 * dim_columns_ + value_columns_)) *
                sizeof(float)),
        key_rows_(memory_.as<float>()),
        value_rows_(key_rows_ + tiles_ * kTile * c.d.dim),
        packed_keys_(value_rows_ + tiles_ * kTile * c.d.value_dim),
        d_key_(packed_keys_ + tiles_ * kTile * dim_columns_),
        d_value_(d_key_ + tiles_ * kTile * dim_columns_),
        d_query_(buffer(kTile * dim_columns_)),
        p_(buffer(kTile * kTile)),
        dp_(buffer(kTile * kTile)),
        transposed_(buffer(kTile * kTile)),
        cap_derivative_(c.options.soft_cap ? buffer(kTile * kTile) : Buffer()),
        block_(kTile, kTile) {
    std::fill_n(d_key_, tiles_ * kTile * (dim_columns_ + value_columns_), 0.0f);
    HeadRows head(c, b, u);
    load_keys(head);
    if (all_finite(key_rows_, tiles_ * kTile * (c.d.dim + c.d.value_dim))) return;
    head.clean();
    load_keys(head);
  }

  /// Computes what query tile `tile` of query head h contributes: writes its rows of d_query, and
  /// adds to d_bias and to this task's sums for the gradients of K and V.
  void add(Index h, Index tile, std::span<float> d_query, std::span<float> d_bias) {
    throw_if_stopped();
    const Range rows{tile * kTile, std::min((tile + 1) * kTile, c_.d.queries)};
    load(h, rows);
    block_.read(c_.mask.plane(b_, h), c_.block_map, rows);
    std::fill(d_query_.begin(), d_query_.end(), 0.0f);
    for (const KeyTile& keys : block_.tiles()) add_tile(h, rows, keys, d_bias);
    float* out = d_query.data() + ((b_ * c_.d.queries + rows.begin) * c_.d.q_heads + h) * c_.d.dim;
    for (Index r = 0; r < rows.size(); ++r, out += c_.query_stride()) {
      scale(d_query_.data() + r * dim_columns_, c_.d.dim, c_.scale, out);
    }
  }

  /// Writes this task's sums to the gradients of K and V or, with `add`, adds them.
  void flush(std::span<float> d_key, std::span<float> d_value, bool add) const {
    float* dk = d_key.data() + (b_ * c_.d.keys * c_.d.kv_heads + u_) * c_.d.dim;
    float* dv = d_value.data() + (b_ * c_.d.keys * c_.d.kv_heads + u_) * c_.d.value_dim;
    const auto put = [add](const float* sum, Index n, float* out) {
      if (!add) std::copy_n(sum, n, out);
      for (Index x = 0; add && x < n; ++x) out[x] += sum[x];
    };
    for (Index j = 0; j < c_.d.keys; ++j) {
      put(d_key_ + j * dim_columns_, c_.d.dim, dk + j * c_.key_stride());
      put(d_value_ + j * value_columns_, c_.d.value_dim, dv + j * c_.value_stride());
    }
  }

 private:
  void load_keys(const HeadRows& head) {
    for (Index t = 0; t < tiles_; ++t) {
      const Index first = t * kTile, rows = std::min(kTile, c_.d.keys - first);
      float* const keys = key_rows_ + first * c_.d.dim;
      copy_tile(head.key(first), head.key_stride(), rows, c_.d.dim, 1, keys);
      copy_tile(head.value(first), head.value_stride(), rows, c_.d.value_dim, 1,
                value_rows_ + first * c_.d.value_dim);
      pack_rows(keys, c_.d.dim, kTile, c_.d.dim, packed_keys_ + first * dim_columns_);
    }
  }

  void load(Index h, Range rows) {
    const Index n = rows.size(), vd = c_.d.value_dim, stride = c_.d.q_heads * vd;
    copy_tile(c_.query(b_, h) + rows.begin * c_.query_stride(), c_.query_stride(), n, c_.d.dim,
              c_.scale, q_.rows_q.data());
    const Index first = ((b_ * c_.d.queries + rows.begin) * c_.d.q_heads + h) * vd;
    copy_tile(d_out_.data() + first, stride, n, vd, 1, q_.rows_out.data());
    pack_columns(q_.rows_q.data(), c_.d.dim, kTile, c_.d.dim, q_.columns_q.data());
    pack_columns(q_.rows_out.data(), vd, kTile, vd, q_.columns_out.data());
    pack_rows(q_.rows_q.data(), c_.d.dim, kTile, c_.d.dim, q_.packed_q.data());
    pack_rows(q_.rows_out.data(), vd, kTile, vd, q_.packed_out.data());
    const Index row = (b_ * c_.d.q_heads + h) * c_.d.queries + rows.begin;
    for (Index r = 0; r < kTile; ++r) {
      // exp(x - infinity) = 0, so rows past the last have no weight.
      q_.lse[as_size(r)] = r < n ? lse_[as_size(row + r)] : kInfinity;
      q_.delta[as_size(r)] = r < n ? delta(first + r * stride, row + r) : 0;
    }
  }

  float delta(Index out_at, Index lse_at) const {
    const float sum = dot(d_out_.data() + out_at, out_.data() + out_at, c_.d.value_dim);
    return d_lse_ ? sum - d_lse_.data()[lse_at] : sum;
  }

  void add_tile(Index h, Range rows, const KeyTile& tile, std::span<float> d_bias) {
    const Index first = tile.keys.begin;
    set_spans(rows.size(), tile);
    multiply_columns(key_rows_ + first * c_.d.dim, c_.d.dim, c_.d.dim, q_.columns_q.data(),
                     query_columns_, p_.data(), kTile);
    if (c_.adjusts_logits()) adjust(h, rows, tile.keys);
    for (Index j = 0; j < kTile; ++j) {
      const Range span = query_columns_[as_size(j / kRowGroup)];
      exp_shifted(p_.data() + j * kTile + span.begin, q_.lse.data() + span.begin, span.size());
    }
    close(rows.size(), tile, p_);
    multiply_columns(value_rows_ + first * c_.d.value_dim, c_.d.value_dim, c_.d.value_dim,
                     q_.columns_out.data(), query_columns_, dp_.data(), kTile);
    // Applies dropout to dp_ and, for the gradient of V, to a copy of p_.
    if (c_.options.dropout > 0) drop(h, rows, tile.keys);
    const Buffer& weights = c_.options.dropout > 0 ? transposed_ : p_;
    multiply_depths(weights.data(), kTile, kTile, q_.packed_out.data(), value_columns_,
                    query_depths_, d_value_ + first * value_columns_, value_columns_);
    for (Index j = 0; j < kTile; ++j) {
      const Range span = query_columns_[as_size(j / kRowGroup)];
      const Index at = j * kTile + span.begin;
      softmax_gradient(p_.data() + at, dp_.data() + at, q_.delta.data() + span.begin,
                       dp_.data() + at, span.size());
    }
    close(rows.size(), tile, dp_);
    add_logit_gradients(h, rows, tile.keys, d_bias);
    multiply_depths(dp_.data(), kTile, kTile, q_.packed_q.data(), dim_columns_, query_depths_,
                    d_key_ + first * dim_columns_, dim_columns_);
    transpose_tile(dp_, transposed_);
    multiply_depths(transposed_.data(), kTile, kTile, packed_keys_ + first * dim_columns_,
                    dim_columns_, key_spans_, d_query_.data(), dim_columns_);
  }

  /// Determines which cells the products must compute: for each group of keys, a range of queries
  /// (query_columns_ in whole vectors), and for each group of queries, a range of keys. Cells
  /// outside are closed.
  void set_spans(Index queries, const KeyTile& tile) {
    constexpr Index kGroups = kTile / kRowGroup;
    const Range all{0, kTile}, none{kTile, 0};
    query_depths_.assign(as_size(kGroups), tile.full ? all : none);
    key_spans_.assign(as_size(kGroups), tile.full ? all : none);
    for (Index i = 0; !tile.full && i < queries; ++i) {
      const Range open = tile.span(i);
      if (open.empty()) continue;
      const Range keys{open.begin - tile.keys.begin, open.end - tile.keys.begin};
      widen(keys, key_spans_[as_size(i / kRowGroup)]);
      for (Index g = keys.begin / kRowGroup; g * kRowGroup < keys.end; ++g) {
        widen({i, i + 1}, query_depths_[as_size(g)]);
      }
    }
    query_columns_.clear();
    for (const Range& depth : query_depths_) query_columns_.push_back(whole_vectors(depth));
  }
  static void widen(Range by, Range& span) {
    span = {std::min(span.begin, by.begin), std::max(span.end, by.end)};
  }

  /// Zeroes the closed cells that the products will read, and the rows past the last key.
  void close(Index queries, const KeyTile& tile, Buffer& x) const {
    const Range all{0, tile.keys.size()};
    for (Index i = 0; !tile.full && i < queries; i += kVector) {
      const Range block{i, std::min(i + kVector, queries)};
      const Range keys = c_.adjusts_logits() ? all : intersect(keys_read(block), all);
      if (keys.empty()) continue;
      const Range of_mask{tile.keys.begin + keys.begin, tile.keys.begin + keys.end};
      for (Index r = block.begin; r < block.end; ++r) {
        tile.each_closed(r, of_mask, [&](Range closed) {
          for (Index k = closed.begin; k < closed.end; ++k) {
            x[as_size((k - tile.keys.begin) * kTile + r)] = 0;
          }
        });
      }
    }
    std::fill(x.begin() + tile.keys.size() * kTile, x.end(), 0.0f);
  }

  /// The range of keys for which a product reads cells of these queries.
  Range keys_read(Range queries) const {
    Range keys{kTile, 0};
    for (Index g = 0; g * kRowGroup < kTile; ++g) {
      if (intersect(query_columns_[as_size(g)], queries).empty()) continue;
      widen({g * kRowGroup, (g + 1) * kRowGroup}, keys);
    }
    for (Index g = queries.begin / kRowGroup; g * kRowGroup < queries.end; ++g) {
      if (!key_spans_[as_size(g)].empty()) widen(key_spans_[as_size(g)], keys);
    }
    return keys;
  }

  static void transpose_tile(const Buffer& from, Buffer& to) {
    transpose(from.data(), kTile, to.data());
  }

  /// Applies bias and soft cap, which work on rows of queries: transposes the tile, and back.
  void adjust(Index h, Range rows, Range keys) {
    transpose_tile(p_, transposed_);
    for (Index r = 0; r < rows.size(); ++r) {
      float* const derivative = c_.options.soft_cap ? cap_derivative_.data() + r * kTile : nullptr;
      c_.adjust(transposed_.data() + r * kTile, b_, h, rows.begin + r, keys, kTile, derivative);
    }
    transpose_tile(transposed_, p_);
  }

  void drop(Index h, Range rows, Range keys) {
    transposed_ = p_;
    for (Index j = 0; j < keys.size(); ++j) {
      for (Index r = 0; r < rows.size(); ++r) {
        const float m = c_.dropout_at(b_, h, rows.begin + r, keys.begin + j);
        transposed_[as_size(j * kTile + r)] *= m;
        dp_[as_size(j * kTile + r)] *= m;
      }
    }
  }

  /// Adds the gradients of the logits to d_bias. On entry dp_ holds the gradients of the final
  /// logits; on return, those of the logits before the soft cap.
  void add_logit_gradients(Index h, Range rows, Range keys, std::span<float> d_bias) {
    if (!c_.adjusts_logits()) return;
    const bool before = c_.options.bias_order == BiasOrder::kBeforeCap;
    for (Index r = 0; r < rows.size(); ++r) {
      for (Index j = 0; j < keys.size(); ++j) {
        float& ds = dp_[as_size(j * kTile + r)];
        const float dz = c_.options.soft_cap ? ds * cap_derivative_[as_size(r * kTile + j)] : ds;
        if (c_.bias) {
          d_bias[as_size(c_.bias_at.at(b_, h, rows.begin + r, keys.begin + j))] += before ? dz : ds;
        }
        ds = dz;
      }
    }
  }

  const CpuCall& c_;
  std::span<const float> lse_;
  const Floats &d_out_, &out_, &d_lse_;
  Index b_, u_;
  QueryTile q_;
  std::vector<Range> query_depths_, query_columns_;  // for each group of keys
  std::vector<Range> key_spans_;                     // for each group of queries
  Index tiles_, dim_columns_, value_columns_;
  PooledBuffer memory_;  // owns the memory of the arrays that have rows for all keys
  float *key_rows_, *value_rows_, *packed_keys_, *d_key_, *d_value_;
  Buffer d_query_, p_, dp_, transposed_, cap_derivative_;
  QueryBlock block_;
};

/// Whether several key heads add to the same cells of the bias gradient; such key heads run one
/// after another.
bool heads_share_bias(const CpuCall& c) {
  return c.bias && ((c.d.batch > 1 && c.bias_at.stride[0] == 0) ||
                    (c.d.kv_heads > 1 && c.bias_at.stride[1] == 0));
}

/// Returns parts_of_head() for a call; but 1 if all queries share a row of the bias, since then a
/// single task must process them all.
Index parts_of(const CpuCall& c) {
  if (c.bias && c.bias_at.stride[2] == 0) return 1;
  return parts_of_head(heads_share_bias(c) ? 1 : c.d.batch * c.d.kv_heads);
}

}  // namespace

void cpu::softmax_backward(const SoftmaxProblem& problem, const SoftmaxBackwardInputs& inputs,
                           const SoftmaxGradientOutputs& gradients, const Context&) {
  const CpuCall c(problem);
  const Dims& d = c.d;
  const Floats d_out(inputs.d_out), out(inputs.out), d_lse(inputs.d_lse);
  FloatOutput d_query(gradients.query), d_key(gradients.key), d_value(gradients.value);
  std::optional<FloatOutput> d_bias;
  if (gradients.bias) d_bias.emplace(*gradients.bias).fill(0);
  const std::span<float> bias_sums = d_bias ? d_bias->values() : std::span<float>();
  const Index heads = d.batch * d.kv_heads;
  const Index tiles = ceil_div(d.queries, kTile);
  const Index parts = parts_of(c);
  std::vector<std::unique_ptr<GradientTask>> tasks(static_cast<std::size_t>(heads * parts));
  const auto work = [&](Index n) {
    const Index head = n / parts, u = head % d.kv_heads;
    auto task = std::make_unique<GradientTask>(c, inputs.lse.as<float>(), d_out, out, d_lse,
                                               head / d.kv_heads, u);
    for (Index h = u * d.group(); h < (u + 1) * d.group(); ++h) {
      for (Index t = n % parts; t < tiles; t += parts) task->add(h, t, d_query.values(), bias_sums);
    }
    if (parts == 1) {
      task->flush(d_key.values(), d_value.values(), false);
    } else {
      tasks[static_cast<std::size_t>(n)] = std::move(task);
    }
  };
  const auto run = [&](Range some) {  // computes a range of key heads
    const Range all{some.begin * parts, some.end * parts};
    parallel_for(all.size(), [&](Index n) { work(all.begin + n); });
    // Adds in a fixed order, so that equal calls give equal bits.
    for (Index n = all.begin; parts > 1 && n < all.end; ++n) {
      tasks[as_size(n)]->flush(d_key.values(), d_value.values(), n % parts != 0);
      tasks[as_size(n)].reset();
    }
  };
  const Index together = heads_share_bias(c) ? 1 : std::max<Index>(heads, 1);
  for (Index head = 0; head < heads; head += together) run({head, head + together});
  add_mean_gradient(c, inputs.lse, d_out, d_value.values());
  for (FloatOutput* gradient : {&d_query, &d_key, &d_value}) gradient->finish();
  if (d_bias) d_bias->finish();
  if (gradients.sinks) write_sink_gradient(c, inputs.lse, d_out, out, d_lse, *gradients.sinks);
}

}  // namespace maskctl::attention
