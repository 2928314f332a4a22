#include "maskctl/attention/verify/solve/sphere.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "maskctl/attention/verify/rounding.h"
#include "maskctl/attention/verify/solve/dense.h"
#include "maskctl/base/work_scope.h"

namespace maskctl::attention::solving {
namespace {

/// What a key must weigh in the equations to be decided, and how much cheaper than others the best
/// set must be.
constexpr double kTold = 64;
/// A column that is a combination of others, up to this part of it, adds no equation.
constexpr double kDependent = 1e-9;
/// The most products for the triangle, and additions of the search, that a row may cost: rows that
/// were solved took a tenth of these, rows that cannot be solved take all.
constexpr double kMostOfTriangle = 1e8, kMostAdditions = 1e7;
/// Log odds from which a set does not fit by chance.
constexpr double kBeyondChance = 20;

/// An orthonormal basis of the values of a head; its outputs lie in it, up to rounding.
class Directions {
 public:
  Directions(const SolveCall& call, Head head) : dim_(call.dim(head)) {
    constexpr double kNew = 1e-10;  // the least part of a square that is a direction of its own
    for (Index j = 0; j < call.dims().keys && count() < dim_; ++j) {
      std::vector<double> left(call.values(head) + j * dim_, call.values(head) + (j + 1) * dim_);
      for (int twice = 0; twice < 2; ++twice) {
        for (Index n = 0; n < count(); ++n) {
          add_scaled(left.data(), -solving::dot(way(n), left.data(), dim_), way(n), dim_);
        }
      }
      const double size = solving::dot(left.data(), left.data(), dim_);
      if (size <= kNew * call.squares(head)[j]) continue;
      for (double& x : left) x /= std::sqrt(size);
      ways_.insert(ways_.end(), left.begin(), left.end());
    }
  }
  Index count() const { return std::ssize(ways_) / std::max<Index>(dim_, 1); }
  /// to += factor * vector, in coordinates of the basis.
  void add(double* to, double factor, const double* vector) const {
    for (Index n = 0; n < count(); ++n) to[n] += factor * solving::dot(way(n), vector, dim_);
  }

 private:
  const double* way(Index n) const { return &ways_[as_size(n * dim_)]; }

  Index dim_;
  std::vector<double> ways_;  // [directions, Dv], orthonormal
};

/// The equations with a triangular matrix R: |R x - y|^2 + rest is the squared error of x.
class Triangle {
 public:
  explicit Triangle(const RowProblem& problem) {
    for (const Head head : problem.heads()) {
      ways_.emplace_back(problem.call(), head);
      rows_ += ways_.back().count() + (problem.call().lse(head, problem.row()) ? 1 : 0);
    }
    fill(problem);
    order();
  }

  Index equations() const { return rows_; }

  Index size() const { return std::ssize(keys_); }
  /// The key of a column; keys are chosen from the last column to the first.
  Index key(Index column) const { return keys_[as_size(column)]; }
  const double* row(Index k) const { return &upper_[as_size(k * size())]; }
  double diagonal(Index k) const { return row(k)[k]; }
  double right(Index k) const { return right_[as_size(k)]; }
  double rest() const { return rest_; }
  const std::vector<Index>& light() const { return light_; }

 private:
  void fill(const RowProblem& problem) {
    const SolveCall& call = problem.call();
    target_.resize(as_size(rows_));
    columns_.reserve(as_size(rows_ * problem.keys()));
    for (Index j = 0; j < problem.keys(); ++j) {
      std::vector<double> column(as_size(rows_));
      double* at = column.data();
      for (std::size_t h = 0; h < problem.heads().size(); ++h) {
        const RowProblem::HeadTerms& t = problem.terms(h);
        const double unit = 1 / std::sqrt(t.variance);
        ways_[h].add(at, unit * t.moved[as_size(j)],
                     call.values(problem.heads()[h]) + j * problem.dim(h));
        ways_[h].add(at, -unit * t.weights[as_size(j)],
                     call.out(problem.heads()[h], problem.row()).data());
        at += ways_[h].count();
        if (const auto lse = call.lse(problem.heads()[h], problem.row())) {
          *at++ = t.weights[as_size(j)] * lse_unit(call, t, *lse);
        }
      }
      if (solving::dot(column.data(), column.data(), rows_) < kTold) {
        light_.push_back(j);
        if (problem.base()[as_size(j)]) add_scaled(target_.data(), -1, column.data(), rows_);
        continue;
      }
      keys_.push_back(j);
      columns_.insert(columns_.end(), column.begin(), column.end());
    }
    double* at = target_.data();
    for (std::size_t h = 0; h < problem.heads().size(); ++h) {
      const RowProblem::HeadTerms& t = problem.terms(h);
      const Head head = problem.heads()[h];
      ways_[h].add(at, t.sink / std::sqrt(t.variance), call.out(head, problem.row()).data());
      at += ways_[h].count();
      if (const auto lse = call.lse(head, problem.row())) {
        *at++ += (std::exp(*lse - t.log_sum) - t.sink) * lse_unit(call, t, *lse);
      }
    }
  }

