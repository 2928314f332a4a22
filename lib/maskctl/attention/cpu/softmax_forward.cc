// The forward pass of softmax attention on the CPU: blocks of queries against the open tiles of
// keys.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "maskctl/attention/cpu/heads.h"
#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/attention/cpu/kernels.h"
#include "maskctl/attention/cpu/packed_heads.h"
#include "maskctl/attention/cpu/prefetch_queue.h"
#include "maskctl/attention/cpu/tiles.h"
#include "maskctl/attention/cpu/worker_pool.h"
#include "maskctl/base/threads.h"
#include "maskctl/base/work_scope.h"

namespace maskctl::attention {
namespace {

/// Where results are written: out [B,Tq,Hq,Dv], lse [B,Hq,Tq].
struct Results {
  float *out, *lse;
};

/// The size of a tile: queries, a multiple of kRowGroup, and keys, a multiple of kColumnGroup. The
/// scores of a tile and its K and V fit in the second-level cache.
struct TileSizes {
  TileSizes(const SoftmaxSettings& o, const Dims& d)
      : rows(chosen(o.q_block, 192, 288, kRowGroup, d.queries)),
        keys(chosen(o.k_block, 256, 512, kColumnGroup, d.keys)) {}
  Index rows, keys;

 private:
  static Index chosen(Index hint, Index usual, Index most, Index unit, Index extent) {
    const Index wanted = hint > 0 ? std::min(hint, most) : usual;
    return round_up(std::clamp<Index>(extent, 1, wanted), unit);
  }
};

/// Computes blocks of queries. Usually each block goes through its tiles of keys; a block that sees
/// few keys is computed in strips of rows, each with all its keys in one step.
class QueryBlockWorker {
 public:
  QueryBlockWorker(const CpuCall& c, const TileSizes& tiles)
      : c_(c),
        tile_keys_(tiles.keys),
        value_columns_(round_up(c.d.value_dim, kColumnGroup)),
        query_(buffer(tiles.rows * c.d.dim)),
        scores_(buffer(tiles.rows * tiles.keys)),
        sum_(buffer(tiles.rows * value_columns_)),
        scale_(as_size(tiles.rows), c.scale),
        max_(buffer(tiles.rows)),
        weight_(buffer(round_up(tiles.rows, kColumnGroup))),
        log_(weight_.size()),
        factor_(buffer(tiles.rows)),
        spans_(as_size(tiles.rows)),
        block_(tiles.rows, tiles.keys) {}

  void run(Index b, Index h, Range rows, PackedHead& head, const Results& results) {
    b_ = b, h_ = h, rows_ = rows;
    out_ = results.out + (b * c_.d.queries * c_.d.q_heads + h) * c_.d.value_dim;
    lse_ = results.lse + (b * c_.d.q_heads + h) * c_.d.queries;
    block_.read(c_.mask.plane(b, h), c_.block_map, rows);
    at_once_ = is_narrow();
    const Index step = at_once_ ? std::min(kStrip, rows.size()) : rows.size();
    for (Index first = 0; first < rows.size(); first += step) {
      throw_if_stopped();
      strip_ = {first, std::min(first + step, rows.size())};
      start();
      if (at_once_) {
        add_at_once(head);
      } else {
        for (const KeyTile& tile : block_.tiles()) {
          if (!tile.full) find_spans({&tile, 1});
          add({tile.keys, {&tile, 1}, tile.full}, head);
        }
      }
      finish();
    }
  }

 private:
  static constexpr Index kStrip = 24;

  /// The keys that one step adds to the sums of a strip: one tile, or all keys that the strip sees.
  struct KeyStep {
    Range keys;
    std::span<const KeyTile> tiles;  // the tiles that contain the keys
    bool full;
  };

  /// The range from the first to the last open key of a row, and whether all keys in it are known
  /// to be open.
  struct RowSpan {
    Range keys;
    bool all_open = true;

    void append(Range further, bool may_have_gaps) {
      if (further.empty()) return;
      all_open = all_open && !may_have_gaps && (keys.empty() || keys.end == further.begin);
      keys = {keys.empty() ? further.begin : keys.begin, further.end};
    }
  };

