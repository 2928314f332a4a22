#include "maskctl/verify/solve/together.h"

#include <algorithm>
#include <cmath>

#include "maskctl/base/work_scope.h"
#include "maskctl/verify/rounding.h"
#include "maskctl/verify/solve/dense.h"
#include "maskctl/verify/solve/row_panel.h"

namespace maskctl::attention::solving {
namespace {

constexpr int kMostSteps = 96, kCheck = 8, kMostRounds = 4;
/// When the conjugate gradient steps end, how far a key's number may still be from the value that
/// it converges to.
constexpr double kLeft = 0.02;

/// The least eigenvalue of a symmetric, positive semidefinite, tridiagonal matrix, by bisection
/// with sign counts (Sturm). `beside`: the elements next to the diagonal.
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

/// What is known of one row while its keys are fixed as open or closed, one after another.
struct Row {
  bool active = true;  // whether the row needs more conjugate gradient steps
  bool failed = false;
  OpenKeys open;
  std::vector<std::uint8_t> free;
  Index fixed = 0;
  double left = 0;   // squared length of the residual
  double least = 0;  // the matrix's least eigenvalue, estimated from the steps
  double step = 0, turn = 0;
  /// the tridiagonal matrix that is computed from the steps
  std::vector<double> diagonal, beside;

  void restart() {
    step = 0, turn = 0, least = 0;
    diagonal.clear(), beside.clear();
  }
};

/// Solves the equations of all rows at once by conjugate gradients. The number of each key is
/// divided by a unit, so that the diagonal of each row's matrix is 1.
class Steps {
 public:
  Steps(const RowPanel& panel, double noise, const std::uint8_t* supposed,
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
        // Without sinks, an lse or an open key, the equations do not determine the scale of the
        // numbers.
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
  /// Starts conjugate gradients from the supposed keys; keys that are fixed already are subtracted
  /// from the right side. `scaled`: whether scale . x = 1 is one more equation.
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

  /// Whether the steps may end, since more of them would not change which keys are decided: what is
  /// left of the error is small compared with the standard error, or at most kLeft.
  bool near(Index r) {
    Row& row = rows_[as_size(r)];
    row.least = least_eigenvalue(row.diagonal, row.beside) / 2;
    if (row.least <= 0) return false;
    const double rest = std::sqrt(row.left) / (row.least * number_of(r));
    return rest < 0.5 * deviation(r) || rest * largest_unit(r) < kLeft;
  }

  /// The standard error of a key's number, divided by the key's unit; estimated from the least
  /// eigenvalue. The rounding of the sum of all weights makes it larger.
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

  /// The number that an open key has in the solution. It is 1, unless only the equation scale . x =
  /// 1 sets the scale: then it is fitted to the numbers of all keys.
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

  const RowPanel& panel_;
  double noise_;
  const std::uint8_t* supposed_;
  std::vector<Row> rows_;
  bool scaled_ = false;  // whether scale . x = 1 is one of the equations
  std::vector<double> units_, y_, residual_, way_, x_, made_;
};

}  // namespace

bool has_equations(const SolveCall& call, std::span<const Head> heads) {
  Index count = 1;
  for (const Head head : heads) count += call.dim(head);
  return count >= call.dims().keys;
}

std::vector<std::optional<LeastSquares>> solve_rows(const SolveCall& call,
                                                    std::span<const Head> heads, Range rows,
                                                    const std::uint8_t* open,
                                                    const std::vector<bool>& wanted, double noise) {
  const RowPanel panel(call, heads, rows, open);
  Steps steps(panel, noise, open, wanted);
  steps.run();
  return steps.found();
}

}  // namespace maskctl::attention::solving
