#include "maskctl/verify/solve/row_panel.h"

#include <algorithm>
#include <cmath>

#include "maskctl/verify/rounding.h"
#include "maskctl/verify/solve/dense.h"

namespace maskctl::attention::solving {

RowPanel::RowPanel(const SolveCall& call, std::span<const Head> heads, Range rows,
                   const std::uint8_t* open)
    : call_(call),
      rows_(rows),
      keys_(call.dims().keys),
      right_(cells()),
      diagonal_(cells()),
      weights_(cells()),
      scale_(cells()),
      products_(cells()),
      vectors_(as_size(rows.size() * call.widest())) {
  for (const Head head : heads) add(head, open);
  for (std::size_t n = 0; n < cells(); ++n) {
    weights_[n] /= static_cast<double>(heads.size());
    scale_[n] = weights_[n] * (open[n] ? 1 : 0.25);
  }
  for (Index r = 0; r < count(); ++r) level(r);
}

void RowPanel::apply(const std::vector<double>& x, std::vector<double>& out) const {
  std::ranges::fill(out, 0);
  for (const HeadTerms& terms : heads_) apply(terms, x, out);
}

void RowPanel::add(Head head, const std::uint8_t* open) {
  HeadRows weighed = head_rows(call_, head, rows_, open);
  HeadTerms terms{head, std::move(weighed.weights), std::move(weighed.factors), {}};
  multiply_transposed(out(head), call_.values(head), count(), call_.dim(head), keys_,
                      products_.data());
  for (Index r = 0; r < count(); ++r) add_row(weighed, r, terms);
  heads_.push_back(std::move(terms));
}

void RowPanel::add_row(const HeadRows& weighed, Index r, HeadTerms& terms) {
  const std::span<const double> given = call_.out(terms.head, rows_.begin + r);
  const double* const squares = call_.squares(terms.head);
  double* const u = &terms.units[at(r)];
  for (Index j = 0; j < keys_; ++j) weights_[at(r) + as_size(j)] += u[j];
  const double deviation = std::sqrt(weighed.variance[as_size(r)]);
  const double sink = weighed.sinks[as_size(r)] / deviation;
  const double out_square = solving::dot(given.data(), given.data(), std::ssize(given));
  for (Index j = 0; j < keys_; ++j) {
    u[j] /= deviation;
    const double factor = terms.factor(at(r) + as_size(j));
    const double along = factor * products_[at(r) + as_size(j)];
    diagonal_[at(r) + as_size(j)] +=
        square(u[j]) * (square(factor) * squares[j] - 2 * along + out_square);
    right_[at(r) + as_size(j)] -= u[j] * sink * (out_square - along);
  }
  fixed_scale_ = fixed_scale_ || sink > 0;
  if (const auto lse = call_.lse(terms.head, rows_.begin + r)) {
    add_lse(weighed, r, *lse, deviation, terms);
  }
}

void RowPanel::add_lse(const HeadRows& weighed, Index r, double lse, double deviation,
                       HeadTerms& terms) {
  terms.lse.resize(as_size(count()));
  const double sum = std::exp(lse - weighed.log_sums[as_size(r)]);
  fixed_scale_ = true;
  if (!std::isfinite(sum) || sum <= 0) return;
  const double factor = square(deviation) / (call_.lse_variance(lse) * sum * sum);
  terms.lse[as_size(r)] = factor;
  const double* const u = &terms.units[at(r)];
  const double rest = (sum - weighed.sinks[as_size(r)]) / deviation;
  for (Index j = 0; j < keys_; ++j) {
    right_[at(r) + as_size(j)] += factor * rest * u[j];
    diagonal_[at(r) + as_size(j)] += factor * square(u[j]);
  }
}

/// Scales the equation scale . x = 1 of a row, which sets the scale of its solution x, so that it
/// counts as much as four keys.
void RowPanel::level(Index r) {
  double sum = 0;
  for (std::size_t n = at(r); n < at(r + 1); ++n) {
    if (diagonal_[n] > 0) sum += square(scale_[n]) / diagonal_[n];
  }
  if (sum <= 0) return;
  for (std::size_t n = at(r); n < at(r + 1); ++n) scale_[n] *= 2 / std::sqrt(sum);
}

void RowPanel::apply(const HeadTerms& terms, const std::vector<double>& x,
                     std::vector<double>& sum) const {
  const double* const values = call_.values(terms.head);
  const double* const given = out(terms.head);
  const Index dim = call_.dim(terms.head);
  std::vector<double> totals(as_size(count()));
  for (Index r = 0; r < count(); ++r) {
    for (std::size_t n = at(r); n < at(r + 1); ++n) {
      products_[n] = x[n] * terms.units[n];
      totals[as_size(r)] += products_[n];
      products_[n] *= terms.factor(n);
    }
  }
  multiply(products_.data(), values, count(), keys_, dim, vectors_.data());
  std::vector<double> along(as_size(count()));
  for (Index r = 0; r < count(); ++r) {
    double* const z = &vectors_[as_size(r * dim)];
    add_scaled(z, -totals[as_size(r)], given + r * dim, dim);
    along[as_size(r)] = solving::dot(z, given + r * dim, dim);
    if (!terms.lse.empty()) along[as_size(r)] -= terms.lse[as_size(r)] * totals[as_size(r)];
  }
  multiply_transposed(vectors_.data(), values, count(), dim, keys_, products_.data());
  for (Index r = 0; r < count(); ++r) {
    for (std::size_t n = at(r); n < at(r + 1); ++n) {
      sum[n] += terms.units[n] * (terms.factor(n) * products_[n] - along[as_size(r)]);
    }
  }
}

}  // namespace maskctl::attention::solving