  /// Whether strips are better for this block than tiles: K and V of all keys that it sees fit in
  /// the second-level cache, and the scores of a strip fit in scores_. Tiles are better if all
  /// tiles are full, or if closed tiles lie between open ones.
  bool is_narrow() const {
    constexpr Index kFloats = 192 * 1024;  // 3/4 of a cache of 1 MiB
    const std::vector<KeyTile>& tiles = block_.tiles();
    if (std::ranges::all_of(tiles, &KeyTile::full)) return false;
    const Index width = tiles.back().keys.end - tiles.front().keys.begin;
    return width * (c_.d.dim + c_.d.value_dim) <= kFloats &&
           kStrip * round_up(width, kColumnGroup) <= static_cast<Index>(scores_.size()) &&
           ceil_div(width, tile_keys_) == static_cast<Index>(tiles.size());
  }

  // The number of row groups in the strip, and the query of row r of the strip.
  Index groups() const { return ceil_div(strip_.size(), kRowGroup); }
  Index query(Index r) const { return rows_.begin + strip_.begin + r; }
  const float* query_row(Index i) const { return c_.query(b_, h_) + i * c_.query_stride(); }
  float* out_row(Index i) const { return out_ + i * out_stride(); }
  Index out_stride() const { return c_.d.q_heads * c_.d.value_dim; }

  void start() {
    scale_rows(query_row(query(0)), c_.query_stride(), strip_.size(), c_.d.dim, scale_.data(),
               query_.data(), c_.d.dim);
    const Index padded = groups() * kRowGroup;
    std::fill(query_.begin() + strip_.size() * c_.d.dim, query_.begin() + padded * c_.d.dim, 0.0f);
    if (!at_once_) std::fill_n(sum_.begin(), padded * value_columns_, 0.0f);
    std::fill_n(max_.begin(), padded, kClosed);
    std::fill_n(weight_.begin(), padded, 0.0f);
    prefetches_.clear();
  }

  void add_at_once(PackedHead& head) {
    Range keys{c_.d.keys, 0};
    find_spans(block_.tiles());
    for (Index r = 0; r < strip_.size(); ++r) widen(spans_[as_size(r)].keys, keys);
    if (keys.empty()) return;
    keys.begin = keys.begin / kColumnGroup * kColumnGroup;
    prefetch(keys.end);
    add({keys, block_.tiles(), false}, head);
  }

  /// Queues prefetches: the rows that this strip will write, and those that the next strip will
  /// read. Assumes that the keys of the next strip follow those of this one, as they do under most
  /// masks; keys are packed in whole units.
  void prefetch(Index keys_end) {
    const Index i = query(0), next = i + strip_.size(), u = c_.d.kv_head(h_);
    const Index key = keys_end + PackedHead::kUnit, keys = std::min(kStrip, c_.d.keys - key);
    prefetches_.add(out_row(i), out_stride(), strip_.size(), c_.d.value_dim);
    prefetches_.add(query_row(next), c_.query_stride(), std::min(kStrip, c_.d.queries - next),
                    c_.d.dim);
    prefetches_.add(c_.key(b_, u) + key * c_.key_stride(), c_.key_stride(), keys, c_.d.dim);
    prefetches_.add(c_.value(b_, u) + key * c_.value_stride(), c_.value_stride(), keys,
                    c_.d.value_dim);
  }

  void add(const KeyStep& step, PackedHead& head) {
    const Index first = step.keys.begin, stride = round_up(step.keys.size(), kColumnGroup);
    head.need(step.keys);
    set_group_spans(step);
    multiply_columns(query_.data(), c_.d.dim, c_.d.dim, head.keys(first), columns_, scores_.data(),
                     stride, &prefetches_);
    for (Index g = 0; g < groups(); ++g) {
      const Range span = columns_[as_size(g)];
      if (!span.empty()) update(g, step, span, scores_.data() + g * kRowGroup * stride, stride);
    }
    multiply_depths(scores_.data(), stride, head.panel_rows(), head.values(first), value_columns_,
                    depths_, sum_.data(), value_columns_, !at_once_, &prefetches_);
  }

  /// For each row of the strip, finds the range of its open keys in the tiles.
  void find_spans(std::span<const KeyTile> tiles) {
    std::fill_n(spans_.begin(), strip_.size(), RowSpan());
    for (const KeyTile& tile : tiles) {
      const bool is_words = tile.cells.is_words();
      for (Index r = 0; r < strip_.size(); ++r) {
        spans_[as_size(r)].append(tile.span(strip_.begin + r), is_words);
      }
    }
  }

