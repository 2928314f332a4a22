#include "maskctl/verify/solve/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "maskctl/verify/rounding.h"
#include "maskctl/verify/solve/dense.h"

namespace maskctl::attention::solving {
namespace {

/// The logit of a closed key may exceed the largest open one by at most this much, so that the
/// square of the key's weight is finite.
constexpr double kLargestPower = 300;

/// Turns the logits of a row into weights, in place.
void weigh(const SolveCall& call, Head head, const std::uint8_t* open, double* s, Index row,
           HeadRows& out) {
  const std::span<const double> sinks = call.sinks(head);
  const Index keys = call.dims().keys;
  double top = kLogOfNone;
  for (Index j = 0; j < keys; ++j) {
    if (open[j]) top = std::max(top, s[j]);
  }
  for (const double x : sinks) top = std::max(top, x);
  const bool empty = !(top > kLogOfNone);
  if (empty) top = keys == 0 ? 0 : *std::max_element(s, s + keys);
  double sum = 0, sink = 0;
  for (const double x : sinks) sink += std::exp(x - top);
  for (Index j = 0; j < keys; ++j) {
    s[j] = std::exp(std::min(s[j] - top, kLargestPower));
    if (open[j] || empty) sum += s[j];
  }
  sum += sink;
  for (Index j = 0; j < keys; ++j) s[j] /= sum;
  out.empty[as_size(row)] = empty;
  out.sinks[as_size(row)] = sink / sum;
  out.log_sums[as_size(row)] = top + std::log(sum);
}

void add_factors(const SolveCall& call, Head head, Range rows, const std::uint8_t* open,
                 HeadRows& out) {
  GradientFactors factors = call.factors(head, rows);
  const Index keys = call.dims().keys, dim = call.dim(head);
  for (std::size_t n = 0; n < factors.slopes.size(); ++n) {
    factors.slopes[n] *= open[n] ? out.weights[n] : 0;
  }
  out.shifts.resize(as_size(rows.size() * dim));
  multiply(factors.slopes.data(), call.values(head), rows.size(), keys, dim, out.shifts.data());
  for (std::size_t n = 0; n < out.shifts.size(); ++n) {
    out.shifts[n] *= std::sqrt(factors.shifts[n / as_size(dim)]);
  }
  out.factors = std::move(factors.factors), out.sizes = std::move(factors.sizes);
}

void add_variances(const SolveCall& call, Head head, Range rows, const std::uint8_t* open,
                   HeadRows& out) {
  const Index keys = call.dims().keys, dim = std::max<Index>(call.dim(head), 1);
  const double* const squares = call.squares(head);
  for (Index r = 0; r < rows.size(); ++r) {
    double size = 0;
    for (Index j = 0; j < keys; ++j) {
      const std::size_t n = as_size(r * keys + j);
      if (open[n]) size += square(out.weights[n] * out.size(n)) * squares[j];
    }
    double others = call.weight_variance(head, rows.begin + r) * size;
    if (!out.shifts.empty()) {
      const double* const shift = &out.shifts[as_size(r * dim)];
      others += solving::dot(shift, shift, dim);
    }
    const double own = call.own_variance(head, rows.begin + r);
    out.variance.push_back(own + others / static_cast<double>(dim));
    out.spread.push_back(others / out.variance.back());
  }
}

/// Compares rows of one head with the kernel's results.
class HeadErrors {
 public:
  HeadErrors(const SolveCall& call, Head head, Range rows, const std::uint8_t* open)
      : call_(call),
        head_(head),
        rows_(rows),
        open_(open),
        weighed_(head_rows(call, head, rows, open)) {
    const Index count = rows.size(), keys = call.dims().keys, dim = call.dim(head);
    std::vector<double> masked = weighed_.weights;
    for (std::size_t n = 0; n < masked.size(); ++n) masked[n] *= open[n] * weighed_.factor(n);
    pairs_.resize(as_size(2 * count * dim));
    multiply(masked.data(), call.values(head), count, keys, dim, errors());
    for (Index r = 0; r < count; ++r) finish(r);
    products_.resize(as_size(2 * count * keys));
    multiply_transposed(pairs_.data(), call.values(head), 2 * count, dim, keys, products_.data());
  }

  void add_to(std::size_t n, std::vector<RowReport>& reports) const {
    for (Index r = 0; r < rows_.size(); ++r) add_row(n, r, reports[as_size(r)]);
  }

 private:
  double* errors() { return pairs_.data() + rows_.size() * call_.dim(head_); }

  void finish(Index r) {
    const Index dim = call_.dim(head_);
    const std::span<const double> out = call_.out(head_, rows_.begin + r);
    double* const error = errors() + r * dim;
    if (weighed_.empty[as_size(r)]) {
      std::ranges::copy(call_.empty_out(head_, rows_.begin + r), error);
    }
    std::ranges::copy(out, pairs_.begin() + r * dim);
    for (Index x = 0; x < dim; ++x) error[x] -= out[as_size(x)];
  }

  double lse(Index r, double log_sum) const {
    return lse_cost(call_, head_, rows_.begin + r, log_sum);
  }

