// Matrix products in float64 and plain loops.
#include "maskctl/attention/reference/kernels.h"

namespace maskctl::attention {

void reference::matrix_product(const MatrixProblem& p, const MutableTensorView& output,
                               const Context&) {
  float* out = output.as<float>().data();
  for (Index r = 0; r < p.a.rows; ++r) {
    for (Index c = 0; c < p.b.columns; ++c, ++out) {
      double sum = p.accumulate ? static_cast<double>(*out) : 0;
      for (Index k = 0; k < p.a.columns; ++k) {
        sum += static_cast<double>(p.a.at(r, k)) * static_cast<double>(p.b.at(k, c));
      }
      *out = static_cast<float>(sum);
    }
  }
}

}  // namespace maskctl::attention