  /// For each row group, determines the keys from the first to the last open one, whose weights are
  /// used (depths_), and the same range in whole vectors, whose scores are computed (columns_).
  void set_group_spans(const KeyStep& step) {
    const Range all{0, step.keys.size()}, none{all.end, 0};
    depths_.assign(as_size(groups()), step.full ? all : none);
    for (Index r = 0; !step.full && r < strip_.size(); ++r) {
      const Range seen = spans_[as_size(r)].keys;
      if (seen.empty()) continue;
      widen({seen.begin - step.keys.begin, seen.end - step.keys.begin},
            depths_[as_size(r / kRowGroup)]);
    }
    columns_.clear();
    for (const Range& depth : depths_) columns_.push_back(whole_vectors(depth));
  }
  static void widen(Range by, Range& range) {
    if (!by.empty()) range = {std::min(range.begin, by.begin), std::max(range.end, by.end)};
  }

  /// Turns the scores x of row group g into weights, for the columns `span` of the step.
  void update(Index g, const KeyStep& step, Range span, float* x, Index stride) {
    const Range rows{g * kRowGroup, std::min((g + 1) * kRowGroup, strip_.size())};
    const Range keys =
        intersect({step.keys.begin + span.begin, step.keys.begin + span.end}, step.keys);
    x += span.begin;
    for (Index r = rows.begin; r < rows.end; ++r) {
      float* const row = x + (r - rows.begin) * stride;
      if (c_.adjusts_logits()) c_.adjust(row, b_, h_, query(r), keys, span.size(), nullptr);
      if (!step.full) close(r, step.tiles, keys, row);
      std::fill(row + keys.size(), row + span.size(), kClosed);
    }
    std::array<float, kRowGroup> most, shift, sum;
    max_of_group(x, stride, span.size(), most.data());
    for (std::size_t r = 0; r < kRowGroup; ++r) {
      shift[r] = raise_max(rows.begin + static_cast<Index>(r), most[r]);
    }
    exp_and_sum_group(x, stride, span.size(), shift.data(), sum.data());
    for (std::size_t r = 0; r < kRowGroup; ++r) weight_[as_size(rows.begin) + r] += sum[r];
    for (Index r = rows.begin; c_.options.dropout > 0 && r < rows.end; ++r) {
      c_.drop(x + (r - rows.begin) * stride, b_, h_, query(r), keys);
    }
  }

  /// Sets the scores x of row r for the closed keys among `keys` to -inf.
  void close(Index r, std::span<const KeyTile> tiles, Range keys, float* x) const {
    const RowSpan& seen = spans_[as_size(r)];
    if (!seen.all_open) {
      for (const KeyTile& tile : tiles) tile.close_row(strip_.begin + r, keys, kClosed, x);
      return;
    }
    const Index first = std::clamp(seen.keys.begin, keys.begin, keys.end) - keys.begin,
                last = std::clamp(seen.keys.end, keys.begin, keys.end) - keys.begin;
    std::fill(x, x + first, kClosed);
    std::fill(x + std::max(first, last), x + keys.size(), kClosed);
  }

  /// If the maximum of row r grows to `now`, rescales its sums. Returns the number to subtract from
  /// its logits.
  float raise_max(Index r, float now) {
    float& top = max_[as_size(r)];
    if (now > top) {
      if (top != kClosed) {
        const float rescale = std::exp(top - now);
        weight_[as_size(r)] *= rescale;
        scale_by(sum_.data() + r * value_columns_, value_columns_, rescale);
      }
      top = now;
    }
    return top == kClosed ? 0.0f : top;
  }

  /// Writes out and lse from the sums.
  void finish() {
    const Index n = strip_.size();
    for (Index r = 0; r < n; ++r) {
      const bool seen = max_[as_size(r)] != kClosed;
      if (!seen) std::fill_n(sum_.begin() + r * value_columns_, value_columns_, 0.0f);
      const float rescale = c_.sink_array ? add_sinks(r) : 1;
      factor_[as_size(r)] = !seen ? 0 : c_.options.normalize ? rescale / weight_[as_size(r)] : 1;
    }
    scale_rows(sum_.data(), value_columns_, n, c_.d.value_dim, factor_.data(), out_row(query(0)),
               out_stride());
    log_all(weight_.data(), round_up(n, kColumnGroup), log_.data());
    for (Index r = 0; r < n; ++r) lse_[query(r)] = max_[as_size(r)] + log_[as_size(r)];
  }

