// Forward attention on the CPU: blocks of queries against the tiles of keys that the mask opens.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "maskctl/attention/core/backends.h"
#include "maskctl/attention/core/cpu_heads.h"
#include "maskctl/attention/core/cpu_kernel.h"
#include "maskctl/attention/core/cpu_tiles.h"
#include "maskctl/base/kept_memory.h"
#include "maskctl/base/threads.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

constexpr float kClosed = -std::numeric_limits<float>::infinity();

using Buffer = std::vector<float>;

Buffer buffer(Index n) { return Buffer(static_cast<std::size_t>(n)); }

/// What is worked on at once: rows of queries, a multiple of kRowGroup, and keys, one of
/// kColumnGroup. Scores of that size, and K and V of a tile, stay in the second-level cache.
struct Tiles {
  Tiles(const SoftmaxOptions& o, const Dims& d)
      : rows(chosen(o.q_block, 192, 288, kRowGroup, d.queries)),
        keys(chosen(o.k_block, 256, 512, kColumnGroup, d.keys)) {}
  Index rows, keys;

 private:
  static Index chosen(Index hint, Index usual, Index most, Index unit, Index extent) {
    const Index wanted = hint > 0 ? std::min(hint, most) : usual;
    return round_up(std::clamp<Index>(extent, 1, wanted), unit);
  }
};

/// K and V of one key head, packed by tiles of keys: each is used by all blocks of queries.
class PackedHead {
 public:
  PackedHead(const CpuCall& c, Index tile_keys, Index b, Index u)
      : tile_keys_(tile_keys),
        key_floats_(tile_keys * c.d.dim),
        value_floats_(tile_keys * round_up(c.d.value_dim, kColumnGroup)),
        tiles_(ceil_div(c.d.keys, tile_keys)),
        memory_(as_size(tiles_ * (key_floats_ + value_floats_)) * sizeof(float)) {
    HeadRows rows(c, b, u);
    if (pack(rows, c.d)) return;
    rows.clean();
    pack(rows, c.d);
  }
  const float* keys(Range tile) const { return keys() + tile.begin / tile_keys_ * key_floats_; }
  const float* values(Range tile) const {
    return values() + tile.begin / tile_keys_ * value_floats_;
  }

 private:
  /// Writes all that is read; whether it is finite.
  bool pack(const HeadRows& rows, const Dims& d) {
    bool finite = true;
    for (Index t = 0; t < tiles_; ++t) {
      const Index first = t * tile_keys_, n = std::min(tile_keys_, d.keys - first);
      float* const keys_out = keys() + t * key_floats_;
      float* const values_out = values() + t * value_floats_;
      pack_columns(rows.key(first), rows.key_stride(), n, d.dim, keys_out);
      pack_rows(rows.value(first), rows.value_stride(), n, d.value_dim, values_out);
      finite = finite && all_finite(keys_out, d.dim * round_up(n, kColumnGroup)) &&
               all_finite(values_out, n * round_up(d.value_dim, kColumnGroup));
    }
    return finite;
  }
  float* keys() const { return memory_.as<float>(); }
  float* values() const { return keys() + tiles_ * key_floats_; }

  Index tile_keys_, key_floats_, value_floats_, tiles_;
  KeptMemory memory_;
};

/// The running softmax of a block of queries.
class Block {
 public:
  Block(const CpuCall& c, const Tiles& tiles)
      : c_(c),
        tile_keys_(tiles.keys),
        value_columns_(round_up(c.d.value_dim, kColumnGroup)),
        query_(buffer(tiles.rows * c.d.dim)),
        scores_(buffer(tiles.rows * tiles.keys)),
        sum_(buffer(tiles.rows * value_columns_)),
        max_(buffer(tiles.rows)),
        weight_(buffer(tiles.rows)) {}

  void run(Index b, Index h, Range rows, const PackedHead& head, SoftmaxResult& result) {
    b_ = b, h_ = h, rows_ = rows;
    start();
    open_.read(*c_.mask.plane(b, h), rows, tile_keys_);
    for (const KeyTile& tile : open_.tiles()) add(tile, head);
    finish(result);
  }

 private:
  Index padded_rows() const { return round_up(rows_.size(), kRowGroup); }

  void start() {
    const float* q = c_.query(b_, h_);
    for (Index r = 0; r < padded_rows(); ++r) {
      float* out = query_.data() + r * c_.d.dim;
      if (r >= rows_.size()) {
        std::fill(out, out + c_.d.dim, 0.0f);
        continue;
      }
      scale(q + (rows_.begin + r) * c_.query_stride(), c_.d.dim, c_.scale, out);
    }
    std::fill(sum_.begin(), sum_.end(), 0.0f);
    std::fill(max_.begin(), max_.end(), kClosed);
    std::fill(weight_.begin(), weight_.end(), 0.0f);
  }

