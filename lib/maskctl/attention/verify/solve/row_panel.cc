#include "maskctl/attention/verify/solve/row_panel.h"

#include <algorithm>
#include <cmath>

#include "maskctl/attention/verify/rounding.h"
#include "maskctl/attention/verify/solve/dense.h"
#include "maskctl/base/work_scope.h"

namespace maskctl::attention::solving {
namespace {

constexpr int kMostSteps = 96, kCheck = 8, kMostRounds = 4;
/// The part of a number that steps may leave.
constexpr double kLeft = 0.02;

/// The equations of all rows: for each, gram x = right.
class Panel {
 public:
  Panel(const SolveCall& call, std::span<const Head> heads, Range rows, const std::uint8_t* open)
      : call_(call),
        rows_(rows),
        keys_(call.dims().keys),
        dim_(call.dims().value_dim),
        right_(cells()),
        diagonal_(cells()),
        weights_(cells()),
        scale_(cells()),
        products_(cells()),
        vectors_(as_size(rows.size() * dim_)) {
    for (const Head head : heads) add(head, open);
    for (std::size_t n = 0; n < cells(); ++n) {
      weights_[n] /= static_cast<double>(heads.size());
      scale_[n] = weights_[n] * (open[n] ? 1 : 0.25);
    }
    for (Index r = 0; r < count(); ++r) level(r);
  }

  Index count() const { return rows_.size(); }
  Index keys() const { return keys_; }
  std::size_t cells() const { return as_size(rows_.size() * keys_); }
  std::size_t at(Index row) const { return as_size(row * keys_); }
  const std::vector<double>& right() const { return right_; }
  const std::vector<double>& diagonal() const { return diagonal_; }
  /// False where all solutions times a number are solutions: then scale . x = 1 is one more.
  bool fixed_scale() const { return fixed_scale_; }
  const std::vector<double>& scale() const { return scale_; }
  /// Of each key, the mean over the heads.
  const std::vector<double>& weights() const { return weights_; }

  /// gram x of each row.
  void apply(const std::vector<double>& x, std::vector<double>& out) const {
    std::ranges::fill(out, 0);
    for (const HeadTerms& terms : heads_) apply(terms, x, out);
  }

 private:
  struct HeadTerms {
    Head head;
    std::vector<double> units;  // [rows, Tk]: weights by the standard deviation of the output
    std::vector<double> lse;    // [rows]: what the square of their sum counts; empty without
  };

  /// What the kernel gave, [rows, Dv].
  const double* out(Head head) const { return call_.out(head, rows_.begin).data(); }

  void add(Head head, const std::uint8_t* open) {
    HeadRows weighed = head_rows(call_, head, rows_, open);
    HeadTerms terms{head, std::move(weighed.weights), {}};
    multiply_transposed(out(head), call_.values(head), count(), dim_, keys_, products_.data());
    for (Index r = 0; r < count(); ++r) add_row(weighed, r, open + r * keys_, terms);
    heads_.push_back(std::move(terms));
  }

  void add_row(const HeadRows& weighed, Index r, const std::uint8_t* open, HeadTerms& terms) {
    const std::span<const double> given = call_.out(terms.head, rows_.begin + r);
    const double* const squares = call_.squares(terms.head);
    double* const u = &terms.units[at(r)];
    double size = 0;
    for (Index j = 0; j < keys_; ++j) {
      if (open[j]) size += square(u[j]) * squares[j];
      weights_[at(r) + as_size(j)] += u[j];
    }
    const double variance =
        call_.own_variance(given) + call_.weight_variance() * size / static_cast<double>(dim_);
    const double deviation = std::sqrt(variance), sink = weighed.sinks[as_size(r)] / deviation;
    const double out_square = solving::dot(given.data(), given.data(), dim_);
    for (Index j = 0; j < keys_; ++j) {
      u[j] /= deviation;
      const double along = products_[at(r) + as_size(j)];
      diagonal_[at(r) + as_size(j)] += square(u[j]) * (squares[j] - 2 * along + out_square);
      right_[at(r) + as_size(j)] -= u[j] * sink * (out_square - along);
    }
    fixed_scale_ = fixed_scale_ || sink > 0;
    if (const auto lse = call_.lse(terms.head, rows_.begin + r)) {
      add_lse(weighed, r, *lse, deviation, terms);
    }
  }

