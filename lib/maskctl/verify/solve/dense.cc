#include "maskctl/verify/solve/dense.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace maskctl::attention::solving {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstMatrix = Eigen::Map<const Matrix>;
using ConstVector = Eigen::Map<const Eigen::VectorXd>;
using Vector = Eigen::Map<Eigen::VectorXd>;

}  // namespace

void multiply_vector(const double* a, const double* x, Index m, Index n, double* y) {
  Vector(y, m).noalias() = ConstMatrix(a, m, n) * ConstVector(x, n);
}

double dot(const double* a, const double* b, Index n) {
  return ConstVector(a, n).dot(ConstVector(b, n));
}

double add_scaled(double* a, double factor, const double* b, Index n) {
  Vector sum(a, n);
  sum += factor * ConstVector(b, n);
  return sum.squaredNorm();
}

std::optional<Cholesky> Cholesky::of(std::span<const double> matrix, Index n) {
  Cholesky out;
  out.n_ = n;
  out.lower_.assign(matrix.begin(), matrix.end());
  Eigen::Map<Eigen::MatrixXd> map(out.lower_.data(), n, n);
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factors(map);
  if (factors.info() != Eigen::Success) return {};
  return out;
}

void Cholesky::whiten(std::span<double> x) const {
  const Eigen::Map<const Eigen::MatrixXd> lower(lower_.data(), n_, n_);
  if (std::ssize(x) == n_) {
    Vector map(x.data(), n_);
    lower.triangularView<Eigen::Lower>().solveInPlace(map);
  } else if (n_ > 0) {
    Eigen::Map<Eigen::MatrixXd> map(x.data(), n_, std::ssize(x) / n_);
    lower.triangularView<Eigen::Lower>().solveInPlace(map);
  }
}

void Cholesky::solve(std::span<double> x) const {
  whiten(x);
  const Eigen::Map<const Eigen::MatrixXd> lower(lower_.data(), n_, n_);
  Vector map(x.data(), n_);
  lower.transpose().triangularView<Eigen::Upper>().solveInPlace(map);
}

std::vector<double> Cholesky::inverse_diagonal() const {
  const Eigen::Map<const Eigen::MatrixXd> lower(lower_.data(), n_, n_);
  Eigen::MatrixXd inverse = Eigen::MatrixXd::Identity(n_, n_);
  lower.triangularView<Eigen::Lower>().solveInPlace(inverse);
  std::vector<double> out(as_size(n_));
  Vector(out.data(), n_) = inverse.colwise().squaredNorm();
  return out;
}

}  // namespace maskctl::attention::solving
