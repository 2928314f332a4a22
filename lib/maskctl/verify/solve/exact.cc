// Computes an ExactReport, which counts rounding in each direction of the output separately.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "maskctl/verify/rounding.h"
#include "maskctl/verify/solve/dense.h"
#include "maskctl/verify/solve/rows.h"

namespace maskctl::attention::solving {
namespace {

/// The rounding of this many of the heaviest keys counts along the directions of their values. The
/// rounding of all other keys counts equally in all directions.
constexpr std::size_t kFollowed = 64;
/// Variances in single directions are raised to at least this fraction of the mean variance, so
/// that the covariance can be inverted in float64.
constexpr double kLeastFraction = 1e-10;

/// One row of a head, transformed (whitened) so that rounding has the variance 1 in every
/// direction.
class WhitenedRow {
 public:
  WhitenedRow(const SolveCall& call, Head head, Index row, const OpenKeys& open)
      : call_(call),
        head_(head),
        row_(row),
        open_(open),
        weighed_(head_rows(call, head, {row, row + 1}, open.data())),
        out_(call.out(head, row)) {
    opened_ = std::accumulate(open.begin(), open.end(), Index{0});
    factor_ = Cholesky::of(covariance(), dim()).value();
    error_.assign(out_.size(), 0);
    if (weighed_.empty[0]) std::ranges::copy(call.empty_out(head, row), error_.begin());
    for (Index j = 0; j < std::ssize(open); ++j) {
      if (!open[as_size(j)]) continue;
      add_scaled(error_.data(), weighed_.weights[as_size(j)] * weighed_.factor(as_size(j)),
                 value(j), dim());
    }
    add_scaled(error_.data(), -1, out_.data(), dim());
    unmixed_ = error_;
    factor_.solve(unmixed_);
    factor_.whiten(error_);
  }

  double cost() const {
    return whole(error_, 1) + lse(weighed_.empty[0] ? kLogOfNone : weighed_.log_sums[0]);
  }

  /// For each key of `cells`: by how much the cost rises if the key is flipped from open to closed
  /// or back.
  std::vector<double> rises(std::span<const Index> cells, const RiseLimits& limits) const {
    // With at most kFew cells per channel, bounds would save little time.
    constexpr std::size_t kFew = 4;
    const std::size_t n = as_size(dim());
    std::vector<double> out(cells.size());
    std::vector<std::size_t> rest;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const auto bound = cells.size() > kFew * n ? bounded(cells[c], limits) : std::nullopt;
      if (bound) {
        out[c] = *bound;
      } else {
        rest.push_back(c);
      }
    }
    std::vector<double> moved(rest.size() * n);
    for (std::size_t r = 0; r < rest.size(); ++r) {
      const Index j = cells[rest[r]];
      add_scaled(&moved[r * n], weighed_.factor(as_size(j)), value(j), dim());
      add_scaled(&moved[r * n], -1, out_.data(), dim());
    }
    factor_.whiten(moved);
    const double before = cost(), none = empty_cost();
    for (std::size_t r = 0; r < rest.size(); ++r) {
      const std::size_t c = rest[r];
      out[c] = after(cells[c], std::span(moved).subspan(r * n, n), none) - before;
    }
    return out;
  }

 private:
  Index dim() const { return call_.dim(head_); }
  const double* value(Index j) const { return call_.values(head_) + j * dim(); }
  /// Returns a bound of the rise of the cost when key j is flipped, if the bound may stand for the
  /// rise itself (see RiseLimits); absent if no bound is good enough. The bounds follow from the
  /// least and the largest variance in any direction.
  std::optional<double> bounded(Index j, const RiseLimits& limits) const {
    const bool is_open = open_[as_size(j)];
    const double t = (is_open ? -1 : 1) * weighed_.weights[as_size(j)];
    if (weighed_.empty[0] || (is_open && opened_ == 1) || 1 + t < kNoWeight) return {};
    const double factor = weighed_.factor(as_size(j)), along = factor * of_out(value(j));
    const double norm = square(factor) * call_.squares(head_)[j] - 2 * along + of_out(out_.data());
    const double cross =
        factor * solving::dot(value(j), unmixed_.data(), dim()) - of_out(unmixed_.data());
    const double now = whole(error_, 1), lse_now = lse(weighed_.log_sums[0] + std::log1p(t));
    const auto rise = [&](double variance) {
      const double squares = now + 2 * t * cross + t * t * norm / variance;
      return squares / square(1 + t) + lse_now - cost();
    };
    const double low = rise(most_variance_);
    if (low >= limits.sure) return low;
    const double high = rise(least_variance_);
    if (high < limits.light && low > limits.wrong) return high;
    return {};
  }
  double of_out(const double* vector) const { return solving::dot(vector, out_.data(), dim()); }

  /// The cost after key j is flipped. `moved`: the key's value minus the output, whitened. `none`:
  /// the cost without open keys.
  double after(Index j, std::span<double> moved, double none) const {
    const bool is_open = open_[as_size(j)];
    const double w = weighed_.weights[as_size(j)], t = is_open ? -w : w;
    const bool last = is_open && opened_ == 1 && weighed_.sinks[0] == 0;
    if (last || 1 + t < kNoWeight) return none;
    if (weighed_.empty[0]) return whole(moved, 1) + lse(weighed_.log_sums[0] + std::log(w));
    for (double& x : moved) x *= t;
    add_scaled(moved.data(), 1, error_.data(), dim());
    return whole(moved, 1 + t) + lse(weighed_.log_sums[0] + std::log1p(t));
  }
  double whole(std::span<const double> whitened, double sum) const {
    return solving::dot(whitened.data(), whitened.data(), dim()) / square(sum);
  }
  double lse(double log_sum) const { return lse_cost(call_, head_, row_, log_sum); }

