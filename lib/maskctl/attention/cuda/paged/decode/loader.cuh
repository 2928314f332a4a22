// Loads the keys and values of a decoding warp to shared memory.
#pragma once

#include "maskctl/attention/cuda/paged/decode/shape.cuh"
#include "maskctl/attention/cuda/unit_copy.cuh"

namespace maskctl::attention::cuda {

/// Iterates over the steps of a share for one warp.
template <class Shape>
class DecodeWay {
 public:
  __device__ DecodeWay(const DecodeCall& c, const DecodeShare& share, int warp)
      : rows_(c.line.rows),
        row_count_(c.p.rows),
        cut_(c.cut),
        warp_(warp),
        step_(share.begin),
        end_(share.end) {
    enter(share.number, share.row);
  }
  __device__ bool has_ended() const { return step_ == end_; }
  /// The number of steps left in the current row, as far as they are in this share.
  __device__ int steps_here() const {
    const Index row_end = row_.first_step + cut_.steps(row_);
    return static_cast<int>((row_end < end_ ? row_end : end_) - step_);
  }
  __device__ void next() {
    ++step_;
    key_ += Shape::kStepKeys;
    if (--left_ == 0 && !has_ended()) enter(number_ + row_.count);
  }
  __device__ const DecodeRow& row() const { return row_; }
  __device__ Index number() const { return number_; }
  __device__ int key() const { return key_; }

 private:
  __device__ void enter(Index number) {
    if (cut_.steps(rows_[number]) == 0) number = row_of_step(number);
    enter(number, rows_[number]);
  }
  /// The row that the current step belongs to, found by bisection among the rows from `begin` on.
  __device__ Index row_of_step(Index begin) const {
    Index end = row_count_;
    while (end - begin > 1) {
      const Index middle = (begin + end) / 2;
      (rows_[middle].first_step <= step_ ? begin : end) = middle;
    }
    return begin;
  }
  __device__ void enter(Index number, const DecodeRow& row) {
    number_ = number, row_ = row;
    left_ = steps_here();
    key_ = row.begin + static_cast<int>(step_ - row.first_step) * Shape::kStepKeys +
           warp_ * Shape::kKeys;
  }

  const DecodeRow* rows_;
  Index row_count_;
  const DecodeCut& cut_;
  int warp_;
  Index step_, end_;
  Index number_;
  DecodeRow row_;
  int left_;  // steps left in this row
  int key_;   // the warp's first key of the step
};

/// Loads a warp's keys and values to its ring of slots, in turns one slot of keys, one of values.
template <class Shape>
class DecodeLoader {
 public:
  __device__ DecodeLoader(const DecodeCall& c, const DecodeShare& share, int head, int warp,
                          std::uint32_t ring)
      : p_(c.p),
        way_(c, share, warp),
        ring_(ring),
        slot_(ring),
        head_(static_cast<unsigned>(head * c.p.head_stride / kUnitElements)) {
    ask_page();
  }
  /// Starts to load the next slot; does nothing after the last step. Page numbers are read one step
  /// ahead.
  template <bool kValues>
  __device__ void load() {
    if (!kValues) {
      exists_ = !way_.has_ended();
      if (exists_) {
        find_rows();
        way_.next();
        if (!way_.has_ended()) ask_page();
      }
    }
    if (exists_) copy(kValues ? p_.values : p_.keys);
    commit_copies();
  }

 private:
  static constexpr int kUnitElements = kUnitBytes / 2;
  static constexpr unsigned kNoRow = ~0u;

  /// Reads the page number of the lane's key in the next step.
  __device__ void ask_page() {
    const int key = way_.key() + lane_ % Shape::kKeys;
    has_key_ = key < way_.row().end;
    if (!has_key_) return;
    const unsigned position = static_cast<unsigned>(key);
    const unsigned size = static_cast<unsigned>(p_.page_size);
    page_ = p_.tables[way_.row().table + position / size];
    slot_of_page_ = position % size;
  }
  /// Finds where the lane's key of this step begins in the cache, in units of 16 bytes.
  __device__ void find_rows() {
    const Index element = page_ * p_.page_stride + slot_of_page_ * p_.slot_stride;
    row_ = has_key_ ? static_cast<unsigned>(element / kUnitElements) + head_ : kNoRow;
  }
  __device__ void copy(const std::byte* from) {
    constexpr int kRowsAtOnce = 32 / (Shape::kUnits < 32 ? Shape::kUnits : 32);
    const int unit = lane_ % Shape::kUnits, first = lane_ / Shape::kUnits;
    const bool is_inside = unit * kUnitElements < p_.dim;
#pragma unroll
    for (int i = 0; i < Shape::kKeys; i += kRowsAtOnce) {
      const int key = i + first;
      const unsigned row = __shfl_sync(~0u, row_, key);
      copy_unit(slot_ + key * Shape::kRowBytes + (unit ^ (key & 7)) * kUnitBytes,
                from + (static_cast<std::uint64_t>(row) + unit) * kUnitBytes,
                is_inside && row != kNoRow);
    }
    slot_ += Shape::kSlotBytes;
    if (slot_ == ring_ + Shape::kSlots * Shape::kSlotBytes) slot_ = ring_;
  }

  const PagedCall& p_;
  DecodeWay<Shape> way_;
  const std::uint32_t ring_;
  std::uint32_t slot_;
  const unsigned head_;
  const int lane_ = static_cast<int>(threadIdx.x) % 32;
  bool exists_ = false;   // whether there is a step for the slot being loaded
  bool has_key_ = false;  // whether the lane has a key in the next step
  Index page_ = 0;
  unsigned slot_of_page_ = 0;
  unsigned row_ = kNoRow;
};

}  // namespace maskctl::attention::cuda
