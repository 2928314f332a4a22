#include "maskctl/attention/cuda/softmax/call_parts.h"

#include <algorithm>

#include "maskctl/attention/cuda/arrays.h"

namespace maskctl::attention::cuda {
namespace {

/// Returns x[batches], a slice of an array along its first axis.
template <class Byte>
BasicTensorView<Byte> slice(const BasicTensorView<Byte>& x, Range batches) {
  std::vector<Index> shape(x.shape().begin(), x.shape().end());
  shape.front() = batches.size();
  return {x.data() + batches.begin * x.stride(0) * size_bytes(x.dtype()), x.dtype(), shape,
          x.strides(), x.place()};
}

/// Returns how many bytes all arrays have together; 0 if one of them cannot be cut along the batch.
template <class... Arrays>
Index bytes_to_cut(Arrays... arrays) {
  Index bytes = 0;
  bool may_be_cut = true;
  const auto add = [&](const auto& array) {
    bytes += array.elements() * size_bytes(array.dtype());
    may_be_cut = may_be_cut && array.place().space == MemorySpace::kHost &&
                 array.dtype() != DType::kFloat64 && array.is_contiguous();
  };
  const auto add_given = [&add](const auto& array) {
    if constexpr (requires { array.has_value(); }) {
      if (array) add(*array);
    } else {
      add(array);
    }
  };
  (each_array(arrays, add_given), ...);
  return may_be_cut ? bytes : 0;
}

std::vector<Range> cut(const SoftmaxProblem& problem, Index bytes, Index least_bytes) {
  const Index batch = problem.d.batch;
  const bool share_bias = problem.bias && problem.bias->extent(0) == 1;
  Index parts =
      share_bias ? 1 : std::clamp<Index>(bytes / least_bytes, 1, std::max<Index>(batch, 1));
  while (batch % parts != 0) --parts;
  std::vector<Range> out;
  for (Index n = 0; n < parts; ++n) out.push_back({n * batch / parts, (n + 1) * batch / parts});
  return out;
}

}  // namespace

std::vector<Range> parts_of(const SoftmaxProblem& problem, const SoftmaxOutputs& outputs,
                            Index least_bytes) {
  return cut(problem, bytes_to_cut(problem, outputs), least_bytes);
}

std::vector<Range> parts_of(const SoftmaxProblem& problem, const SoftmaxBackwardInputs& inputs,
                            const SoftmaxGradientOutputs& gradients, Index least_bytes) {
  const bool sums = gradients.bias || gradients.sinks;
  return cut(problem, sums ? 0 : bytes_to_cut(problem, inputs, gradients), least_bytes);
}

SoftmaxProblem part_of(const SoftmaxProblem& whole, Range batches) {
  SoftmaxProblem p = whole;
  p.d.batch = batches.size();
  p.query = slice(whole.query, batches);
  p.key = slice(whole.key, batches), p.value = slice(whole.value, batches);
  if (whole.bias) p.bias = slice(*whole.bias, batches);
  p.options.first_batch += batches.begin;
  const Mask& mask = whole.mask;
  if (mask.batch() > 1) {
    p.mask = Mask::make(batches.size(), mask.heads(), mask.queries(), mask.keys(),
                        [&](Index b, Index h) { return mask.plane(batches.begin + b, h); });
  }
  return p;
}

SoftmaxOutputs part_of(const SoftmaxOutputs& whole, Range batches) {
  return {slice(whole.out, batches), slice(whole.lse, batches)};
}

SoftmaxBackwardInputs part_of(const SoftmaxBackwardInputs& whole, Range batches) {
  SoftmaxBackwardInputs in{
      slice(whole.out, batches), slice(whole.lse, batches), slice(whole.d_out, batches), {}};
  if (whole.d_lse) in.d_lse = slice(*whole.d_lse, batches);
  return in;
}

SoftmaxGradientOutputs part_of(const SoftmaxGradientOutputs& whole, Range batches) {
  return {
      slice(whole.query, batches), slice(whole.key, batches), slice(whole.value, batches), {}, {}};
}

}  // namespace maskctl::attention::cuda
