#include "maskctl/verify/solve/sphere.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "maskctl/base/work_scope.h"
#include "maskctl/verify/rounding.h"
#include "maskctl/verify/solve/dense.h"

namespace maskctl::attention::solving {
namespace {

/// A key can only be decided if the square of its weighted value, in units of rounding, is at least
/// kTold. A set of keys is only excluded if it costs more than the best set by kTold times the
/// noise.
constexpr double kTold = 64;
/// The column of a key adds no equation if the part of it that is independent of the columns before
/// it is at most this fraction of its length.
constexpr double kDependent = 1e-9;
/// Limits for a row: multiplications to make the triangular matrix, and additions in the search.
/// Rows that were solved took a tenth of this; rows that cannot be solved take all of it.
constexpr double kMostOfTriangle = 1e8, kMostAdditions = 1e7;
/// A set of keys counts as not fitting by chance if the log odds are at least this.
constexpr double kBeyondChance = 20;

/// An orthonormal basis of the space that the values of a head span. Up to rounding, the head's
/// outputs are in this space.
class Directions {
 public:
  Directions(const SolveCall& call, Head head) : dim_(call.dim(head)) {
    constexpr double kNew = 1e-10;  // least part of a squared length that makes a new direction
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

/// The equations of a row in triangular form. Let x be 1 for open and 0 for closed keys; then the
/// squared error of x is |R x - y|^2 + rest, with a triangular matrix R. Keys that are not searched
/// are open or closed as in the base (the first guess) of the problem.
class Triangle {
 public:
  Triangle(const RowProblem& problem, std::span<const Index> searched) {
    for (const Head head : problem.heads()) {
      ways_.emplace_back(problem.call(), head);
      rows_ += ways_.back().count() + (problem.call().lse(head, problem.row()) ? 1 : 0);
    }
    fill_columns(problem, searched);
    fill_target(problem);
    order();
  }

  Index equations() const { return rows_; }

  /// The first `free` columns are those of light keys, if there are equations enough for them.
  /// These keys may have any real numbers while sets of the other keys are compared, and are then
  /// opened or closed by the nearest number. Otherwise light keys have no column and are as in the
  /// base.
  Index free() const { return free_; }
  Index size() const { return std::ssize(keys_); }
  /// The key that belongs to a column of R. The search decides keys from the last column to the
  /// first.
  Index key(Index column) const { return keys_[as_size(column)]; }
  const double* row(Index k) const { return &upper_[as_size(k * size())]; }
  double diagonal(Index k) const { return row(k)[k]; }
  double right(Index k) const { return right_[as_size(k)]; }
  double rest() const { return rest_; }
  const std::vector<Index>& light() const { return light_; }

 private:
  void fill_columns(const RowProblem& problem, std::span<const Index> searched) {
    std::vector<double> light_columns;
    for (const Index j : searched) {
      const std::vector<double> column = column_of(problem, j);
      const bool is_light = solving::dot(column.data(), column.data(), rows_) < kTold;
      std::vector<double>& columns = is_light ? light_columns : columns_;
      (is_light ? light_ : keys_).push_back(j);
      columns.insert(columns.end(), column.begin(), column.end());
    }
    if (std::ssize(keys_) + std::ssize(light_) > rows_) return;
    free_ = std::ssize(light_);
    keys_.insert(keys_.begin(), light_.begin(), light_.end());
    columns_.insert(columns_.begin(), light_columns.begin(), light_columns.end());
  }

  std::vector<double> column_of(const RowProblem& problem, Index j) const {
    const SolveCall& call = problem.call();
    std::vector<double> column(as_size(rows_));
    double* at = column.data();
    for (std::size_t h = 0; h < problem.heads().size(); ++h) {
      const RowProblem::HeadTerms& t = problem.terms(h);
      const Head head = problem.heads()[h];
      const double unit = 1 / std::sqrt(t.variance);
      ways_[h].add(at, unit * t.moved[as_size(j)], call.values(head) + j * problem.dim(h));
      ways_[h].add(at, -unit * t.weights[as_size(j)], call.out(head, problem.row()).data());
      at += ways_[h].count();
      if (const auto lse = call.lse(head, problem.row())) {
        *at++ = t.weights[as_size(j)] * lse_unit(call, t, *lse);
      }
    }
    return column;
  }

  /// Sets the right side: the sum that the keys with a column must have, which is minus the errors
  /// of the row without these keys.
  void fill_target(const RowProblem& problem) {
    const SolveCall& call = problem.call();
    OpenKeys others = problem.base();
    for (const Index j : keys_) others[as_size(j)] = 0;
    const RowProblem::State state = problem.at(others);
    target_.resize(as_size(rows_));
    double* at = target_.data();
    for (std::size_t h = 0; h < problem.heads().size(); ++h) {
      const RowProblem::HeadTerms& t = problem.terms(h);
      ways_[h].add(at, -1, &state.errors[as_size(t.first)]);
      at += ways_[h].count();
      if (const auto lse = call.lse(problem.heads()[h], problem.row())) {
        *at++ = (std::exp(*lse - t.log_sum) - state.sums[h]) * lse_unit(call, t, *lse);
      }
    }
  }

  /// The factor that turns an error of the sum of weights into an error of the lse, to first order
  /// and in units of rounding; 0 if the sum is out of range.
  static double lse_unit(const SolveCall& call, const RowProblem::HeadTerms& t, double lse) {
    const double sum = std::exp(lse - t.log_sum);
    if (!std::isfinite(sum) || sum <= 0) return 0;
    return 1 / (std::sqrt(call.lse_variance(lse)) * sum);
  }

  double* column(Index n) { return &columns_[as_size(n * rows_)]; }

  /// Gram-Schmidt. After the free columns, the next column is always the one of which the smallest
  /// fraction is left after the columns before it are projected out.
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
      for (Index j = k + 1; j < (k < free_ ? free_ : n); ++j) {
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

  Index rows_ = 0, free_ = 0;
  // [heads]: a basis of the space that each head's value vectors span
  std::vector<Directions> ways_;
  std::vector<Index> keys_, light_;
  /// The equations before they are made triangular: [n, equations], one column for each key, and
  /// the right side [equations]. Overwritten by order().
  std::vector<double> columns_, target_;
  std::vector<double> upper_, right_;  // [n, n]: the matrix R; [n]: the right side y
  double rest_ = 0;
};

/// Returns the number of columns of a triangle that are not free and that add an equation.
Index rank_of(const Triangle& triangle) {
  Index rank = 0;
  for (Index k = triangle.free(); k < triangle.size(); ++k)
    rank += triangle.diagonal(k) > 0 ? 1 : 0;
  return rank;
}

/// Returns for each column k of the triangle how large the squared residual of rows k and later may
/// be, together with Triangle::rest(), once the keys of column k and of all later columns are
/// decided. The noise of an equation is `noise`, and the limit is four standard deviations above
/// its sum.
std::vector<double> radii(const Triangle& triangle, double noise) {
  constexpr double kRareError = 4, kSlackOfError = 1.1;
  Index some = triangle.equations() - triangle.free() - rank_of(triangle);
  std::vector<double> out(as_size(triangle.size()));
  for (Index k = triangle.size() - 1; k >= triangle.free(); --k) {
    some += triangle.diagonal(k) > 0 ? 1 : 0;
    const auto n = static_cast<double>(std::max<Index>(some, 1));
    out[as_size(k)] = n * noise * kSlackOfError * rare_mean_square(n, kRareError);
  }
  return out;
}

/// The logarithm of the number of sets of keys that leave the columns of a triangle a squared error
/// of at most `error` by chance: the volume of the ball of these errors, divided by the volume of a
/// cell of the lattice of sets.
double by_chance(const Triangle& triangle, double error) {
  double lengths = 0;
  for (Index k = triangle.free(); k < triangle.size(); ++k) {
    if (triangle.diagonal(k) > 0) lengths += std::log(triangle.diagonal(k));
  }
  const auto rank = static_cast<double>(rank_of(triangle));
  const auto sets = static_cast<double>(triangle.size() - triangle.free());
  const double ball = rank / 2 * std::log(std::numbers::pi * error) - std::lgamma(rank / 2 + 1);
  return (sets - rank) * std::numbers::ln2 + ball - lengths;
}

/// Finds the cheapest set of keys that costs at most `enough`, and all that cost hardly more (see
/// kTold), by deciding one key after another. A partial set is dropped if its squared error is too
/// large for its column's element of `radii` or for `enough_`, each times the square of the largest
/// sum of weights that the set can still reach.
class SetSearch {
 public:
  SetSearch(const RowProblem& problem, const Triangle& triangle, std::vector<double> radii,
            double noise, double enough)
      : problem_(problem),
        triangle_(triangle),
        radii_(std::move(radii)),
        slack_(kTold * noise),
        enough_(enough),
        open_(problem.base()),
        left_(as_size((triangle.size() + 1) * triangle.size())),
        most_(problem.heads().size()) {
    for (Index k = 0; k < n(); ++k) left_[as_size(n() * n() + k)] = triangle.right(k);
    for (std::size_t h = 0; h < most_.size(); ++h) {
      const RowProblem::HeadTerms& t = problem.terms(h);
      OpenKeys most = open_;
      for (Index k = 0; k < n(); ++k) most[as_size(triangle.key(k))] = 1;
      most_[h] = t.sink;
      for (std::size_t j = 0; j < most.size(); ++j) most_[h] += most[j] * t.weights[j];
    }
  }

  struct Found {
    RowProblem::State state;
    double error;  // the squared error of the triangular equations, without the free columns
  };

  /// Returns false if the search stopped early, because it took too long or found too many sets.
  bool run() { return choose(n() - 1, triangle_.rest()); }
  const std::vector<Found>& found() const { return found_; }

 private:
  Index n() const { return triangle_.size(); }

  bool choose(Index k, double cost) {
    if (k < triangle_.free()) return keep(cost);
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
      if (error <= std::min(radii_[as_size(k)], enough_) * square(most)) {
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

  bool keep(double error) {
    constexpr std::size_t kMost = 256;
    for (Index k = triangle_.free() - 1; k >= 0; --k) {
      additions_ += static_cast<double>(k + 1);
      take(k, 2 * left_[as_size((k + 1) * n() + k)] > triangle_.diagonal(k));
    }
    RowProblem::State state = problem_.at(open_);
    if (state.cost > enough_) return true;
    enough_ = std::min(enough_, state.cost + slack_);
    std::erase_if(found_, [this](const Found& set) { return set.state.cost > enough_; });
    found_.push_back({std::move(state), error});
    return found_.size() < kMost;
  }

  const RowProblem& problem_;
  const Triangle& triangle_;
  std::vector<double> radii_;
  double slack_;
  double enough_;  // what a set may cost at most; lowered whenever a cheaper set is found
  OpenKeys open_;
  /// [n + 1, n]: row k is the right side y minus the columns from k on whose keys are open in the
  /// partial set.
  std::vector<double> left_;
  std::vector<double> most_;  // [heads]: the sum of weights if all keys not chosen yet were open
  std::vector<Found> found_;
  double additions_ = 0;
  Index nodes_ = 0;
  StopPoll poll_;
};

}  // namespace

std::optional<LeastSquares> solve_sets(const RowProblem& problem, std::span<const Index> searched,
                                       double noise, double enough) {
  const auto keys = static_cast<double>(searched.size());
  if (keys * keys * static_cast<double>(problem.equations()) > kMostOfTriangle) return {};
  const Triangle triangle(problem, searched);
  if (triangle.size() == 0) return {};
  SetSearch search(problem, triangle, radii(triangle, noise), noise, enough);
  const bool ended = search.run();
  const bool some_decided = std::ssize(searched) < problem.keys();
  if (search.found().empty() || (!ended && !some_decided)) return {};
  const auto cost = [](const SetSearch::Found& set) { return set.state.cost; };
  const SetSearch::Found& best = *std::ranges::min_element(search.found(), {}, cost);
  if (!ended) return LeastSquares{best.state.open, {searched.begin(), searched.end()}};
  const double error = std::max(best.error - triangle.rest(), 0.0);
  if (!some_decided && by_chance(triangle, error) > -kBeyondChance) return {};
  LeastSquares out{best.state.open, triangle.light()};
  for (const SetSearch::Found& other : search.found()) {
    for (Index j = 0; j < problem.keys(); ++j) {
      if (other.state.open[as_size(j)] != best.state.open[as_size(j)]) out.uncertain.push_back(j);
    }
  }
  std::ranges::sort(out.uncertain);
  const auto twice = std::ranges::unique(out.uncertain);
  out.uncertain.erase(twice.begin(), twice.end());
  return out;
}

}  // namespace maskctl::attention::solving