  /// The factor of an error in the sum of weights, which to first order is an error of the lse; 0
  /// where the sum is out of range.
  static double lse_unit(const SolveCall& call, const RowProblem::HeadTerms& t, double lse) {
    const double sum = std::exp(lse - t.log_sum);
    if (!std::isfinite(sum) || sum <= 0) return 0;
    return 1 / (std::sqrt(call.lse_variance(lse)) * sum);
  }

  double* column(Index n) { return &columns_[as_size(n * rows_)]; }

  /// Gram-Schmidt, which next takes the column of which the ones before leave the least.
  void order() {
    const Index n = size();
    std::vector<double> whole(as_size(n)), left(as_size(n));
    for (Index j = 0; j < n; ++j) {
      left[as_size(j)] = whole[as_size(j)] = solving::dot(column(j), column(j), rows_);
    }
    upper_.resize(as_size(n * n));
    right_.resize(as_size(n));
    for (Index k = 0; k < n; ++k) {
      Index next = k;
      for (Index j = k + 1; j < n; ++j) {
        if (left[as_size(j)] * whole[as_size(next)] < left[as_size(next)] * whole[as_size(j)]) {
          next = j;
        }
      }
      swap(k, next, whole, left);
      const double length = std::sqrt(solving::dot(column(k), column(k), rows_));
      if (length <= kDependent * std::sqrt(whole[as_size(k)])) continue;
      double* const way = column(k);
      for (Index x = 0; x < rows_; ++x) way[x] /= length;
      upper_[as_size(k * n + k)] = length;
      for (Index j = k + 1; j < n; ++j) {
        const double along = solving::dot(way, column(j), rows_);
        upper_[as_size(k * n + j)] = along;
        left[as_size(j)] = add_scaled(column(j), -along, way, rows_);
      }
      right_[as_size(k)] = solving::dot(way, target_.data(), rows_);
      add_scaled(target_.data(), -right_[as_size(k)], way, rows_);
    }
    rest_ = solving::dot(target_.data(), target_.data(), rows_);
  }

  void swap(Index a, Index b, std::vector<double>& whole, std::vector<double>& left) {
    if (a == b) return;
    std::swap_ranges(column(a), column(a) + rows_, column(b));
    std::swap(whole[as_size(a)], whole[as_size(b)]);
    std::swap(left[as_size(a)], left[as_size(b)]);
    std::swap(keys_[as_size(a)], keys_[as_size(b)]);
    for (Index k = 0; k < a; ++k) {
      std::swap(upper_[as_size(k * size() + a)], upper_[as_size(k * size() + b)]);
    }
  }

  Index rows_ = 0;
  std::vector<Directions> ways_;  // [heads]
  std::vector<Index> keys_, light_;
  std::vector<double> columns_, target_;  // [n, equations] and [equations], used up by order()
  std::vector<double> upper_, right_;     // [n, n] and [n]
  double rest_ = 0;
};

/// [columns]: the most that this column and those after it may leave of the right side, squared.
/// Noise is spread evenly over all directions, and so over the columns.
std::vector<double> radii(const Triangle& triangle, double noise) {
  constexpr double kRareError = 4, kSlackOfError = 1.1;
  const auto within = [noise](double n) {
    return n * noise * kSlackOfError * rare_mean_square(n, kRareError);
  };
  double rank = 0;
  for (Index k = 0; k < triangle.size(); ++k) rank += triangle.diagonal(k) > 0 ? 1 : 0;
  const auto equations = static_cast<double>(triangle.equations());
  const double each = std::max(1.0, equations / std::max(rank, 1.0));
  std::vector<double> out(as_size(triangle.size()));
  double some = 0;
  for (Index k = triangle.size() - 1; k >= 0; --k) {
    some += triangle.diagonal(k) > 0 ? each : 0;
    out[as_size(k)] = within(std::max(some, 1.0));
  }
  return out;
}

/// The logarithm of the number of sets that meet the equations by chance: the volume of the ball of
/// errors over that of a cell of the lattice.
double by_chance(const Triangle& triangle, double radius) {
  double rank = 0, lengths = 0;
  for (Index k = 0; k < triangle.size(); ++k) {
    if (triangle.diagonal(k) > 0) ++rank, lengths += std::log(triangle.diagonal(k));
  }
  const double ball = rank / 2 * std::log(std::numbers::pi * radius) - std::lgamma(rank / 2 + 1);
  return (static_cast<double>(triangle.size()) - rank) * std::numbers::ln2 + ball - lengths;
}

/// Finds the sets of keys that cost at most `enough`: their squared error is at most a radius times
/// the square of their sum of weights.
class SetSearch {
 public:
  SetSearch(const RowProblem& problem, const Triangle& triangle, std::vector<double> radii,
            double enough)
      : problem_(problem),
        triangle_(triangle),
        radii_(std::move(radii)),
        enough_(enough),
        open_(problem.base()),
        left_(as_size((triangle.size() + 1) * triangle.size())),
        most_(problem.heads().size()) {
    for (Index k = 0; k < n(); ++k) left_[as_size(n() * n() + k)] = triangle.right(k);
    for (std::size_t h = 0; h < most_.size(); ++h) {
      const RowProblem::HeadTerms& t = problem.terms(h);
      most_[h] = t.sink;
      for (const Index j : triangle.light()) {
        if (open_[as_size(j)]) most_[h] += t.weights[as_size(j)];
      }
      for (Index k = 0; k < n(); ++k) most_[h] += t.weights[as_size(triangle.key(k))];
    }
  }