  void add(const KeyTile& tile, const PackedHead& head) {
    set_spans(tile);
    multiply_columns(query_.data(), c_.d.dim, c_.d.dim, head.keys(tile.keys), spans_,
                     scores_.data(), tile_keys_);
    for (Index r = 0; r < rows_.size(); ++r) {
      const Range span = spans_[as_size(r / kRowGroup)];
      if (!span.empty()) update(r, tile, span);
    }
    for (Range& span : spans_) span.end = std::min(span.end, tile.keys.size());
    multiply_depths(scores_.data(), tile_keys_, tile.keys.size(), head.values(tile.keys),
                    value_columns_, spans_, sum_.data(), value_columns_);
  }

  /// The columns of the tile that each group of rows needs, in whole groups of columns.
  void set_spans(const KeyTile& tile) {
    const Index width = round_up(tile.keys.size(), kColumnGroup);
    spans_.assign(as_size(padded_rows() / kRowGroup),
                  tile.full ? Range{0, width} : Range{width, 0});
    if (tile.full) return;
    for (Index r = 0; r < rows_.size(); ++r) {
      const Range open = open_.span(r, tile.keys);
      if (open.empty()) continue;
      const Index first = tile.keys.begin;
      Range& span = spans_[as_size(r / kRowGroup)];
      span.begin = std::min(span.begin, (open.begin - first) / kColumnGroup * kColumnGroup);
      span.end = std::max(span.end, round_up(open.end - first, kColumnGroup));
    }
  }

  /// Scores to weights in the columns `span` of the tile; earlier sums shrink when the maximum
  /// grows.
  void update(Index r, const KeyTile& tile, Range span) {
    float* const x = scores_.data() + r * tile_keys_ + span.begin;
    const Range keys =
        intersect({tile.keys.begin + span.begin, tile.keys.begin + span.end}, tile.keys);
    const Index query = rows_.begin + r;
    if (c_.adjusts_logits()) c_.adjust(x, b_, h_, query, keys, span.size(), nullptr);
    if (!tile.full) open_.close_row(r, keys, kClosed, x);
    std::fill(x + keys.size(), x + span.size(), kClosed);
    float& top = max_[as_size(r)];
    float& weight = weight_[as_size(r)];
    const float now = std::max(top, max_of(x, span.size()));
    if (now > top) {
      if (top != kClosed) {
        const float factor = std::exp(top - now);
        weight *= factor;
        scale_by(sum_.data() + r * value_columns_, value_columns_, factor);
      }
      top = now;
    }
    weight += exp_and_sum(x, span.size(), top == kClosed ? 0.0f : top);
    if (c_.options.dropout > 0) c_.drop(x, b_, h_, query, keys);
  }

  void finish(SoftmaxResult& result) {
    float* out = result.out.as<float>().data() +
                 ((b_ * c_.d.queries + rows_.begin) * c_.d.q_heads + h_) * c_.d.value_dim;
    float* lse =
        result.lse.as<float>().data() + (b_ * c_.d.q_heads + h_) * c_.d.queries + rows_.begin;
    for (Index r = 0; r < rows_.size(); ++r, out += c_.d.q_heads * c_.d.value_dim) {
      finish_row(r, out, lse[r]);
    }
  }

  void finish_row(Index r, float* out, float& lse) {
    const float keys_top = max_[static_cast<std::size_t>(r)];
    float top = keys_top, weight = weight_[static_cast<std::size_t>(r)];
    if (c_.sink_array) {
      const float* sinks = c_.sinks.data() + first_sink(*c_.sink_array, c_.d, h_);
      const Index n = sink_count(c_.sink_array);
      for (Index t = 0; t < n; ++t) top = std::max(top, sinks[t]);
      weight = keys_top == kClosed ? 0 : weight * std::exp(keys_top - top);
      for (Index t = 0; t < n; ++t) weight += std::exp(sinks[t] - top);
    }
    const bool empty = weight == 0;
    lse = empty ? kClosed : top + std::log(weight);
    float factor = c_.options.normalize ? 1 / weight : 1;
    if (c_.options.normalize && c_.sink_array) factor *= std::exp(keys_top - top);
    if (empty || keys_top == kClosed) {
      std::fill_n(out, c_.d.value_dim, 0.0f);
    } else {
      scale(sum_.data() + r * value_columns_, c_.d.value_dim, factor, out);
    }
  }

