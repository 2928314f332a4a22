#include "maskctl/verify/solve/least_squares.h"

#include <algorithm>
#include <cmath>

#include "maskctl/base/work_scope.h"
#include "maskctl/verify/rounding.h"
#include "maskctl/verify/solve/dense.h"

namespace maskctl::attention::solving {
namespace {

/// The least-squares solution gives each key a number, which should be 0 (closed) or 1 (open). The
/// key is decided if kSure standard errors of this number plus kSlack are less than 1/2. The number
/// must then be within kNear standard errors plus kSlack of 0 or 1.
constexpr double kSure = 7, kNear = 6, kSlack = 0.05;

/// The normal equations gram x = right. The solution x has a number for each key, about 1 for open
/// and 0 for closed ones. `right` is 0 unless there are sinks or an lse.
struct Normal {
  Normal(const RowProblem& problem) : n(problem.keys()), gram(as_size(n * n)), right(as_size(n)) {
    for (std::size_t h = 0; h < problem.heads().size(); ++h) add(problem, h);
    for (Index j = 0; j < n; ++j) {
      for (Index k = 0; k < j; ++k) gram[as_size(k * n + j)] = gram[as_size(j * n + k)];
    }
  }

  void add(const RowProblem& problem, std::size_t h) {
    const RowProblem::HeadTerms& t = problem.terms(h);
    const SolveCall& call = problem.call();
    const Head head = problem.heads()[h];
    std::vector<double> made;
    const double* products = call.value_products(head);
    if (!products) {
      made.resize(as_size(n * n));
      multiply_transposed(call.values(head), call.values(head), n, call.dim(head), n, made.data());
      products = made.data();
    }
    std::vector<double> u(t.weights);
    for (double& x : u) x /= std::sqrt(t.variance);
    for (Index j = 0; j < n; ++j) {
      const double uj = u[as_size(j)], less = t.out_square - t.with_out[as_size(j)];
      const double factor = t.factors[as_size(j)];
      double* const row = &gram[as_size(j * n)];
      for (Index k = 0; k <= j; ++k) {
        const double product = factor * t.factors[as_size(k)] * products[j * n + k];
        row[k] += uj * u[as_size(k)] * (product + less - t.with_out[as_size(k)]);
      }
      right[as_size(j)] -= uj * t.sink / std::sqrt(t.variance) * less;
    }
    fixed_scale = fixed_scale || t.sink > 0;
    if (const auto lse = call.lse(head, problem.row())) add_lse(call, t, *lse);
  }

  void add_lse(const SolveCall& call, const RowProblem::HeadTerms& t, double lse) {
    const double sum = std::exp(lse - t.log_sum);
    if (!std::isfinite(sum) || sum <= 0) return;
    const double variance = call.lse_variance(lse) * sum * sum;
    for (Index j = 0; j < n; ++j) {
      const double w = t.weights[as_size(j)] / variance;
      for (Index k = 0; k <= j; ++k) gram[as_size(j * n + k)] += w * t.weights[as_size(k)];
      right[as_size(j)] += w * (sum - t.sink);
    }
    fixed_scale = true;
  }

  Index n;
  std::vector<double> gram, right;
  bool fixed_scale = false;  // whether sinks or an lse determine the scale of x
};

/// Solves the equations repeatedly. Each time, it fixes the keys whose numbers are 0 or 1 beyond
/// doubt, and then solves for the other keys.
class Fixing {
 public:
  Fixing(const Normal& normal, double noise)
      : normal_(normal), noise_(noise), open_(as_size(normal.n)) {
    for (Index j = 0; j < normal.n; ++j) free_.push_back(j);
  }

  void fix(Index key, bool open) {
    open_[as_size(key)] = open;
    std::erase(free_, key);
  }

  /// Returns false if the number of a key is precise but neither 0 nor 1, or if the equations have
  /// no solution.
  bool run() {
    const StopPoll poll;
    while (!free_.empty()) {
      poll();
      const std::size_t before = free_.size();
      if (!step()) return false;
      if (free_.size() == before) break;
    }
    return true;
  }
  const OpenKeys& open() const { return open_; }
  const std::vector<Index>& free() const { return free_; }

 private:
  bool step() {
    const Index m = std::ssize(free_), n = normal_.n;
    std::vector<double> part(as_size(m * m)), x(as_size(m)), unit(as_size(m));
    for (Index a = 0; a < m; ++a) {
      const double diagonal = normal_.gram[as_size(free_[as_size(a)] * (n + 1))];
      unit[as_size(a)] = diagonal > 0 ? 1 / std::sqrt(diagonal) : 0;
    }
    for (Index a = 0; a < m; ++a) {
      const double* const row = &normal_.gram[as_size(free_[as_size(a)] * n)];
      for (Index b = 0; b < m; ++b) {
        part[as_size(a * m + b)] = unit[as_size(a)] * unit[as_size(b)] * row[free_[as_size(b)]];
      }
      part[as_size(a * (m + 1))] = unit[as_size(a)] > 0 ? 1 + 1e-12 : 1;
      double sum = normal_.right[as_size(free_[as_size(a)])];
      for (Index k = 0; k < n; ++k) {
        if (open_[as_size(k)]) sum -= row[k];
      }
      x[as_size(a)] = unit[as_size(a)] * sum;
    }
    const auto factor = Cholesky::of(part, m);
    if (!factor) return false;
    factor->solve(x);
    const double most = most_inverse(*factor, m);
    const bool all_sure = std::ranges::all_of(unit, [&](double u) {
      return u > 0 && told(0, std::sqrt(noise_ * most) * u) != Told::kUnsure;
    });
    return take(x, all_sure ? std::vector<double>(as_size(m), most) : factor->inverse_diagonal(),
                unit);
  }

