// Sums gates, makes decays of the sums, and decays rows from one segment to the next.
#include "maskctl/kernels/cpu/linear/decays.h"

#include <algorithm>

#include "maskctl/attention/cpu/kernel.h"

namespace maskctl::attention {
namespace {

Buffer padded(Index n) { return Buffer(as_size(round_up(n, kColumnGroup) + kColumnGroup)); }

void exp_all(float* x, Index n) { exp_and_sum(x, round_up(n, kColumnGroup), 0); }

}  // namespace

Decays::Decays(Index width, Index capacity)
    : width_(width),
      enter_(padded(width)),
      cells_(padded(capacity * width)),
      across_(cells_.size()),
      before_(cells_.size()),
      after_(cells_.size()) {}

void Decays::start(const std::array<Rows, 2>& gates) {
  gates_ = gates;
  any_ = gates[0] || gates[1];
}

Index Decays::add_segment(Index begin, Index end) {
  if (!any_) return end;
  const Rows gates[] = {gates_[0].from(begin), gates_[1].from(begin)};
  return begin + sum_gates(gates, end - begin, width_, cells_.data() + begin * width_);
}

void Decays::finish(std::span<const Index> bounds) {
  if (!any_) return;
  exp_all(cells_.data(), bounds.back() * width_);
  put_decays(0, enter_.data());
  const Index segments = static_cast<Index>(bounds.size()) - 1;
  const auto last_token = [&](Index j) { return bounds[as_size(j) + 1] - 1; };
  for (Index j = 0; j + 1 < segments; ++j) {
    put_decays(last_token(j) + 1, across_.data() + j * width_);
    multiply_rows(across_, j, cells_, last_token(j), across_, j);
    if (j == 0) {
      std::copy_n(across_.data(), width_, before_.data() + width_);
    } else {
      multiply_rows(before_, j, across_, j, before_, j + 1);
    }
  }
  const Index end = segments - 1;
  for (Buffer* rows : {&across_, &after_}) {
    std::copy_n(cells_.data() + last_token(end) * width_, width_, rows->data() + end * width_);
  }
  for (Index j = end; j-- > 0;) multiply_rows(after_, j + 1, across_, j, after_, j);
}

void Decays::put_decays(Index token, float* to) const {
  std::fill_n(to, width_, 0.0f);
  for (const Rows& gate : gates_) {
    if (gate) scale_rows({gate.row(token), 0}, 1, width_, {}, {to, 0}, true);
  }
  exp_all(to, width_);
}

void Decays::multiply_rows(const Buffer& from, Index a, const Buffer& by, Index b, Buffer& to,
                           Index j) const {
  scale_rows({from.data() + a * width_, 0}, 1, width_, {.by_column = by.data() + b * width_},
             {to.data() + j * width_, 0});
}

DecayedRows::DecayedRows(Index width, Index capacity)
    : width_(width),
      decays_(width, capacity),
      rows_(as_size(round_up(capacity, kRowGroup) * width + kRowGroup)),
      moved_(rows_.size()) {}

void DecayedRows::load(const Rows& from, Index count) {
  scale_rows(from, count, width_, {.cells = decays_.cells(), .divides = true},
             {rows_.data(), width_});
}

const float* DecayedRows::meet(Index j, Range segment) {
  if (j == 0 || !decays_.cells()) return rows();
  const Rows own{rows(), width_};
  const RowsOf<float> moved{moved_.data(), width_};
  scale_rows(j == 1 ? own : Rows{moved.data, width_}, segment.begin, width_,
             {.by_column = decays_.across(j - 1)}, moved);
  scale_rows(own.from(segment.begin), segment.size(), width_, {}, moved.from(segment.begin));
  return moved_.data();
}

const float* DecayedRows::leave(std::span<const Index> bounds, const float* by_row) {
  if (!decays_.cells() && !by_row) return rows();
  const Rows own{rows(), width_};
  const RowsOf<float> moved{moved_.data(), width_};
  for (std::size_t j = 0; j + 1 < bounds.size(); ++j) {
    const Index begin = bounds[j];
    scale_rows(own.from(begin), bounds[j + 1] - begin, width_,
               {.by_row = by_row ? by_row + begin : nullptr,
                .by_column = decays_.after(static_cast<Index>(j))},
               moved.from(begin));
  }
  return moved_.data();
}

}  // namespace maskctl::attention