  /// Adds the sinks to the sum of the weights of row r. Returns the factor by which the weighted
  /// sums of the row must be rescaled.
  float add_sinks(Index r) {
    float &top = max_[as_size(r)], &weight = weight_[as_size(r)];
    const float* const sinks = c_.sinks.data() + first_sink(*c_.sink_array, c_.d, h_);
    const Index n = sink_count(c_.sink_array);
    const float keys_top = top;
    for (Index t = 0; t < n; ++t) top = std::max(top, sinks[t]);
    const float rescale = keys_top == kClosed ? 0 : std::exp(keys_top - top);
    weight *= rescale;
    for (Index t = 0; t < n; ++t) weight += std::exp(sinks[t] - top);
    return rescale;
  }

  const CpuCall& c_;
  Index tile_keys_, value_columns_;
  bool at_once_ = false;  // each strip adds all its keys in one step
  Buffer query_, scores_, sum_;
  Buffer scale_, max_, weight_, log_, factor_;  // one element per row
  std::vector<RowSpan> spans_;                  // one per row of the strip, for the current step
  std::vector<Range> columns_, depths_;         // one per row group
  PrefetchQueue prefetches_;
  QueryBlock block_;
  Index b_ = 0, h_ = 0;
  Range rows_, strip_;  // queries of the block; rows of the strip, from the first of the block
  float *out_ = nullptr, *lse_ = nullptr;  // point to the results of the head's first query
};

/// The number of blocks per task. Neighbouring blocks share keys and prefetch for each other, so a
/// task has several if there are enough for all threads.
Index blocks_of_task(Index blocks) {
  constexpr Index kTasksOfThread = 8, kMost = 4;
  return std::clamp<Index>(blocks / (kTasksOfThread * threads()), 1, kMost);
}

/// Fills the rows that see no key and no sink, according to empty_row.
void apply_policy(const CpuCall& c, const Results& results) {
  const EmptyRow policy = c.options.empty_row;
  if (policy == EmptyRow::kZero || sink_count(c.sink_array) > 0) return;
  parallel_for(c.d.batch * c.d.q_heads, [&](Index n) {
    const Index b = n / c.d.q_heads, h = n % c.d.q_heads;
    std::vector<float> mean;
    for (Index i = 0; i < c.d.queries; ++i) {
      if (results.lse[n * c.d.queries + i] != kClosed) continue;
      if (mean.empty()) mean = empty_row_value(c, b, h);
      std::copy(mean.begin(), mean.end(),
                results.out + ((b * c.d.queries + i) * c.d.q_heads + h) * c.d.value_dim);
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

void cpu::softmax_forward(const SoftmaxProblem& problem, const SoftmaxOutputs& outputs,
                          const Context&) {
  const CpuCall c(problem);
  const Dims& d = c.d;
  const TileSizes tiles(c.options, d);
  FloatOutput out(outputs.out);
  const Results results{out.data(), outputs.lse.as<float>().data()};
  const Index blocks = ceil_div(d.queries, tiles.rows);
  const Index together = blocks_of_task(d.batch * d.q_heads * blocks);
  const Index parts = ceil_div(blocks, together);
  PackedHeads heads(c, d.group() * parts);
  WorkerPool<QueryBlockWorker> workers;
  const auto make = [&] { return std::make_unique<QueryBlockWorker>(c, tiles); };
  // Head by head, so that K and V stay in the cache. Later blocks first, because under a causal
  // mask they see more keys.
  parallel_for(d.batch * d.q_heads * parts, [&](Index n) {
    const Index first = (parts - 1 - n % parts) * together;
    const Index b = n / parts / d.q_heads, h = n / parts % d.q_heads;
    const std::shared_ptr<PackedHead> head = heads.take(b * d.kv_heads + d.kv_head(h));
    workers.run(make, [&](QueryBlockWorker& worker) {
      for (Index block = first; block < std::min(first + together, blocks); ++block) {
        const Range rows{block * tiles.rows, std::min((block + 1) * tiles.rows, d.queries)};
        worker.run(b, h, rows, *head, results);
      }
    });
  });
  apply_policy(c, results);
  out.finish();
}

}  // namespace maskctl::attention
