// Gradients of the linear family on the CPU: states are kept at every kChunk tokens on the way
// forward, and chunks are undone from the last to the first.
#include <algorithm>
#include <numeric>
#include <vector>

#include "maskctl/attention/core/doubles.h"
#include "maskctl/attention/core/rounded.h"
#include "maskctl/attention/linear/linear_backends.h"
#include "maskctl/attention/linear/linear_state.h"
#include "maskctl/attention/linear/linear_tasks.h"

namespace maskctl::attention {
namespace {

Buffer buffer(Index n) { return Buffer(as_size(n)); }

/// Where the gradients of one head go.
struct HeadSlopes {
  RowsOf<float> q, k, v;
  bool adds = false;  // to k and v, which hold those of other query heads
  RowsOf<float> key_gates[2], value_gates, head_gates;  // as in LinearHead
  double g_gamma = 0;
  bool any_gates = false, by_head = false;  // by_head: g_gamma or g per head
  float* initial_state = nullptr;
};

/// One head of one sequence, in the notation of Chunk.
class Worker {
 public:
  explicit Worker(const LinearDims& d)
      : keys_(d.key_dim),
        values_(d.value_dim),
        key_stride_(round_up(keys_, kColumnGroup)),
        scale_(static_cast<float>(d.scale)),
        capacity_(std::min(d.longest(), kChunk)),
        rows_(round_up(capacity_, kRowGroup)),
        chunk_(d, capacity_),
        state_(d),
        d_state_(d),
        entered_(d),
        packed_(buffer(std::max({capacity_, keys_, values_}) *
                       std::max({kChunk, key_stride_, state_.stride()}))),
        packed_values_(buffer(capacity_ * state_.stride())),
        packed_slopes_(packed_values_.size()),
        out_slope_(buffer(rows_ * values_)),
        scores_(buffer(rows_ * kChunk)),
        score_slopes_(scores_.size()),
        turned_(scores_.size()),
        d_query_(buffer(rows_ * key_stride_)),
        d_key_(d_query_.size()),
        d_value_(buffer(rows_ * state_.stride())),
        sums_(d_value_.size()),
        key_gates_(buffer(capacity_ * keys_)),
        value_gates_(buffer(capacity_ * values_)),
        key_carry_(as_size(keys_)),
        value_carry_(as_size(values_)),
        head_gates_(as_size(capacity_)) {}

  void run(const LinearHead& head, const float* initial_state, Rows d_out,
           const float* d_final_state, HeadSlopes& slopes) {
    keep_states(head, initial_state);
    d_state_.load(d_final_state);
    if (slopes.any_gates) carry(state_, bool(slopes.value_gates));
    for (Index block = ceil_div(head.tokens, kChunk); block-- > 0;) {
      split(head, block);
      for (std::size_t n = starts_.size(); n-- > 0;) {
        const Index end =
            n + 1 < starts_.size() ? starts_[n + 1] : std::min((block + 1) * kChunk, head.tokens);
        if (starts_.size() > 1) chunk_.load(head, starts_[n], end);  // else `split` did
        entered_.set_cells(kept(chunk_states_, n));
        undo(starts_[n], d_out, slopes);
      }
    }
    d_state_.store(slopes.initial_state);
  }

 private:
  /// Moves state_ past one chunk that starts at `first` and reaches to `end` at most.
  void advance(const LinearHead& head, Index first, Index end) {
    chunk_.load(head, first, end);
    pack_rows(chunk_.value(), values_, chunk_.count(), values_, packed_values_.data());
    state_.enter(chunk_);
    state_.leave(chunk_, packed_values_.data(), scratch_);
  }

  /// State number n of some that are kept.
  float* kept(Buffer& states, std::size_t n) const {
    return states.data() + n * state_.cells().size();
  }

  /// block_states_: before every kChunk tokens; state_: after the last.
  void keep_states(const LinearHead& head, const float* initial_state) {
    state_.load(initial_state);
    block_states_.resize(as_size(ceil_div(head.tokens, kChunk)) * state_.cells().size());
    for (Index first = 0; first < head.tokens; first += chunk_.count()) {
      if (first % kChunk == 0) {
        std::ranges::copy(state_.cells(), kept(block_states_, as_size(first / kChunk)));
      }
      advance(head, first, std::min((first / kChunk + 1) * kChunk, head.tokens));
    }
  }