  void add_lse(const HeadRows& weighed, Index r, double lse, double deviation, HeadTerms& terms) {
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

  /// The equation of the scale counts as much as four keys.
  void level(Index r) {
    double sum = 0;
    for (std::size_t n = at(r); n < at(r + 1); ++n) {
      if (diagonal_[n] > 0) sum += square(scale_[n]) / diagonal_[n];
    }
    if (sum <= 0) return;
    for (std::size_t n = at(r); n < at(r + 1); ++n) scale_[n] *= 2 / std::sqrt(sum);
  }

  void apply(const HeadTerms& terms, const std::vector<double>& x, std::vector<double>& sum) const {
    const double* const values = call_.values(terms.head);
    const double* const given = out(terms.head);
    std::vector<double> totals(as_size(count()));
    for (Index r = 0; r < count(); ++r) {
      for (std::size_t n = at(r); n < at(r + 1); ++n) {
        products_[n] = x[n] * terms.units[n];
        totals[as_size(r)] += products_[n];
      }
    }
    multiply(products_.data(), values, count(), keys_, dim_, vectors_.data());
    std::vector<double> along(as_size(count()));
    for (Index r = 0; r < count(); ++r) {
      double* const z = &vectors_[as_size(r * dim_)];
      add_scaled(z, -totals[as_size(r)], given + r * dim_, dim_);
      along[as_size(r)] = solving::dot(z, given + r * dim_, dim_);
      if (!terms.lse.empty()) along[as_size(r)] -= terms.lse[as_size(r)] * totals[as_size(r)];
    }
    multiply_transposed(vectors_.data(), values, count(), dim_, keys_, products_.data());
    for (Index r = 0; r < count(); ++r) {
      for (std::size_t n = at(r); n < at(r + 1); ++n) {
        sum[n] += terms.units[n] * (products_[n] - along[as_size(r)]);
      }
    }
  }

  const SolveCall& call_;
  Range rows_;
  Index keys_, dim_;
  std::vector<HeadTerms> heads_;
  std::vector<double> right_, diagonal_, weights_, scale_;
  bool fixed_scale_ = false;
  mutable std::vector<double> products_, vectors_;  // room for apply()
};

/// The least eigenvalue of a symmetric matrix with three diagonals, by counts of signs.
double least_eigenvalue(const std::vector<double>& diagonal, const std::vector<double>& beside) {
  double high = diagonal.empty() ? 0 : *std::ranges::min_element(diagonal), low = 0;
  constexpr int kHalvings = 24;
  for (int n = 0; n < kHalvings; ++n) {
    const double middle = (low + high) / 2;
    double pivot = 1;
    bool below = false;
    for (std::size_t i = 0; i < diagonal.size() && !below; ++i) {
      pivot = diagonal[i] - middle - (i > 0 ? square(beside[i - 1]) / pivot : 0);
      below = pivot <= 0;
    }
    (below ? high : low) = middle;
  }
  return low;
}

/// One row on its way: keys are fixed one after another.
struct Row {
  bool active = true;  // steps go on
  bool failed = false;
  OpenKeys open;
  std::vector<std::uint8_t> free;
  Index fixed = 0;
  double left = 0;   // the square of the residual
  double least = 0;  // eigenvalue
  double step = 0, turn = 0;
  std::vector<double> diagonal, beside;  // the matrix of the steps

  void restart() {
    step = 0, turn = 0, least = 0;
    diagonal.clear(), beside.clear();
  }
};

/// Conjugate gradients of all rows, in units in which each key weighs as much as another.
class Steps {
 public:
  Steps(const Panel& panel, double noise, const std::uint8_t* supposed,
        const std::vector<bool>& wanted)
      : panel_(panel),
        noise_(noise),
        supposed_(supposed),
        rows_(as_size(panel.count())),
        units_(panel.cells()),
        y_(panel.cells()),
        residual_(panel.cells()),
        way_(panel.cells()),
        x_(panel.cells()),
        made_(panel.cells()) {
    for (Index r = 0; r < panel.count(); ++r) {
      Row& row = rows_[as_size(r)];
      row.failed = !wanted[as_size(r)];
      row.active = !row.failed;
      row.open.resize(as_size(panel.keys()));
      row.free.assign(as_size(panel.keys()), 1);
    }
  }

