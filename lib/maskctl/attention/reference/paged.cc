// Paged attention in float64 and plain loops.
#include <cmath>

#include "maskctl/attention/arrays/to_double.h"
#include "maskctl/attention/reference/kernels.h"

namespace maskctl::attention {
namespace {

double element_at(DType dtype, const std::byte* array, Index i) {
  if (dtype == DType::kFloat32)
    return static_cast<double>(reinterpret_cast<const float*>(array)[i]);
  return number_from_bits(dtype, reinterpret_cast<const std::uint16_t*>(array)[i]);
}

/// Attention of one row and head, with the sinks in the denominator of the softmax; adds it to
/// `out`.
void attend(const PagedProblem& c, const PagedSequence& s, Index row, Index h, const double* query,
            std::span<const double> sinks, double* out) {
  const Index head = h / c.group() * c.cache.head_stride;
  const Range keys = c.visible(s, row);
  std::vector<double> logits;
  double top = -reference::kInfinity, sum = 0;
  for (Index p = keys.begin; p < keys.end; ++p) {
    double z = 0;
    for (Index x = 0; x < c.cache.dim; ++x) {
      z += query[x] * element_at(c.cache.dtype, c.cache.keys, c.element(s, p) + head + x);
    }
    z *= c.scale;
    logits.push_back(c.soft_cap ? *c.soft_cap * std::tanh(z / *c.soft_cap) : z);
  }
  for (const double z : logits) top = std::max(top, z);
  for (const double z : sinks) top = std::max(top, z);
  for (const double z : logits) sum += std::exp(z - top);
  for (const double z : sinks) sum += std::exp(z - top);
  for (Index p = keys.begin; p < keys.end; ++p) {
    const double weight = std::exp(logits[as_size(p - keys.begin)] - top) / sum;
    for (Index x = 0; x < c.cache.dim; ++x) {
      out[x] += c.value_scale * weight *
                element_at(c.cache.dtype, c.cache.values, c.element(s, p) + head + x);
    }
  }
}

}  // namespace

void reference::paged(const PagedProblem& c, const MutableTensorView& output, const Context&) {
  const std::vector<double> queries = to_double(c.queries), sinks = to_double(c.sinks);
  std::vector<double> out(queries.size());
  for (const PagedSequence& s : c.sequences) {
    for (Index row = s.rows.begin; row < s.rows.end; ++row) {
      for (Index h = 0; h < c.q_heads; ++h) {
        const Index at = (row * c.q_heads + h) * c.cache.dim;
        attend(c, s, row, h, queries.data() + at, c.sinks_of(sinks.data(), h), out.data() + at);
      }
    }
  }
  // Rounded to f32 first, because the other backends sum in f32.
  const std::vector<float> narrow(out.begin(), out.end());
  convert({reinterpret_cast<const std::byte*>(narrow.data()), DType::kFloat32, output.shape()},
          output);
}

}  // namespace maskctl::attention