  double empty_cost() const {
    if (call_.empty_row() == EmptyRow::kNan) return kImpossible;
    const std::span<const double> empty = call_.empty_out(head_, row_);
    std::vector<double> moved(empty.begin(), empty.end());
    add_scaled(moved.data(), -1, out_.data(), dim());
    factor_.whiten(moved);
    return whole(moved, 1) + lse(kLogOfNone);
  }

  /// The squared length of a key's weighted value, w^2 |v|^2.
  double energy(Index j) const {
    const double weight = weighed_.weights[as_size(j)] * weighed_.size(as_size(j));
    return square(weight) * call_.squares(head_)[j];
  }

  std::vector<double> covariance() {
    std::vector<Index> keys;
    for (Index j = 0; j < std::ssize(open_); ++j) {
      if (open_[as_size(j)]) keys.push_back(j);
    }
    const auto middle =
        keys.begin() +
        std::ssize(keys.size() > kFollowed ? std::span(keys).first(kFollowed) : std::span(keys));
    std::nth_element(keys.begin(), middle, keys.end(),
                     [this](Index a, Index b) { return energy(a) > energy(b); });
    double rest = 0;
    for (auto at = middle; at != keys.end(); ++at) rest += energy(*at);
    keys.erase(middle, keys.end());
    return covariance_of(
        keys, call_.own_variance(head_, row_) +
                  call_.weight_variance(head_, row_) * rest / static_cast<double>(dim()));
  }

  std::vector<double> covariance_of(const std::vector<Index>& keys, double own) {
    const bool shifts = !weighed_.shifts.empty();
    const Index count = std::ssize(keys) + (shifts ? 1 : 0), n = dim();
    std::vector<double> columns(as_size(n * count)), out(as_size(n * n));
    for (Index m = 0; m < std::ssize(keys); ++m) {
      const Index j = keys[as_size(m)];
      const double factor = std::sqrt(call_.weight_variance(head_, row_)) *
                            weighed_.weights[as_size(j)] * weighed_.size(as_size(j));
      for (Index x = 0; x < n; ++x) columns[as_size(x * count + m)] = factor * value(j)[x];
    }
    for (Index x = 0; shifts && x < n; ++x) {
      columns[as_size(x * count + count - 1)] = weighed_.shifts[as_size(x)];
    }
    if (count > 0) multiply_transposed(columns.data(), columns.data(), n, count, n, out.data());
    double trace = static_cast<double>(n) * own;
    for (Index x = 0; x < n; ++x) trace += out[as_size(x * n + x)];
    // Some directions may have no variance so far: `own` is 0 for an output of zeros, and fewer
    // keys than channels do not span all directions.
    const double least = kLeastFraction * trace / static_cast<double>(n);
    least_variance_ = std::max(own, least);
    for (Index x = 0; x < n; ++x) out[as_size(x * n + x)] += least_variance_;
    // No direction has more variance than the largest sum of the absolute values in a row of the
    // covariance `out`.
    most_variance_ = 0;
    for (Index x = 0; x < n; ++x) {
      double sum = 0;
      for (Index y = 0; y < n; ++y) sum += std::abs(out[as_size(x * n + y)]);
      most_variance_ = std::max(most_variance_, sum);
    }
    return out;
  }

  const SolveCall& call_;
  Head head_;
  Index row_;
  const OpenKeys& open_;
  HeadRows weighed_;
  std::span<const double> out_;
  Index opened_ = 0;
  Cholesky factor_;
  std::vector<double> error_;    // output under `open` minus the kernel's output, whitened
  std::vector<double> unmixed_;  // the same error, not whitened but times the inverse covariance
  double least_variance_ = 1, most_variance_ = 1;  // the variance in any direction is between these
};

}  // namespace

double ExactReport::cost() const {
  return std::accumulate(head_cost.begin(), head_cost.end(), 0.0);
}

double ExactReport::rise(std::size_t cell) const {
  double sum = 0;
  for (const std::vector<double>& head : rises) sum += head[cell];
  return sum;
}

ExactReport exact_report(const SolveCall& call, std::span<const Head> heads, Index row,
                         const OpenKeys& open, std::span<const Index> cells, double most,
                         const RiseLimits& limits) {
  ExactReport out;
  for (const Head head : heads) {
    std::vector<double>& rises = out.rises.emplace_back();
    if (call.is_nan(head, row)) {
      const bool empty = std::ranges::find(open, 1) == open.end();
      out.head_cost.push_back(empty && call.empty_row() == EmptyRow::kNan ? 0 : kImpossible);
      rises.assign(cells.size(), kImpossible);
      continue;
    }
    const WhitenedRow whitened(call, head, row, open);
    out.head_cost.push_back(whitened.cost());
    if (out.cost() > most) return out;
    rises = whitened.rises(cells, limits);
  }
  return out;
}

}  // namespace maskctl::attention::solving