  void run() {
    for (int round = 0; round < kMostRounds; ++round) {
      if (std::ranges::none_of(rows_, &Row::active)) return;
      begin(round == 0 && !panel_.fixed_scale());
      descend();
      for (Index r = 0; r < panel_.count(); ++r) {
        Row& row = rows_[as_size(r)];
        const Index before = row.fixed;
        if (!row.failed) take(r);
        // Without an open key nothing says how large the numbers are.
        const bool scaled =
            panel_.fixed_scale() || std::ranges::find(row.open, 1) != row.open.end();
        row.active = !row.failed && row.fixed > before && row.fixed < panel_.keys() && scaled;
      }
    }
  }

  std::vector<std::optional<LeastSquares>> found() const {
    std::vector<std::optional<LeastSquares>> out(rows_.size());
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const Row& row = rows_[r];
      if (row.failed || row.fixed == 0) continue;
      LeastSquares one{row.open, {}};
      for (Index j = 0; j < panel_.keys(); ++j) {
        if (!row.free[as_size(j)]) continue;
        one.uncertain.push_back(j);
        one.open[as_size(j)] = supposed_[panel_.at(static_cast<Index>(r)) + as_size(j)];
      }
      out[r] = std::move(one);
    }
    return out;
  }

 private:
  /// What is known is taken from the right side, and what is supposed is where rows start.
  void begin(bool scaled) {
    scaled_ = scaled;
    for (Index r = 0; r < panel_.count(); ++r) {
      Row& row = rows_[as_size(r)];
      row.restart();
      double along = 0;
      for (Index j = 0; j < panel_.keys(); ++j) {
        const std::size_t n = panel_.at(r) + as_size(j);
        const bool free = row.active && row.free[as_size(j)] && panel_.diagonal()[n] > 0;
        units_[n] = free ? 1 / std::sqrt(panel_.diagonal()[n]) : 0;
        x_[n] = row.free[as_size(j)] ? supposed_[n] : row.open[as_size(j)];
        along += x_[n] * panel_.scale()[n];
      }
      if (scaled && along > 0) {
        for (std::size_t n = panel_.at(r); n < panel_.at(r + 1); ++n) x_[n] /= along;
      }
    }
    for (std::size_t n = 0; n < x_.size(); ++n) y_[n] = units_[n] > 0 ? x_[n] / units_[n] : 0;
    multiply_by_gram();
    for (Index r = 0; r < panel_.count(); ++r) {
      Row& row = rows_[as_size(r)];
      row.left = 0;
      for (std::size_t n = panel_.at(r); n < panel_.at(r + 1); ++n) {
        const double right = panel_.right()[n] + (scaled ? panel_.scale()[n] : 0);
        residual_[n] = units_[n] * (right - made_[n]);
        way_[n] = residual_[n];
        row.left += square(residual_[n]);
      }
    }
  }

  void multiply_by_gram() {
    panel_.apply(x_, made_);
    if (!scaled_) return;
    for (Index r = 0; r < panel_.count(); ++r) {
      const double along =
          solving::dot(&panel_.scale()[panel_.at(r)], &x_[panel_.at(r)], panel_.keys());
      add_scaled(&made_[panel_.at(r)], along, &panel_.scale()[panel_.at(r)], panel_.keys());
    }
  }

  void descend() {
    const StopPoll poll;
    for (int n = 1; n <= kMostSteps; ++n) {
      poll();
      for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = units_[i] * way_[i];
      multiply_by_gram();
      bool any = false;
      for (Index r = 0; r < panel_.count(); ++r) {
        step(r);
        Row& row = rows_[as_size(r)];
        if (row.active && n % kCheck == 0) row.active = !near(r);
        any = any || row.active;
      }
      if (!any) return;
    }
  }