  const CpuCall& c_;
  Index tile_keys_, value_columns_;
  Buffer query_, scores_, sum_, max_, weight_;
  std::vector<Range> spans_;  // of each group of rows
  QueryBlock open_;
  Index b_ = 0, h_ = 0;
  Range rows_;
};

/// Blocks that tasks take and give back: as many as work at once.
class Blocks {
 public:
  Blocks(const CpuCall& c, const Tiles& tiles) : c_(c), tiles_(tiles) {}
  std::unique_ptr<Block> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<Block>(c_, tiles_);
    std::unique_ptr<Block> block = std::move(free_.back());
    free_.pop_back();
    return block;
  }
  void give_back(std::unique_ptr<Block> block) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(block));
  }

 private:
  const CpuCall& c_;
  Tiles tiles_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Block>> free_;
};

/// Rows without keys and sinks, where the policy is not zero.
void apply_policy(const CpuCall& c, SoftmaxResult& result) {
  const EmptyRow policy = c.options.empty_row;
  if (policy == EmptyRow::kZero || sink_count(c.sink_array) > 0) return;
  const auto lse = result.lse.as<float>();
  parallel_for(c.d.batch * c.d.q_heads, [&](Index n) {
    const Index b = n / c.d.q_heads, h = n % c.d.q_heads;
    std::vector<float> mean;
    for (Index i = 0; i < c.d.queries; ++i) {
      if (lse[static_cast<std::size_t>(n * c.d.queries + i)] != kClosed) continue;
      if (mean.empty()) mean = empty_row_value(c, b, h);
      std::copy(mean.begin(), mean.end(),
                result.out.as<float>().begin() +
                    ((b * c.d.queries + i) * c.d.q_heads + h) * c.d.value_dim);
    }
  });
}

}  // namespace

std::vector<float> empty_row_value(const CpuCall& c, Index b, Index h) {
  const auto n = static_cast<std::size_t>(c.d.value_dim);
  if (c.options.empty_row == EmptyRow::kNan || c.d.keys == 0) {
    return std::vector<float>(n, c.options.empty_row == EmptyRow::kNan ? std::nanf("") : 0.0f);
  }
  std::vector<double> sum(n);
  const float* v = c.value(b, c.d.kv_head(h));
  for (Index j = 0; j < c.d.keys; ++j, v += c.value_stride()) {
    for (std::size_t x = 0; x < n; ++x) sum[x] += static_cast<double>(v[x]);
  }
  const double weight = c.options.normalize ? 1 / static_cast<double>(c.d.keys) : 1;
  std::vector<float> mean(n);
  for (std::size_t x = 0; x < n; ++x) mean[x] = static_cast<float>(sum[x] * weight);
  return mean;
}

SoftmaxResult cpu_forward(const SoftmaxInputs& inputs, const SoftmaxOptions& options,
                          const Dims& d) {
  const CpuCall c(inputs, options, d);
  const Tiles tiles(options, d);
  SoftmaxResult result{
      Tensor::unwritten(DType::kFloat32, {d.batch, d.queries, d.q_heads, d.value_dim}),
      Tensor::unwritten(DType::kFloat32, {d.batch, d.q_heads, d.queries})};
  std::vector<std::unique_ptr<PackedHead>> heads(static_cast<std::size_t>(d.batch * d.kv_heads));
  parallel_for(d.batch * d.kv_heads, [&](Index n) {
    heads[static_cast<std::size_t>(n)] =
        std::make_unique<PackedHead>(c, tiles.keys, n / d.kv_heads, n % d.kv_heads);
  });
  const Index blocks = ceil_div(d.queries, tiles.rows);
  Blocks workers(c, tiles);
  // Head by head, whose keys then stay in the cache; later blocks see more under a causal mask and
  // go first.
  parallel_for(d.batch * d.q_heads * blocks, [&](Index n) {
    const Index block = blocks - 1 - n % blocks;
    const Index b = n / blocks / d.q_heads, h = n / blocks % d.q_heads;
    const Range rows{block * tiles.rows, std::min((block + 1) * tiles.rows, d.queries)};
    std::unique_ptr<Block> worker = workers.take();
    worker->run(b, h, rows, *heads[as_size(b * d.kv_heads + d.kv_head(h))], result);
    workers.give_back(std::move(worker));
  });
  apply_policy(c, result);
  if (inputs.query->dtype() != DType::kFloat32) {
    result.out = astype(result.out, inputs.query->dtype());
  }
  return result;
}

}  // namespace maskctl::attention