  /// False where it would take too long.
  bool run() { return choose(n() - 1, triangle_.rest()); }
  const std::vector<RowProblem::State>& found() const { return found_; }

 private:
  Index n() const { return triangle_.size(); }

  bool choose(Index k, double cost) {
    if (k < 0) return keep();
    additions_ += static_cast<double>(k + 1);
    if (additions_ > kMostAdditions) return false;
    if (++nodes_ % 4096 == 0) poll_();
    const double* const before = &left_[as_size((k + 1) * n())];
    const double length = triangle_.diagonal(k), wanted = before[k];
    const bool first = std::abs(wanted - length) < std::abs(wanted);
    for (const bool open : {first, !first}) {
      const double error = cost + square(wanted - (open ? length : 0));
      if (!open) lower(k, -1);
      const double most = *std::ranges::max_element(most_);
      bool whole = true;
      if (error <= radii_[as_size(k)] * square(most)) {
        take(k, open);
        whole = choose(k - 1, error);
      }
      if (!open) lower(k, 1);
      if (!whole) return false;
    }
    return true;
  }

  void lower(Index k, double sign) {
    for (std::size_t h = 0; h < most_.size(); ++h) {
      most_[h] += sign * problem_.terms(h).weights[as_size(triangle_.key(k))];
    }
  }

  void take(Index k, bool open) {
    open_[as_size(triangle_.key(k))] = open;
    const double* const before = &left_[as_size((k + 1) * n())];
    double* const after = &left_[as_size(k * n())];
    for (Index i = 0; i < k; ++i) after[i] = before[i] - (open ? triangle_.row(i)[k] : 0);
  }

  bool keep() {
    constexpr std::size_t kMost = 64;
    RowProblem::State state = problem_.at(open_);
    if (state.cost > enough_) return true;
    found_.push_back(std::move(state));
    return found_.size() < kMost;
  }

  const RowProblem& problem_;
  const Triangle& triangle_;
  std::vector<double> radii_;
  double enough_;
  OpenKeys open_;
  std::vector<double> left_;  // [n + 1, n]: the right side less the columns from each on
  std::vector<double> most_;  // [heads]: the sum of weights if all undecided keys were open
  std::vector<RowProblem::State> found_;
  double additions_ = 0;
  Index nodes_ = 0;
  StopPoll poll_;
};

}  // namespace

std::optional<LeastSquares> solve_sets(const RowProblem& problem, double noise, double enough) {
  const auto keys = static_cast<double>(problem.keys());
  if (keys * keys * static_cast<double>(problem.equations()) > kMostOfTriangle) return {};
  const Triangle triangle(problem);
  if (triangle.size() == 0) return {};
  std::vector<double> within = radii(triangle, noise);
  const double radius = within.front();
  SetSearch search(problem, triangle, std::move(within), enough);
  if (!search.run() || search.found().empty()) return {};
  const auto best = std::ranges::min_element(search.found(), {}, &RowProblem::State::cost);
  const double sum = *std::ranges::max_element(best->sums);
  if (by_chance(triangle, radius * square(sum)) > -kBeyondChance) return {};
  LeastSquares out{best->open, triangle.light()};
  for (const RowProblem::State& other : search.found()) {
    if (other.cost > best->cost + kTold * noise) continue;
    for (Index j = 0; j < problem.keys(); ++j) {
      if (other.open[as_size(j)] != best->open[as_size(j)]) out.uncertain.push_back(j);
    }
  }
  std::ranges::sort(out.uncertain);
  const auto twice = std::ranges::unique(out.uncertain);
  out.uncertain.erase(twice.begin(), twice.end());
  return out;
}

}  // namespace maskctl::attention::solving