  /// Estimates an upper bound for the diagonal of the inverse matrix: twice the largest eigenvalue
  /// of the inverse, by power iteration.
  static double most_inverse(const Cholesky& factor, Index m) {
    constexpr int kIterations = 12;
    std::vector<double> x(as_size(m));
    for (Index a = 0; a < m; ++a) x[as_size(a)] = std::cos(static_cast<double>(a * a));
    double length = std::sqrt(solving::dot(x.data(), x.data(), m));
    for (int n = 0; n < kIterations; ++n) {
      for (double& y : x) y /= length;
      factor.solve(x);
      length = std::sqrt(solving::dot(x.data(), x.data(), m));
    }
    return 2 * length;
  }

  bool take(const std::vector<double>& x, const std::vector<double>& inverse,
            const std::vector<double>& unit) {
    std::vector<Index> left;
    for (std::size_t a = 0; a < free_.size(); ++a) {
      const double number = x[a] * unit[a];
      const double error = unit[a] > 0 ? std::sqrt(noise_ * inverse[a]) * unit[a] : 1;
      const Told what = told(number, error);
      if (what == Told::kWrong) return false;
      if (what == Told::kUnsure) left.push_back(free_[a]);
      open_[as_size(free_[a])] = what == Told::kOpen;
    }
    free_ = std::move(left);
    return true;
  }

  const Normal& normal_;
  double noise_;
  OpenKeys open_;
  std::vector<Index> free_;
};

/// How much each key can contribute to the equations: its squared weight times its squared value,
/// in units of rounding, summed over the heads.
std::vector<double> sizes(const RowProblem& problem) {
  std::vector<double> out(as_size(problem.keys()));
  for (std::size_t h = 0; h < problem.heads().size(); ++h) {
    const RowProblem::HeadTerms& t = problem.terms(h);
    for (std::size_t j = 0; j < out.size(); ++j) {
      out[j] += square(t.weights[j]) * t.squares[j] / t.variance;
    }
  }
  return out;
}

/// Returns the key that is most surely open if the equations determine only the ratios of the
/// numbers. The solution is then the eigenvector of the least eigenvalue, found by inverse
/// iteration, and the key is the one with the largest element. `size`: the results of sizes().
std::optional<Index> surest(const Normal& normal, const std::vector<double>& size) {
  constexpr int kIterations = 4;
  constexpr double kShift = 1e-11;
  const Index n = normal.n;
  std::vector<double> matrix(normal.gram), x(as_size(n), 1), unit(as_size(n));
  for (Index j = 0; j < n; ++j) {
    unit[as_size(j)] = size[as_size(j)] > 0 ? 1 / std::sqrt(size[as_size(j)]) : 0;
  }
  for (Index j = 0; j < n; ++j) {
    for (Index k = 0; k < n; ++k) matrix[as_size(j * n + k)] *= unit[as_size(j)] * unit[as_size(k)];
    matrix[as_size(j * (n + 1))] += unit[as_size(j)] > 0 ? kShift : 1;
  }
  const auto factor = Cholesky::of(matrix, n);
  if (!factor) return {};
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    factor->solve(x);
    const double length = std::sqrt(solving::dot(x.data(), x.data(), n));
    for (double& y : x) y /= length;
  }
  const auto less = [](double a, double b) { return std::abs(a) < std::abs(b); };
  return std::ranges::max_element(x, less) - x.begin();
}

/// Returns keys that are very likely open. Fixing one of them as open sets the scale of the
/// solution. The first is the key of largest size among those that the problem's base (its first
/// guess) opens; the second is surest().
std::vector<Index> pivots(const RowProblem& problem, const Normal& normal) {
  const std::vector<double> size = sizes(problem);
  std::vector<Index> out;
  for (Index j = 0; j < problem.keys(); ++j) {
    if (!problem.base()[as_size(j)]) continue;
    if (out.empty() || size[as_size(j)] > size[as_size(out[0])]) out = {j};
  }
  if (const auto key = surest(normal, size)) out.push_back(*key);
  return out;
}

LeastSquares found(const RowProblem& problem, const Fixing& fixing) {
  LeastSquares out{fixing.open(), fixing.free()};
  for (const Index j : out.uncertain) out.open[as_size(j)] = problem.base()[as_size(j)];
  return out;
}

}  // namespace

Told told(double number, double error, double rest) {
  if (kSure * error + rest + kSlack >= 0.5) return Told::kUnsure;
  const bool open = number > 0.5;
  const bool is_near = std::abs(number - (open ? 1 : 0)) <= kNear * error + rest + kSlack;
  return is_near ? (open ? Told::kOpen : Told::kClosed) : Told::kWrong;
}

std::optional<LeastSquares> solve_all(const RowProblem& problem, double noise) {
  if (problem.equations() + 1 < problem.keys()) return {};
  const Normal normal(problem);
  if (normal.fixed_scale) {
    Fixing fixing(normal, noise);
    if (!fixing.run()) return {};
    return found(problem, fixing);
  }
  for (const Index pivot : pivots(problem, normal)) {
    Fixing fixing(normal, noise);
    fixing.fix(pivot, true);
    if (fixing.run() && std::ssize(fixing.free()) < problem.keys() - 1) {
      return found(problem, fixing);
    }
  }
  return {};
}

}  // namespace maskctl::attention::solving
