// Paged attention on the CPU. Sequences with few query rows read every key once, in place; longer
// sequences are gathered into contiguous arrays for the tiles of softmax attention.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <utility>
#include <vector>

#include "maskctl/attention/cpu/heads.h"
#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/attention/cpu/kernels.h"
#include "maskctl/attention/cpu/row_products.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

// A sequence with more query rows is first gathered, that is, copied to contiguous arrays. This
// costs about as much as streaming (reading in place) its keys for 5 rows.
constexpr Index kStreamedRows = 4;
constexpr Index kTaskKeys = 1024;  // keys of a query row per task
constexpr Index kMostKeys = 256;   // keys read at a time, unless hinted; divides kTaskKeys
// Bytes of the keys read at a time. They, their values and the keys prefetched next fit in the
// second-level cache.
constexpr Index kPieceBytes = Index{1} << 17;

/// A query row of a sequence whose keys are streamed (read in place, not gathered), and the keys
/// that it sees. The tasks of the row are numbered from `first`.
struct Row {
  const PagedSequence* sequence;
  Index row;
  Range keys;
  Index first, task_keys;

  Index tasks() const { return ceil_div(keys.size(), task_keys); }
};

/// The number of keys that a task reads at a time (a piece).
Index piece_keys(const PagedProblem& call) {
  if (call.tiles.keys > 0) return std::min(round_up(call.tiles.keys, kColumnGroup), kTaskKeys);
  const PagedCache& cache = call.cache;
  const Index row = cache.heads * cache.dim * size_bytes(cache.dtype);
  Index keys = kMostKeys;
  while (keys > kColumnGroup && keys * row > kPieceBytes) keys /= 2;
  return keys;
}

/// The number of keys of one task, for a row that sees `keys` keys: a multiple of piece_keys().
Index task_keys(const PagedProblem& call, Index keys) {
  const Index wanted =
      call.tiles.splits > 0 ? std::max<Index>(ceil_div(keys, call.tiles.splits), 1) : kTaskKeys;
  return round_up(wanted, piece_keys(call));
}

/// Partial results of each task and query head: the maximum logit, the sum of the weights and the
/// weighted sum of the values.
struct Partials {
  Partials(std::size_t tasks, Index q_heads, Index dim)
      : max(tasks * as_size(q_heads), kClosed),
        weight(tasks * as_size(q_heads)),
        sum(tasks * as_size(q_heads * dim)) {}
  std::vector<float> max, weight;
  Buffer sum;
};

/// A range of the keys of one row. The index of a task is also the index of its partial results.
struct PagedTask {
  const Row* row;
  Range keys;
};

/// The work of one thread: takes tasks by means of the shared `next_task`, and computes each for
/// all query heads.
class Stream {
 public:
  Stream(const PagedProblem& call, const Floats& queries, const std::vector<PagedTask>& tasks,
         std::atomic<Index>& next_task, Partials& partials)
      : c_(call), queries_(queries), tasks_(tasks), next_task_(next_task), partials_(partials) {}

  /// Runs tasks until none is left. While it works on one piece of keys, it prefetches the next
  /// piece, which may belong to the next task.
  void run() {
    Piece piece = take();
    locate(piece);
    while (!piece.keys.empty()) {
      std::swap(keys_, next_keys_), std::swap(values_, next_values_);
      const Piece next = take();
      locate(next);
      add(piece);
      piece = next;
    }
  }

 private:
  /// Keys of a task that are read together; empty if no task is left.
  struct Piece {
    Index task = 0;
    Range keys{0, 0};
  };

  Piece take() {
    if (left_.keys.empty()) {
      const Index task = next_task_++;
      if (task >= static_cast<Index>(tasks_.size())) return {};
      left_ = {task, tasks_[as_size(task)].keys};
    }
    const Index begin = left_.keys.begin;
    left_.keys.begin = std::min(begin + piece_keys(c_), left_.keys.end);
    return {left_.task, {begin, left_.keys.begin}};
  }

  /// Sets next_keys_ and next_values_ to the rows of a piece (keys that are read together).
  void locate(const Piece& piece) {
    const PagedCache& cache = c_.cache;
    c_.elements(*tasks_[as_size(piece.task)].row->sequence, piece.keys, offsets_);
    RowArray array{cache.dtype,       cache.keys, cache.heads,
                   cache.head_stride, cache.dim,  cache.heads_first() ? cache.page_size : 1};
    next_keys_.place(array, offsets_);
    array.data = cache.values;
    next_values_.place(array, offsets_);
  }

