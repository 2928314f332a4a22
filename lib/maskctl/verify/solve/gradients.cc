#include "maskctl/verify/solve/gradients.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/to_double.h"
#include "maskctl/base/error.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/verify/key_side.h"
#include "maskctl/verify/rounding.h"
#include "maskctl/verify/solve/dense.h"

namespace maskctl::attention::solving {

void untold(const std::string& why) {
  throw Error(Errc::kInvalidArgument, "the mask cannot be told: " + why);
}

FloatSteps FloatSteps::of(const Tensor& tensor) {
  const DType precision = precision_of(tensor);
  return {std::max(epsilon(precision), epsilon(DType::kFloat32)), least_number(precision)};
}

double FloatSteps::variance(double x) const {
  int exponent = 0;
  std::frexp(x, &exponent);  // |x| is m times 2^exponent, with m in [1/2, 1)
  const double unit = x == 0 ? 0 : std::max(step * std::ldexp(0.5, exponent), least);
  return unit * unit / 12;
}

std::vector<double> by_heads(const Tensor& tensor, bool heads_first) {
  const std::vector<double> all = to_double(TensorView(tensor));
  if (heads_first) return all;
  const Index batch = tensor.extent(0), tokens = tensor.extent(1), heads = tensor.extent(2);
  const Index dim = tensor.extent(3);
  std::vector<double> out(all.size());
  for (Index n = 0; n < batch * tokens * heads; ++n) {
    const Index h = n % heads, t = n / heads % tokens, b = n / (heads * tokens);
    std::copy_n(all.data() + n * dim, dim, out.data() + ((b * heads + h) * tokens + t) * dim);
  }
  return out;
}

std::vector<double> squares_of(const std::vector<double>& vectors, Index dim) {
  std::vector<double> out(vectors.size() / as_size(std::max<Index>(dim, 1)));
  for (std::size_t n = 0; n < out.size(); ++n) {
    const double* const vector = &vectors[n * as_size(dim)];
    out[n] = solving::dot(vector, vector, dim);
  }
  return out;
}

QueryGradients::QueryGradients(const VerifyRequest& request, const NamedResults& results,
                               const Dims& d, const std::vector<double>& keys)
    : none(as_size(d.dim)) {
  const auto& arrays = request.arguments.arrays;
  const auto cotangent = arrays.find("cotangent_out");
  if (cotangent == arrays.end()) untold("gradients of what? give cotangent_out");
  const Tensor& gradient = results.at("grad_query");
  const bool heads_first = request.operation->heads_first();
  const Layout layout = heads_first ? Layout::kBhtd : Layout::kBthd;
  check_shape("grad_query", gradient, arranged(layout, d.batch, d.queries, d.q_heads, d.dim));
  check_shape("cotangent_out", cotangent->second,
              arranged(layout, d.batch, d.queries, d.q_heads, d.value_dim));
  given = by_heads(gradient, heads_first);
  d_out = by_heads(cotangent->second, heads_first);
  if (const auto lse = arrays.find("cotangent_lse"); lse != arrays.end()) {
    check_shape("cotangent_lse", lse->second, std::array{d.batch, d.q_heads, d.queries});
    d_lse = to_double(TensorView(lse->second));
  }
  key_squares = squares_of(keys, d.dim);
  steps = FloatSteps::of(gradient);
}

}  // namespace maskctl::attention::solving