  void add_row(std::size_t n, Index r, RowReport& report) const {
    const Index dim = call_.dim(head_), keys = call_.dims().keys, count = rows_.size();
    report.spread = std::max(report.spread, weighed_.spread[as_size(r)]);
    report.equations += dim + (call_.lse(head_, rows_.begin + r) ? 1 : 0);
    const bool empty = weighed_.empty[as_size(r)];
    if (call_.is_nan(head_, rows_.begin + r)) {
      const bool expected = empty && call_.empty_row() == EmptyRow::kNan;
      report.head_cost[n] = expected ? 0 : kImpossible;
      report.cost += report.head_cost[n];
      for (double& x : report.rise) x += kImpossible;
      return;
    }
    const double variance = weighed_.variance[as_size(r)], log_sum = weighed_.log_sums[as_size(r)];
    const double* const out = &pairs_[as_size(r * dim)];
    const double* const error = &pairs_[as_size((count + r) * dim)];
    const double cost = solving::dot(error, error, dim) / variance;
    const double before = cost + lse(r, empty ? kLogOfNone : log_sum);
    const double along = solving::dot(error, out, dim), size = solving::dot(out, out, dim);
    const double* const w = &weighed_.weights[as_size(r * keys)];
    const std::uint8_t* const open = open_ + r * keys;
    const Index opened = std::accumulate(open, open + keys, Index{0});
    const bool has_lse = call_.lse(head_, rows_.begin + r).has_value();
    const bool last = opened == 1 && weighed_.sinks[as_size(r)] == 0;
    double least = kImpossible;
    for (Index j = 0; j < keys; ++j) {
      const double factor = weighed_.factor(as_size(r * keys + j));
      const double norm = square(factor) * call_.squares(head_)[j] -
                          2 * factor * products_[as_size(r * keys + j)] + size;
      const double cross = factor * products_[as_size((count + r) * keys + j)] - along;
      const double t = open[j] ? -w[j] : w[j];
      double after = 0;
      if (empty) {
        after = norm / variance + (has_lse ? lse(r, log_sum + std::log(w[j])) : 0);
      } else if ((last && open[j]) || 1 + t < kNoWeight) {
        after = empty_cost(call_, head_, rows_.begin + r, variance);
      } else {
        after = (cost + (2 * t * cross + t * t * norm) / variance) / square(1 + t);
        if (has_lse) after += lse(r, log_sum + std::log1p(t));
      }
      const double rise = after - before;
      report.rise[as_size(j)] += rise;
      least = std::min(least, rise);
    }
    report.head_cost[n] = before;
    report.head_least[n] = least;
    report.cost += before;
  }

  const SolveCall& call_;
  Head head_;
  Range rows_;
  const std::uint8_t* open_;
  HeadRows weighed_;
  std::vector<double> pairs_;     // [2 rows, Dv]: the kernel's results, then the errors
  std::vector<double> products_;  // [2 rows, Tk]: products of pairs_ with all values
};

}  // namespace

HeadRows head_rows(const SolveCall& call, Head head, Range rows, const std::uint8_t* open) {
  const Index keys = call.dims().keys;
  HeadRows out;
  out.weights.resize(as_size(rows.size() * keys));
  out.log_sums.resize(as_size(rows.size()));
  out.sinks.resize(as_size(rows.size()));
  out.empty.resize(as_size(rows.size()));
  call.logits(head, rows, out.weights.data());
  for (Index r = 0; r < rows.size(); ++r) {
    weigh(call, head, open + r * keys, &out.weights[as_size(r * keys)], r, out);
  }
  if (head.gradient) add_factors(call, head, rows, open, out);
  add_variances(call, head, rows, open, out);
  return out;
}

double empty_cost(const SolveCall& call, Head head, Index row, double variance) {
  if (call.empty_row() == EmptyRow::kNan) return kImpossible;
  const std::span<const double> out = call.out(head, row), empty = call.empty_out(head, row);
  double sum = 0;
  for (std::size_t x = 0; x < out.size(); ++x) sum += square(empty[x] - out[x]);
  return sum / variance + lse_cost(call, head, row, kLogOfNone);
}

double lse_cost(const SolveCall& call, Head head, Index row, double log_sum) {
  const std::optional<double> given = call.lse(head, row);
  if (!given || *given == log_sum) return 0;
  if (!std::isfinite(*given) || !std::isfinite(log_sum)) return kImpossible;
  return square(*given - log_sum) / call.lse_variance(*given);
}

std::vector<RowReport> row_reports(const SolveCall& call, std::span<const Head> heads, Range rows,
                                   const std::uint8_t* open) {
  RowReport blank;
  blank.head_cost.resize(heads.size());
  blank.head_least.resize(heads.size());
  blank.rise.resize(as_size(call.dims().keys));
  std::vector<RowReport> out(as_size(rows.size()), blank);
  for (std::size_t n = 0; n < heads.size(); ++n) {
    HeadErrors(call, heads[n], rows, open).add_to(n, out);
  }
  return out;
}

}  // namespace maskctl::attention::solving