  /// Adds one piece (keys that are read together) to the partial results. Prefetches the values of
  /// the piece while it reads the keys, and the keys of the next piece while it reads the values.
  void add(const Piece& piece) {
    const Index width = round_up(keys_.count(), kColumnGroup), group = c_.group();
    const Index row = tasks_[as_size(piece.task)].row->row, first = piece.task * c_.q_heads;
    scores_.resize(as_size(c_.q_heads * width));
    row_dots(keys_, queries_.data() + row * c_.q_heads * c_.cache.dim, group, scores_.data(), width,
             &values_);
    for (Index h = 0; h < c_.q_heads; ++h) {
      online_softmax(scores_.data() + h * width, keys_.count(), width, first + h);
    }
    row_sums(values_, scores_.data(), width, group, partials_.sum.data() + first * c_.cache.dim,
             &next_keys_);
  }

  /// Turns logits into weights; rescales the earlier sums if the maximum grows.
  void online_softmax(float* x, Index count, Index width, Index partial) {
    std::fill(x + count, x + width, 0.0f);
    scale_by(x, width, static_cast<float>(c_.scale));
    if (c_.soft_cap) soft_cap_all(x, width, static_cast<float>(*c_.soft_cap), nullptr);
    std::fill(x + count, x + width, kClosed);
    float& top = partials_.max[as_size(partial)];
    float& weight = partials_.weight[as_size(partial)];
    const float now = std::max(top, max_of(x, width));
    if (now > top && top != kClosed) {
      const float rescale = std::exp(top - now);
      weight *= rescale;
      float* const sum = partials_.sum.data() + partial * c_.cache.dim;
      for (Index i = 0; i < c_.cache.dim; ++i) sum[i] *= rescale;
    }
    top = now;
    weight += exp_and_sum(x, width, top);
  }

  const PagedProblem& c_;
  const Floats& queries_;
  const std::vector<PagedTask>& tasks_;
  std::atomic<Index>& next_task_;
  Partials& partials_;
  Piece left_;                       // remaining keys of the current task
  KeyRows keys_, values_;            // rows of the keys that are being read
  KeyRows next_keys_, next_values_;  // rows of the keys that are read next
  std::vector<Index> offsets_;
  std::vector<float> scores_;
};

/// Merges the partial results of `tasks` for one head, with the sinks in the denominator, into
/// `out`.
void merge(const PagedProblem& c, const Partials& partials, Range tasks, Index h,
           std::span<const float> sinks, float* out) {
  const auto index = [&](Index task) { return as_size(task * c.q_heads + h); };
  float top = kClosed, weight = 0;
  for (const float sink : sinks) top = std::max(top, sink);
  for (Index i = tasks.begin; i < tasks.end; ++i) top = std::max(top, partials.max[index(i)]);
  for (const float sink : sinks) weight += std::exp(sink - top);
  for (Index i = tasks.begin; i < tasks.end; ++i) {
    weight += partials.weight[index(i)] * std::exp(partials.max[index(i)] - top);
  }
  for (Index i = tasks.begin; i < tasks.end; ++i) {
    const float factor =
        std::exp(partials.max[index(i)] - top) / weight * static_cast<float>(c.value_scale);
    const float* const sum = partials.sum.data() + index(i) * as_size(c.cache.dim);
    for (Index x = 0; x < c.cache.dim; ++x) out[x] += factor * sum[x];
  }
}

/// Returns the query rows of all sequences that have at most kStreamedRows query rows.
std::vector<Row> streamed_rows(const PagedProblem& c) {
  std::vector<Row> rows;
  Index tasks = 0;
  for (const PagedSequence& s : c.sequences) {
    if (s.rows.size() > kStreamedRows) continue;
    for (Index r = s.rows.begin; r < s.rows.end; ++r) {
      const Range keys = c.visible(s, r);
      rows.push_back({&s, r, keys, tasks, task_keys(c, keys.size())});
      tasks += rows.back().tasks();
    }
  }
  return rows;
}

std::vector<PagedTask> tasks_of(const std::vector<Row>& rows) {
  std::vector<PagedTask> tasks;
  for (const Row& row : rows) {
    for (Index k = row.keys.begin; k < row.keys.end; k += row.task_keys) {
      tasks.push_back({&row, {k, std::min(k + row.task_keys, row.keys.end)}});
    }
  }
  return tasks;
}

