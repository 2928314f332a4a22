// Multiplies matrices of float64, and solves equations with them; private to solve. Matrices are
// dense and stored by rows.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl::attention::solving {

/// c[m,n] = a[m,k] b[k,n].
void multiply(const double* a, const double* b, Index m, Index k, Index n, double* c);
/// c[m,n] = a[m,k] b[n,k]^T.
void multiply_transposed(const double* a, const double* b, Index m, Index k, Index n, double* c);
/// y[m] = a[m,n] x[n].
void multiply_vector(const double* a, const double* x, Index m, Index n, double* y);
/// The dot product a . b.
double dot(const double* a, const double* b, Index n);
/// a += factor * b. Returns the new a . a.
double add_scaled(double* a, double factor, const double* b, Index n);

/// The Cholesky factor L of a symmetric matrix A = L L^T that is positive definite.
class Cholesky {
 public:
  /// Factors the matrix [n,n]; absent if it is not positive definite.
  static std::optional<Cholesky> of(std::span<const double> matrix, Index n);
  /// Replaces x by L^-1 x, whose squared length is x^T A^-1 x. x may hold several vectors, one
  /// after another.
  void whiten(std::span<double> x) const;
  /// Replaces x by A^-1 x.
  void solve(std::span<double> x) const;
  /// The diagonal of A^-1.
  std::vector<double> inverse_diagonal() const;

 private:
  std::vector<double> lower_;
  Index n_ = 0;
};

}  // namespace maskctl::attention::solving
