// One row with the rounding in each direction.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "maskctl/attention/verify/rounding.h"
#include "maskctl/attention/verify/solve/dense.h"
#include "maskctl/attention/verify/solve/rows.h"

namespace maskctl::attention::solving {
namespace {

/// The heaviest keys, whose rounding counts along their values; the rounding of all others counts
/// alike in all directions.
constexpr std::size_t kFollowed = 64;

/// Row `row` of one head, whitened by the covariance of its rounding.
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
    factor_ = Cholesky::of(covariance(), dim());
    error_.assign(out_.size(), 0);
    if (weighed_.empty[0]) std::ranges::copy(call.empty_out(head, row), error_.begin());
    for (Index j = 0; j < std::ssize(open); ++j) {
      if (!open[as_size(j)]) continue;
      add_scaled(error_.data(), weighed_.weights[as_size(j)] * weighed_.factor(as_size(j)),
                 value(j), dim());
    }
    add_scaled(error_.data(), -1, out_.data(), dim());
    factor_->whiten(error_);
  }

  double cost() const {
    return whole(error_, 1) + lse(weighed_.empty[0] ? kLogOfNone : weighed_.log_sums[0]);
  }

  /// What flipping each cell adds to the cost.
  std::vector<double> rises(std::span<const Index> cells) const {
    const std::size_t n = as_size(dim());
    std::vector<double> moved(cells.size() * n), out;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      add_scaled(&moved[c * n], weighed_.factor(as_size(cells[c])), value(cells[c]), dim());
      add_scaled(&moved[c * n], -1, out_.data(), dim());
    }
    factor_->whiten(moved);
    const double before = cost(), none = empty_cost();
    for (std::size_t c = 0; c < cells.size(); ++c) {
      out.push_back(after(cells[c], std::span(moved).subspan(c * n, n), none) - before);
    }
    return out;
  }

 private:
  Index dim() const { return call_.dim(head_); }
  const double* value(Index j) const { return call_.values(head_) + j * dim(); }
  /// The cost after key j is flipped; `moved`: its value less the output, whitened.
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
    factor_->whiten(moved);
    return whole(moved, 1) + lse(kLogOfNone);
  }

  /// w^2 |v|^2 of a key.
  double energy(Index j) const {
    const double weight = weighed_.weights[as_size(j)] * weighed_.size(as_size(j));
    return square(weight) * call_.squares(head_)[j];
  }

  std::vector<double> covariance() const {
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

  std::vector<double> covariance_of(const std::vector<Index>& keys, double own) const {
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
    for (Index x = 0; x < n; ++x) out[as_size(x * n + x)] += own;
    return out;
  }

  const SolveCall& call_;
  Head head_;
  Index row_;
  const OpenKeys& open_;
  HeadRows weighed_;
  std::span<const double> out_;
  Index opened_ = 0;
  std::optional<Cholesky> factor_;
  std::vector<double> error_;  // whitened
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
                         const OpenKeys& open, std::span<const Index> cells) {
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
    rises = whitened.rises(cells);
  }
  return out;
}

}  // namespace maskctl::attention::solving