void stream(const PagedProblem& c, float* out) {
  const std::vector<Row> rows = streamed_rows(c);
  const std::vector<PagedTask> tasks = tasks_of(rows);
  const Floats queries(c.queries), sinks(c.sinks);
  Partials partials(tasks.size(), c.q_heads, c.cache.dim);
  std::atomic<Index> next_task = 0;
  parallel_for(std::min<Index>(threads(), static_cast<Index>(tasks.size())),
               [&](Index) { Stream(c, queries, tasks, next_task, partials).run(); });
  parallel_for(static_cast<Index>(rows.size()), [&](Index n) {
    const Row& row = rows[as_size(n)];
    if (row.keys.empty()) return;
    const Range parts{row.first, row.first + row.tasks()};
    for (Index h = 0; h < c.q_heads; ++h) {
      merge(c, partials, parts, h, c.sinks_of(sinks.data(), h),
            out + (row.row * c.q_heads + h) * c.cache.dim);
    }
  });
}

/// The elements of a cache array at the positions in `read`: [1,n,heads,D] f32.
Tensor gathered(const PagedProblem& c, const PagedSequence& s, const std::byte* array, Range read) {
  Tensor rows(c.cache.dtype, {1, read.size(), c.cache.heads, c.cache.dim});
  const Index bytes = size_bytes(c.cache.dtype);
  std::byte* const out = rows.bytes().data();
  parallel_for(read.size(), [&](Index i) {
    for (Index u = 0; u < c.cache.heads; ++u) {
      const Index from = c.element(s, read.begin + i) + u * c.cache.head_stride;
      std::copy_n(array + from * bytes, c.cache.dim * bytes,
                  out + (i * c.cache.heads + u) * c.cache.dim * bytes);
    }
  });
  return c.cache.dtype == DType::kFloat32 ? rows : astype(rows, DType::kFloat32);
}

Tensor query_rows(const PagedProblem& c, Range rows) {
  const std::array<Index, 4> shape{1, rows.size(), c.q_heads, c.cache.dim};
  const Index row_bytes = c.q_heads * c.cache.dim * size_bytes(c.queries.dtype());
  Tensor part = Tensor::unwritten(DType::kFloat32, {shape.begin(), shape.end()});
  convert({c.queries.data() + rows.begin * row_bytes, c.queries.dtype(), shape}, part);
  return part;
}

/// Computes the rows of one sequence of out [rows,Hq,D]: copies its visible keys and values into
/// contiguous arrays and calls the softmax attention kernel.
void gathered_attention(const PagedProblem& c, const PagedSequence& s, const Context& context,
                        float* out) {
  const Range read = c.read(s);
  const Tensor query = query_rows(c, s.rows), key = gathered(c, s, c.cache.keys, read),
               value = gathered(c, s, c.cache.values, read);
  // The index, among the gathered keys, of the last key that the first query row sees.
  const Index last = c.visible(s, s.rows.begin).end - 1 - read.begin;
  Mask mask(diagonal_band(s.rows.size(), read.size(), c.left ? last - *c.left : -kUnbounded, last));
  SoftmaxSettings options;
  options.soft_cap = c.soft_cap;
  options.q_block = c.tiles.queries;
  const Dims d{1, s.rows.size(), read.size(), c.q_heads, c.cache.heads, c.cache.dim, c.cache.dim};
  Tensor lse = Tensor::unwritten(DType::kFloat32, {1, c.q_heads, s.rows.size()});
  const MutableTensorView rows(
      reinterpret_cast<std::byte*>(out + s.rows.begin * c.q_heads * c.cache.dim), DType::kFloat32,
      query.shape());
  cpu::softmax_forward(
      {d, query, key, value, std::move(mask), nullptr, std::nullopt, c.sinks, c.scale, options},
      {rows, lse}, context);
  for (float& x : rows.as<float>()) x *= static_cast<float>(c.value_scale);
}

}  // namespace

void cpu::paged(const PagedProblem& c, const MutableTensorView& output, const Context& context) {
  FloatOutput out(output);
  out.fill(0);
  stream(c, out.data());
  for (const PagedSequence& s : c.sequences) {
    if (s.rows.size() > kStreamedRows) gathered_attention(c, s, context, out.data());
  }
  out.finish();
}

}  // namespace maskctl::attention
