// The products of decays inside a chunk, and how the chunk reads and updates the state.
#include "maskctl/kernels/cpu/linear/chunk.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace maskctl::attention {
namespace {

float head_decay(const LinearHead& head, Index t) {
  return std::exp(head.head_gate + (head.head_gates ? *head.head_gates.row(t) : 0.0f));
}

}  // namespace

PairSpans::PairSpans(Range segment)
    : groups_(as_size(ceil_div(segment.size(), kRowGroup))),
      later_groups_(as_size(ceil_div(segment.end, kRowGroup))) {
  for (std::size_t g = 0; g < groups_; ++g) {
    const Index end =
        std::min(segment.begin + (static_cast<Index>(g) + 1) * kRowGroup, segment.end);
    columns_[g] = whole_vectors({0, end});
    earlier_[g] = {0, end};
  }
  for (std::size_t g = 0; g < later_groups_; ++g) {
    const Index first = static_cast<Index>(g) * kRowGroup;
    later_[g] = {std::max<Index>(first - segment.begin, 0), segment.size()};
  }
}

Chunk::Chunk(const LinearDims& d, Index capacity)
    : capacity_(capacity),
      keys_(d.key_dim, capacity),
      values_(d.value_dim, capacity),
      query_(as_size(pair_rows(capacity) * d.key_dim)),
      moved_query_(query_.size()),
      pair_(as_size(capacity * kChunk)),
      from_start_(as_size(capacity), 1.0f) {}

void Chunk::load(const LinearHead& head, Index first) {
  by_head_ = head.head_gates || head.head_gate != 0;
  load_bounds(head, first);
  if (by_head_) load_pairs(head, first);
  keys_.load(head.k.from(first), count());
  values_.load(head.v.from(first), count());
}

void Chunk::load_bounds(const LinearHead& head, Index first) {
  const Index count = std::min(head.tokens - first, capacity_);
  keys_.decays().start({head.key_gates[0].from(first), head.key_gates[1].from(first)});
  values_.decays().start({head.value_gates.from(first), {}});
  bounds_.assign(1, 0);
  while (bounds_.back() < count) {
    const Index begin = bounds_.back();
    Index end = begin + 1;
    while (end < count && !(by_head_ && head_decay(head, first + end) == 0)) ++end;
    end = keys_.decays().add_segment(begin, end);
    bounds_.push_back(values_.decays().add_segment(begin, end));
  }
  keys_.decays().finish(bounds_);
  values_.decays().finish(bounds_);
}

void Chunk::load_pairs(const LinearHead& head, Index first) {
  enter_head_ = head_decay(head, first);
  // If the decay per head is constant over time, pair_ contains its powers, which are the same for
  // all chunks: rows that an earlier chunk computed are kept, and a longer chunk only adds rows.
  if (head.head_gates || head.head_gate != pair_gate_) pair_rows_ = 1;
  pair_[0] = 1;
  for (; pair_rows_ < count(); ++pair_rows_) {
    const Index t = pair_rows_;
    const float decay = head_decay(head, first + t);
    float* const row = pair_.data() + t * kChunk;
    scale_rows({row - kChunk, 0}, 1, t, {decay}, {row, 0});
    row[t] = 1;
    from_start_[as_size(t)] = row[0];
  }
  pair_gate_ = head.head_gates ? std::numeric_limits<float>::quiet_NaN() : head.head_gate;
}

void Chunk::load_queries(const LinearHead& head, Index first) {
  const Index width = keys_.width();
  const Decays& decays = keys_.decays();
  scale_rows(head.q.from(first), count(), width, {.cells = decays.cells()}, {query_.data(), width});
  state_query_ = query();
  if (!by_head_ && !decays.before(segments() - 1)) return;
  scale_before(decays, from_start(), {query(), width}, {moved_query_.data(), width});
  state_query_ = moved_query_.data();
}

bool Chunk::forgets(Index j) const {
  const Index t = segment(j).begin;
  return by_head_ && (t > 0 ? pair_row(t)[t - 1] : enter_head_) == 0;
}

void Chunk::scale_before(const Decays& decays, const float* by_row, const Rows& from,
                         const RowsOf<float>& to) const {
  for (Index j = 0; j < segments(); ++j) {
    const Range tokens = segment(j);
    const Scaling by{.by_row = by_row ? by_row + tokens.begin : nullptr,
                     .by_column = decays.before(j)};
    if (by.is_one() && from.data == to.data) continue;
    scale_rows(from.from(tokens.begin), tokens.size(), decays.width(), by, to.from(tokens.begin));
  }
}

void Chunk::decay_scores(Index j, float* scores, float* own) const {
  const Range tokens = segment(j);
  mask_later({scores, kChunk}, tokens, by_head_ ? pair_.data() : nullptr, kChunk, own);
  const Index past = tokens.begin + round_up(tokens.size(), kRowGroup);
  for (Index t = tokens.end; t < past; ++t) std::fill_n(scores + t * kChunk, tokens.end, 0.0f);
}

void Chunk::enter(float* state, Index stride) const {
  const Scaling by{.factor = by_head_ ? enter_head_ : 1,
                   .by_row = keys_.decays().enter(),
                   .by_column = values_.decays().enter()};
  if (!by.is_one())
    scale_rows({state, stride}, keys_.width(), values_.width(), by, {state, stride});
}

void Chunk::leave(float* state, Index stride) const {
  const Scaling by{.factor = by_head_ ? from_start_[as_size(count() - 1)] : 1,
                   .by_row = keys_.decays().after(0),
                   .by_column = values_.decays().after(0)};
  if (!by.is_one())
    scale_rows({state, stride}, keys_.width(), values_.width(), by, {state, stride});
}

void LinearState::load(const float* state) {
  if (!state) {
    std::fill(cells_.begin(), cells_.end(), 0.0f);
    return;
  }
  for (Index x = 0; x < keys_; ++x)
    std::copy_n(state + x * values_, values_, data() + x * stride());
}

void LinearState::store(float* state) const {
  for (Index x = 0; x < keys_; ++x)
    std::copy_n(data() + x * stride(), values_, state + x * values_);
}

void LinearState::add_product(const float* rows, Index count, const float* packed_b,
                              PrefetchQueue* prefetches) {
  std::ranges::fill(all_, Range{0, count});
  multiply_transposed(rows, keys_, count, packed_b, stride(), all_, data(), stride(), prefetches);
}

void LinearState::leave(Chunk& chunk, float* packed, PrefetchQueue* prefetches) {
  chunk.leave(data(), stride());
  const float* const keys = chunk.leave_keys();
  pack_rows(chunk.leave_values(), values_, chunk.count(), values_, packed);
  add_product(keys, chunk.count(), packed, prefetches);
}

void read_state(const Chunk& chunk, const float* state, Index stride, float* packed, float* sums) {
  const Index keys = chunk.keys().width();
  pack_rows(state, stride, keys, stride, packed);
  multiply(chunk.state_query(), keys, chunk.rows(), keys, packed, stride, sums, stride, false);
  chunk.scale_before(chunk.values().decays(), nullptr, {sums, stride}, {sums, stride});
}

}  // namespace maskctl::attention
