#include "maskctl/verify/solve/problem.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "maskctl/verify/rounding.h"
#include "maskctl/verify/solve/dense.h"

namespace maskctl::attention::solving {
RowProblem::RowProblem(const SolveCall& call, std::vector<Head> heads, Index row, OpenKeys base)
    : call_(call), heads_(std::move(heads)), row_(row), base_(std::move(base)) {
  for (const Head head : heads_) add_head(head);
}

void RowProblem::add_head(Head head) {
  const Index dim = call_.dim(head);
  const std::span<const double> out = call_.out(head, row_);
  HeadRows rows = head_rows(call_, head, {row_, row_ + 1}, base_.data());
  HeadTerms terms;
  terms.with_out.resize(as_size(keys()));
  multiply_transposed(out.data(), call_.values(head), 1, dim, keys(), terms.with_out.data());
  for (std::size_t j = 0; j < as_size(keys()); ++j) {
    const double factor = rows.factor(j);
    terms.factors.push_back(factor);
    terms.moved.push_back(rows.weights[j] * factor);
    terms.squares.push_back(square(factor) * call_.squares(head)[j]);
    terms.with_out[j] *= factor;
  }
  terms.weights = std::move(rows.weights);
  terms.sink = rows.sinks[0];
  terms.log_sum = rows.log_sums[0];
  terms.out_square = solving::dot(out.data(), out.data(), dim);
  terms.variance = rows.variance[0];
  terms.empty_cost = empty_cost(call_, head, row_, terms.variance);
  terms.first = errors_;
  errors_ += dim;
  equations_ += dim + (call_.lse(head, row_) ? 1 : 0);
  terms_.push_back(std::move(terms));
}

double RowProblem::head_cost(std::size_t head, double square, double sum) const {
  const HeadTerms& terms = terms_[head];
  if (sum <= kNoWeight) return terms.empty_cost;
  const double cost = square / (sum * sum);
  if (!call_.lse(heads_[head], row_)) return cost;
  return cost + lse_cost(call_, heads_[head], row_, terms.log_sum + std::log(sum));
}

RowProblem::State RowProblem::at(const OpenKeys& open) const {
  State out{open, std::vector<double>(as_size(errors_)), {}, 0};
  for (std::size_t h = 0; h < heads_.size(); ++h) {
    const HeadTerms& terms = terms_[h];
    const Index dim = this->dim(h);
    const double unit = 1 / std::sqrt(terms.variance);
    double* const error = &out.errors[as_size(terms.first)];
    double sum = terms.sink;
    for (Index j = 0; j < keys(); ++j) {
      if (!open[as_size(j)]) continue;
      add_scaled(error, terms.moved[as_size(j)] * unit, call_.values(heads_[h]) + j * dim, dim);
      sum += terms.weights[as_size(j)];
    }
    const double square = add_scaled(error, -sum * unit, call_.out(heads_[h], row_).data(), dim);
    out.sums.push_back(sum);
    out.cost += head_cost(h, square, sum);
  }
  return out;
}

void RowProblem::flip(State& state, Index key) const {
  std::uint8_t& open = state.open[as_size(key)];
  const double sign = open ? -1 : 1;
  open = !open;
  state.cost = 0;
  for (std::size_t h = 0; h < heads_.size(); ++h) {
    const HeadTerms& terms = terms_[h];
    const Index dim = this->dim(h);
    const double w = sign * terms.weights[as_size(key)], unit = w / std::sqrt(terms.variance);
    double* const error = &state.errors[as_size(terms.first)];
    add_scaled(error, unit * terms.factors[as_size(key)], call_.values(heads_[h]) + key * dim, dim);
    const double square = add_scaled(error, -unit, call_.out(heads_[h], row_).data(), dim);
    state.sums[h] += w;
    state.cost += head_cost(h, square, state.sums[h]);
  }
}

std::vector<double> RowProblem::costs_of_flips(std::span<const State> states) const {
  const Index count = std::ssize(states);
  std::vector<double> out(as_size(count * keys())), products(out.size()), errors;
  for (std::size_t h = 0; h < heads_.size(); ++h) {
    const HeadTerms& terms = terms_[h];
    const Index dim = this->dim(h);
    errors.resize(as_size(count * dim));
    const double* const given = call_.out(heads_[h], row_).data();
    const double unit = 1 / std::sqrt(terms.variance);
    for (Index n = 0; n < count; ++n) {
      std::copy_n(&states[as_size(n)].errors[as_size(terms.first)], dim, &errors[as_size(n * dim)]);
    }
    multiply_transposed(errors.data(), call_.values(heads_[h]), count, dim, keys(),
                        products.data());
    for (Index n = 0; n < count; ++n) {
      const State& state = states[as_size(n)];
      const double* const error = &errors[as_size(n * dim)];
      const double along = solving::dot(error, given, dim);
      const double before = solving::dot(error, error, dim), sum = state.sums[h];
      for (Index j = 0; j < keys(); ++j) {
        const double w = terms.weights[as_size(j)], t = state.open[as_size(j)] ? -w : w;
        const double norm =
            terms.squares[as_size(j)] - 2 * terms.with_out[as_size(j)] + terms.out_square;
        const double moved = t * unit;
        const double cross = terms.factors[as_size(j)] * products[as_size(n * keys() + j)] - along;
        const double square = before + 2 * moved * cross + moved * moved * norm;
        out[as_size(n * keys() + j)] += head_cost(h, square, sum + t);
      }
    }
  }
  return out;
}

}  // namespace maskctl::attention::solving