  /// The chunks of a block: where they start, and the state that each was entered with.
  void split(const LinearHead& head, Index block) {
    starts_.clear();
    state_.set_cells(kept(block_states_, as_size(block)));
    const Index end = std::min((block + 1) * kChunk, head.tokens);
    for (Index first = block * kChunk; first < end; first += chunk_.count()) {
      chunk_.load(head, first, end);
      state_.enter(chunk_);
      starts_.push_back(first);
      chunk_states_.resize(std::max(chunk_states_.size(), starts_.size() * state_.cells().size()));
      std::ranges::copy(state_.cells(), kept(chunk_states_, starts_.size() - 1));
      if (first + chunk_.count() == end) break;
      pack_rows(chunk_.value(), values_, chunk_.count(), values_, packed_values_.data());
      state_.leave(chunk_, packed_values_.data(), scratch_);
    }
  }

  // The gradient of the logarithm of a decay per key is sum_v of state times gradient of the state
  // just after the decay; from one token back to the one before that grows by q dq - k dk (per
  // value: by o do - v dv, summed over keys). Each chunk starts that sum anew from the states.
  void carry(const LinearState& state, bool by_value) {
    sum_products(state.data(), d_state_.data(), state.stride(), keys_, values_, key_carry_.data(),
                 by_value ? value_carry_.data() : nullptr);
  }

  /// All gradients of the loaded chunk; d_state_ goes from after its last token to before its
  /// first.
  void undo(Index first, const Rows& d_out, HeadSlopes& slopes) {
    load_out_slope(first, d_out);
    pack_rows(chunk_.value(), values_, chunk_.count(), values_, packed_values_.data());
    pack_rows(out_slope_.data(), values_, chunk_.count(), values_, packed_slopes_.data());
    chunk_.leave_values(d_state_.data(), d_state_.stride());
    find_scores();
    find_d_value();
    find_d_query();
    find_d_key();
    if (slopes.value_gates) find_sums();
    if (slopes.any_gates) find_gates(slopes);
    chunk_.leave_keys(d_state_.data(), d_state_.stride());
    d_state_.add_product(chunk_.state_query(), chunk_.count(), packed_slopes_.data(), scratch_);
    if (slopes.any_gates) {
      carry(entered_, bool(slopes.value_gates));
      put_carry();
      write_gates(first, slopes);
    }
    write_rows(first, slopes);
    d_state_.enter(chunk_);
  }

  void load_out_slope(Index first, const Rows& d_out) {
    scale_rows(d_out.from(first), chunk_.count(), values_,
               {.factor = scale_, .cells = chunk_.value_decays()}, {out_slope_.data(), values_});
  }

  /// What tokens read of each other, and its gradient.
  void find_scores() {
    const Index n = chunk_.count();
    pack_columns(chunk_.key(), keys_, n, keys_, packed_.data());
    multiply_columns(chunk_.query(), keys_, keys_, packed_.data(), chunk_.columns(), scores_.data(),
                     kChunk);
    chunk_.weigh(scores_.data());
    pack_columns(chunk_.value(), values_, n, values_, packed_.data());
    multiply_columns(out_slope_.data(), values_, values_, packed_.data(), chunk_.columns(),
                     score_slopes_.data(), kChunk);
    chunk_.weigh(score_slopes_.data());
  }

  void find_d_value() {
    const Index n = chunk_.count(), stride = state_.stride();
    pack_rows(d_state_.data(), stride, keys_, values_, packed_.data());
    multiply(chunk_.state_key(), keys_, chunk_.rows(), keys_, packed_.data(), stride,
             d_value_.data(), stride, false);
    transpose(scores_.data(), kChunk, n, n, turned_.data(), kChunk);
    multiply_depths(turned_.data(), kChunk, n, packed_slopes_.data(), stride, chunk_.later(),
                    d_value_.data(), stride);
  }

  void find_d_query() {
    const Index n = chunk_.count();
    pack_columns(entered_.data(), entered_.stride(), keys_, values_, packed_.data());
    multiply(out_slope_.data(), values_, chunk_.rows(), values_, packed_.data(), key_stride_,
             d_query_.data(), key_stride_, false);
    scale_slopes(d_query_, {.by_row = chunk_.from_start()});
    pack_rows(chunk_.key(), keys_, n, keys_, packed_.data());
    multiply_depths(score_slopes_.data(), kChunk, n, packed_.data(), key_stride_, chunk_.earlier(),
                    d_query_.data(), key_stride_);
  }