  void step(Index r) {
    Row& row = rows_[as_size(r)];
    if (!row.active) return;
    double along = 0;
    for (std::size_t n = panel_.at(r); n < panel_.at(r + 1); ++n) {
      made_[n] *= units_[n];
      along += way_[n] * made_[n];
    }
    if (!(along > 0) || row.left == 0) {
      row.active = false;
      row.least = least_eigenvalue(row.diagonal, row.beside);
      return;
    }
    const double length = row.left / along, before = row.left;
    row.left = 0;
    for (std::size_t n = panel_.at(r); n < panel_.at(r + 1); ++n) {
      y_[n] += length * way_[n];
      residual_[n] -= length * made_[n];
      row.left += square(residual_[n]);
    }
    const double turn = row.left / before;
    for (std::size_t n = panel_.at(r); n < panel_.at(r + 1); ++n) {
      way_[n] = residual_[n] + turn * way_[n];
    }
    row.diagonal.push_back(1 / length + (row.step > 0 ? row.turn / row.step : 0));
    row.beside.push_back(std::sqrt(turn) / length);
    row.step = length, row.turn = turn;
  }

  /// Whether more steps would change no answer.
  bool near(Index r) {
    Row& row = rows_[as_size(r)];
    row.least = least_eigenvalue(row.diagonal, row.beside) / 2;
    if (row.least <= 0) return false;
    const double rest = std::sqrt(row.left) / (row.least * number_of(r));
    return rest < 0.5 * deviation(r) || rest * largest_unit(r) < kLeft;
  }

  /// The standard error of a number by its unit: rounding moves the sum of all weights.
  double deviation(Index r) const {
    const Row& row = rows_[as_size(r)];
    double sum = 0;
    for (Index j = 0; j < panel_.keys(); ++j) {
      const std::size_t n = panel_.at(r) + as_size(j);
      sum +=
          panel_.weights()[n] * (row.free[as_size(j)] ? y_[n] * units_[n] : row.open[as_size(j)]);
    }
    return std::sqrt(noise_ / row.least) * std::max(1.0, sum / number_of(r));
  }

  double largest_unit(Index r) const {
    return *std::max_element(units_.begin() + static_cast<std::ptrdiff_t>(panel_.at(r)),
                             units_.begin() + static_cast<std::ptrdiff_t>(panel_.at(r + 1)));
  }

  /// What stands for an open key in y times its unit: 1, or what the equation of the scale makes of
  /// it.
  double number_of(Index r) const {
    if (!scaled_) return 1;
    double squares = 0, sums = 0;
    for (std::size_t n = panel_.at(r); n < panel_.at(r + 1); ++n) {
      if (units_[n] == 0) continue;
      squares += square(y_[n]), sums += y_[n] / units_[n];
    }
    return sums > 0 ? squares / sums : 0;
  }

  void take(Index r) {
    Row& row = rows_[as_size(r)];
    const double number = number_of(r);
    if (row.diagonal.empty() || row.least <= 0 || number <= 0) return;
    const double rest = std::sqrt(row.left) / (row.least * number), error = deviation(r);
    for (Index j = 0; j < panel_.keys(); ++j) {
      const std::size_t n = panel_.at(r) + as_size(j);
      if (!row.free[as_size(j)] || units_[n] == 0) continue;
      const double unit = units_[n];
      const Told what = told(y_[n] * unit / number, error * unit, rest * unit);
      if (what == Told::kUnsure) continue;
      row.failed = row.failed || what == Told::kWrong;
      row.open[as_size(j)] = what == Told::kOpen;
      row.free[as_size(j)] = 0;
      ++row.fixed;
    }
  }

  const Panel& panel_;
  double noise_;
  const std::uint8_t* supposed_;
  std::vector<Row> rows_;
  bool scaled_ = false;  // the equation of the scale is among them
  std::vector<double> units_, y_, residual_, way_, x_, made_;
};

}  // namespace

bool has_equations(const SolveCall& call, std::span<const Head> heads) {
  return std::ssize(heads) * call.dims().value_dim + 1 >= call.dims().keys;
}

std::vector<std::optional<LeastSquares>> solve_rows(const SolveCall& call,
                                                    std::span<const Head> heads, Range rows,
                                                    const std::uint8_t* open,
                                                    const std::vector<bool>& wanted, double noise) {
  const Panel panel(call, heads, rows, open);
  Steps steps(panel, noise, open, wanted);
  steps.run();
  return steps.found();
}

}  // namespace maskctl::attention::solving
