#include "maskctl/attention/cpu/small_gradients.h"

#include <cmath>
#include <limits>
#include <vector>

#include "maskctl/attention/arrays/to_double.h"

namespace maskctl::attention {

void add_mean_gradient(const CpuCall& c, const TensorView& lse_array, const Floats& d_out,
                       std::span<float> dv) {
  if (c.options.empty_row != EmptyRow::kMean || sink_count(c.sink_array) > 0) return;
  const auto lse = lse_array.as<float>();
  for (Index b = 0; b < c.d.batch; ++b) {
    for (Index h = 0; h < c.d.q_heads; ++h) {
      std::vector<double> sum(as_size(c.d.value_dim));
      bool any = false;
      for (Index i = 0; i < c.d.queries; ++i) {
        if (lse[as_size((b * c.d.q_heads + h) * c.d.queries + i)] !=
            -std::numeric_limits<float>::infinity()) {
          continue;
        }
        any = true;
        const float* gradient =
            d_out.data() + ((b * c.d.queries + i) * c.d.q_heads + h) * c.d.value_dim;
        for (std::size_t x = 0; x < sum.size(); ++x) sum[x] += static_cast<double>(gradient[x]);
      }
      for (Index j = 0; any && j < c.d.keys; ++j) {
        const Index first = ((b * c.d.keys + j) * c.d.kv_heads + c.d.kv_head(h)) * c.d.value_dim;
        for (std::size_t x = 0; x < sum.size(); ++x) {
          dv[as_size(first) + x] += static_cast<float>(sum[x] / static_cast<double>(c.d.keys));
        }
      }
    }
  }
}

void write_sink_gradient(const CpuCall& c, const TensorView& lse_array, const Floats& d_out,
                         const Floats& out, const Floats& d_lse, const MutableTensorView& d_sinks) {
  const TensorView& sinks = *c.sink_array;
  std::vector<double> sums(as_size(sinks.elements()));
  const auto lse = lse_array.as<float>();
  for (Index b = 0; b < c.d.batch; ++b) {
    for (Index h = 0; h < c.d.q_heads; ++h) {
      const Index first = first_sink(sinks, c.d, h);
      for (Index i = 0; i < c.d.queries; ++i) {
        const Index row = (b * c.d.q_heads + h) * c.d.queries + i;
        const Index offset = ((b * c.d.queries + i) * c.d.q_heads + h) * c.d.value_dim;
        double delta = d_lse ? -static_cast<double>(d_lse.data()[row]) : 0;
        for (Index x = 0; x < c.d.value_dim; ++x) {
          delta += static_cast<double>(d_out.data()[offset + x]) *
                   static_cast<double>(out.data()[offset + x]);
        }
        for (Index t = 0; t < sink_count(c.sink_array); ++t) {
          const double logit = static_cast<double>(c.sinks.data()[first + t]);
          sums[as_size(first + t)] -=
              std::exp(logit - static_cast<double>(lse[as_size(row)])) * delta;
        }
      }
    }
  }
  store(sums, d_sinks);
}

}  // namespace maskctl::attention