  void find_d_key() {
    const Index n = chunk_.count();
    pack_columns(d_state_.data(), d_state_.stride(), keys_, values_, packed_.data());
    multiply(chunk_.value(), values_, chunk_.rows(), values_, packed_.data(), key_stride_,
             d_key_.data(), key_stride_, false);
    scale_slopes(d_key_, {.by_row = chunk_.to_end(), .by_column = chunk_.last_key_decay()});
    transpose(score_slopes_.data(), kChunk, n, n, turned_.data(), kChunk);
    pack_rows(chunk_.query(), keys_, n, keys_, packed_.data());
    multiply_depths(turned_.data(), kChunk, n, packed_.data(), key_stride_, chunk_.later(),
                    d_key_.data(), key_stride_);
  }

  void scale_slopes(Buffer& rows, const Scaling& by) {
    if (by.is_one()) return;
    scale_rows({rows.data(), key_stride_}, chunk_.count(), keys_, by, {rows.data(), key_stride_});
  }

  /// sums_ = o_t / (softmax_scale * R_t): what out_slope_ is the gradient of.
  void find_sums() {
    const Index n = chunk_.count(), stride = state_.stride();
    pack_rows(entered_.data(), stride, keys_, values_, packed_.data());
    multiply(chunk_.state_query(), keys_, chunk_.rows(), keys_, packed_.data(), stride,
             sums_.data(), stride, false);
    multiply_depths(scores_.data(), kChunk, n, packed_values_.data(), stride, chunk_.earlier(),
                    sums_.data(), stride);
  }

  /// The gradients of the gates of all tokens but the first: sums of q dq - k dk and o do - v dv.
  /// The decays that d_query_, d_key_ and d_value_ lack are in the rows that they meet.
  void find_gates(const HeadSlopes& slopes) {
    const Index n = chunk_.count(), stride = state_.stride();
    sum_back({{chunk_.query(), keys_}, {d_query_.data(), key_stride_}},
             {{chunk_.key(), keys_}, {d_key_.data(), key_stride_}}, n, keys_, key_carry_.data(),
             key_gates_.data(), head_gates_.data());
    if (!slopes.value_gates) return;
    sum_back({{out_slope_.data(), values_}, {sums_.data(), stride}},
             {{chunk_.value(), values_}, {d_value_.data(), stride}}, n, values_,
             value_carry_.data(), value_gates_.data(), nullptr);
  }

  /// The sums are the gradients of the gates of the first token.
  void put_carry() {
    const auto narrow = [](double x) { return static_cast<float>(x); };
    std::ranges::transform(key_carry_, key_gates_.begin(), narrow);
    std::ranges::transform(value_carry_, value_gates_.begin(), narrow);
    head_gates_[0] = std::accumulate(key_carry_.begin(), key_carry_.end(), 0.0);
  }

  void write_gates(Index first, HeadSlopes& slopes) const {
    const Index n = chunk_.count();
    for (Index t = n; slopes.by_head && t-- > 0;) {
      slopes.g_gamma += head_gates_[as_size(t)];
      if (slopes.head_gates) {
        *slopes.head_gates.row(first + t) = static_cast<float>(head_gates_[as_size(t)]);
      }
    }
    for (const RowsOf<float>& rows : slopes.key_gates) {
      if (rows) scale_rows({key_gates_.data(), keys_}, n, keys_, {}, rows.from(first));
    }
    if (!slopes.value_gates) return;
    scale_rows({value_gates_.data(), values_}, n, values_, {}, slopes.value_gates.from(first));
  }

  void write_rows(Index first, const HeadSlopes& slopes) const {
    const Index n = chunk_.count();
    const Scaling by_keys{.cells = chunk_.key_decays(), .divides = true};
    const Scaling by_values{.cells = chunk_.value_decays(), .divides = true};
    scale_rows({d_query_.data(), key_stride_}, n, keys_, {.cells = chunk_.key_decays()},
               slopes.q.from(first));
    scale_rows({d_key_.data(), key_stride_}, n, keys_, by_keys, slopes.k.from(first), slopes.adds);
    scale_rows({d_value_.data(), state_.stride()}, n, values_, by_values, slopes.v.from(first),
               slopes.adds);
  }

  Index keys_, values_, key_stride_;
  float scale_;
  Index capacity_, rows_;
  Chunk chunk_;
  LinearState state_, d_state_, entered_;
  Buffer packed_, packed_values_, packed_slopes_, out_slope_, scores_, score_slopes_, turned_;
  Buffer d_query_, d_key_, d_value_, sums_, scratch_;
  Buffer key_gates_, value_gates_;  // the gradients of the gates of the chunk
  std::vector<double> key_carry_, value_carry_, head_gates_;
  Buffer block_states_, chunk_states_;  // side by side
  std::vector<Index> starts_;
};

/// The gradients of a call, in f32.
struct Sums {
  Sums(const RecurrentAttentionInputs& in, const LinearDims& d)
      : query(like(in.query)),
        key(like(in.key)),
        value(like(in.value)),
        g(like(in.g)),
        gk(like(in.gk)),
        gv(like(in.gv)),
        initial_state(DType::kFloat32, d.state_shape()),
        g_gamma(as_size(static_cast<Index>(d.sequences.size()) * d.heads)) {}

  static Tensor like(const Tensor* array) {
    return array ? Tensor(DType::kFloat32, array->shape()) : Tensor();
  }

  HeadSlopes head(const LinearCpuCall& c, Index n, Index h) {
    const LinearDims& d = c.d;
    const auto rows = [&](Tensor& array, Index heads, Index of, Index width) {
      return c.rows(array.elements() ? array.as<float>().data() : nullptr, n, heads, of, width);
    };
    HeadSlopes slopes;
    slopes.q = rows(query, d.heads, h, d.key_dim);
    slopes.k = rows(key, d.kv_heads, d.kv_head(h), d.key_dim);
    slopes.v = rows(value, d.kv_heads, d.kv_head(h), d.value_dim);
    if (d.g_per_head) {
      slopes.head_gates = rows(g, d.heads, h, 1);
    } else {
      slopes.key_gates[0] = rows(g, d.heads, h, d.key_dim);
    }
    slopes.key_gates[1] = rows(gk, d.heads, h, d.key_dim);
    slopes.value_gates = rows(gv, d.heads, h, d.value_dim);
    slopes.by_head = c.g_gamma || d.g_per_head;
    slopes.any_gates = c.g || c.g_gamma || c.gk || c.gv;
    slopes.initial_state =
        initial_state.as<float>().data() + (n * d.heads + h) * d.key_dim * d.value_dim;
    return slopes;
  }

  Tensor query, key, value, g, gk, gv, initial_state;
  std::vector<double> g_gamma;  // [N,H]
};

/// The gradient of g_gamma, summed over the sequences in order.
Tensor gamma_gradient(const std::vector<double>& of_sequences, const Tensor& g_gamma) {
  std::vector<double> sums(as_size(g_gamma.elements()));
  for (std::size_t n = 0; n < of_sequences.size(); ++n) sums[n % sums.size()] += of_sequences[n];
  return tensor_of(sums, g_gamma);
}

}  // namespace

LinearAttentionGradients cpu_linear_backward(const RecurrentAttentionInputs& in,
                                             const Tensor& d_out, const Tensor* d_final_state,
                                             const LinearDims& d) {
  const LinearCpuCall call(in, d);
  const Floats out_slope(&d_out), state_slope(d_final_state);
  Sums sums(in, d);
  const Index group = d.heads / d.kv_heads;
  for_each_linear_task<Worker>(d, d.kv_heads, [&](Worker& worker, Index n, Index u) {
    for (Index h = u * group; h < (u + 1) * group; ++h) {
      HeadSlopes slopes = sums.head(call, n, h);
      slopes.adds = h > u * group;
      worker.run(call.head(n, h), call.state(call.initial_state, n, h),
                 call.rows(out_slope.data(), n, d.heads, h, d.value_dim),
                 call.state(state_slope, n, h), slopes);
      sums.g_gamma[as_size(n * d.heads + h)] = slopes.g_gamma;
    }
  });
  LinearAttentionGradients gradients;
  gradients.query = rounded(std::move(sums.query), in.query->dtype());
  gradients.key = rounded(std::move(sums.key), in.key->dtype());
  gradients.value = rounded(std::move(sums.value), in.value->dtype());
  if (in.g) gradients.g = rounded(std::move(sums.g), in.g->dtype());
  if (in.g_gamma) gradients.g_gamma = gamma_gradient(sums.g_gamma, *in.g_gamma);
  if (in.gk) gradients.gk = rounded(std::move(sums.gk), in.gk->dtype());
  if (in.gv) gradients.gv = rounded(std::move(sums.gv), in.gv->dtype());
  if (in.initial_state)
    gradients.initial_state = rounded(std::move(sums.initial_state), in.initial_state->dtype());
  return gradients;
}

}  // namespace maskctl::attention
