#include "maskctl/attention/cuda/softmax/call_parts.h"

#include <algorithm>

#include "maskctl/attention/cuda/arrays.h"

namespace maskctl::attention::cuda {
namespace {

/// x[..., range, ...] along an axis.
template <class Byte>
BasicTensorView<Byte> slice(const BasicTensorView<Byte>& x, Index axis, Range range) {
  std::vector<Index> shape(x.shape().begin(), x.shape().end());
  shape[as_size(axis)] = range.size();
  return {x.data() + range.begin * x.stride(axis) * size_bytes(x.dtype()), x.dtype(), shape,
          x.strides(), x.place()};
}

/// The ranges of a part along the axes that it cuts. Arrays that broadcast along such an axis, with
/// an extent of 1, are not cut.
struct Cut {
  Range batches, q_heads, kv_heads;

  Cut(const Dims& whole, const CallPart& part)
      : batches(part.batches),
        q_heads{part.kv_heads.begin * whole.group(), part.kv_heads.end * whole.group()},
        kv_heads(part.kv_heads) {}

  template <class View>
  View of_heads(const View& x, Index head_axis, Range heads) const {
    const View some = x.extent(0) == 1 ? x : slice(x, 0, batches);
    return x.extent(head_axis) == 1 ? some : slice(some, head_axis, heads);
  }
  /// [B,T,Hq,D].
  template <class View>
  View queries(const View& x) const {
    return of_heads(x, 2, q_heads);
  }
  /// [B,T,Hkv,D].
  template <class View>
  View keys(const View& x) const {
    return of_heads(x, 2, kv_heads);
  }
  /// [B,Hq,...].
  template <class View>
  View rows(const View& x) const {
    return of_heads(x, 1, q_heads);
  }
  /// [n], [Hq,n] or [Hkv,n].
  TensorView sinks(const TensorView& x, const Dims& whole) const {
    if (x.rank() == 1) return x;
    return slice(x, 0, x.extent(0) == whole.q_heads ? q_heads : kv_heads);
  }
};

bool is_cut(Range range, Index extent) { return range.size() < extent; }

/// The bytes of all arrays; 0 if some array cannot be cut.
template <class... Arrays>
Index bytes_to_cut(Arrays... arrays) {
  Index bytes = 0;
  bool may_be_cut = true;
  const auto add = [&](const auto& array) {
    bytes += array.elements() * size_bytes(array.dtype());
    may_be_cut = may_be_cut && array.place().space == MemorySpace::kHost &&
                 array.dtype() != DType::kFloat64 && array.is_contiguous();
  };
  (each_array(arrays,
              [&add](const auto& array) {
                if constexpr (requires { array.has_value(); }) {
                  if (array) add(*array);
                } else {
                  add(array);
                }
              }),
   ...);
  return may_be_cut ? bytes : 0;
}

/// The largest number up to `most` that divides `extent`.
Index divisor(Index extent, Index most) {
  Index n = std::clamp<Index>(most, 1, std::max<Index>(extent, 1));
  while (extent % n != 0) --n;
  return n;
}

std::vector<CallPart> cut(const SoftmaxProblem& problem, Index bytes, Index least_bytes) {
  constexpr Index kMostParts = 16;
  const Dims& d = problem.d;
  const Index most = std::min(kMostParts, bytes / least_bytes);
  // A bias that broadcasts along the cut axis would be copied for each part.
  const auto parts_along = [&](Index extent, Index axis) {
    const bool repeats = problem.bias && problem.bias->extent(axis) == 1;
    return repeats ? 1 : divisor(extent, most);
  };
  const Index by_batch = parts_along(d.batch, 0), by_head = parts_along(d.kv_heads, 1);
  std::vector<CallPart> parts;
  for (Index n = 0; n < std::max(by_batch, by_head); ++n) {
    CallPart part{{0, d.batch}, {0, d.kv_heads}};
    Range& range = by_batch >= by_head ? part.batches : part.kv_heads;
    const Index size = range.end / std::max(by_batch, by_head);
    range = {n * size, (n + 1) * size};
    parts.push_back(part);
  }
  return parts;
}

}  // namespace

std::vector<CallPart> parts_of(const SoftmaxProblem& problem, const SoftmaxOutputs& outputs,
                               Index least_bytes) {
  return cut(problem, bytes_to_cut(problem, outputs), least_bytes);
}

std::vector<CallPart> parts_of(const SoftmaxProblem& problem, const SoftmaxBackwardInputs& inputs,
                               const SoftmaxGradientOutputs& gradients, Index least_bytes) {
  const bool sums = gradients.bias || gradients.sinks;
  return cut(problem, sums ? 0 : bytes_to_cut(problem, inputs, gradients), least_bytes);
}

bool share_mask(const SoftmaxProblem& whole, const CallPart& part) {
  return (whole.mask.batch() == 1 || !is_cut(part.batches, whole.d.batch)) &&
         (whole.mask.heads() == 1 || !is_cut(part.kv_heads, whole.d.kv_heads));
}

SoftmaxProblem part_of(const SoftmaxProblem& whole, const CallPart& part) {
  const Cut cut(whole.d, part);
  SoftmaxProblem p = whole;
  p.d.batch = cut.batches.size(), p.d.q_heads = cut.q_heads.size();
  p.d.kv_heads = cut.kv_heads.size();
  p.query = cut.queries(whole.query);
  p.key = cut.keys(whole.key), p.value = cut.keys(whole.value);
  if (whole.bias) p.bias = cut.rows(*whole.bias);
  if (whole.sinks) p.sinks = cut.sinks(*whole.sinks, whole.d);
  p.options.first_batch += cut.batches.begin, p.options.first_head += cut.q_heads.begin;
  if (!share_mask(whole, part)) {
    const Mask& mask = whole.mask;
    p.mask = Mask::make(
        mask.batch() == 1 ? 1 : cut.batches.size(), mask.heads() == 1 ? 1 : cut.q_heads.size(),
        mask.queries(), mask.keys(),
        [&](Index b, Index h) { return mask.plane(cut.batches.begin + b, cut.q_heads.begin + h); });
  }
  return p;
}

SoftmaxOutputs part_of(const SoftmaxOutputs& arrays, const Dims& whole, const CallPart& part) {
  const Cut cut(whole, part);
  return {cut.queries(arrays.out), cut.rows(arrays.lse)};
}

SoftmaxBackwardInputs part_of(const SoftmaxBackwardInputs& arrays, const Dims& whole,
                              const CallPart& part) {
  const Cut cut(whole, part);
  SoftmaxBackwardInputs in{
      cut.queries(arrays.out), cut.rows(arrays.lse), cut.queries(arrays.d_out), {}};
  if (arrays.d_lse) in.d_lse = cut.rows(*arrays.d_lse);
  return in;
}

SoftmaxGradientOutputs part_of(const SoftmaxGradientOutputs& arrays, const Dims& whole,
                               const CallPart& part) {
  const Cut cut(whole, part);
  return {cut.queries(arrays.query), cut.keys(arrays.key), cut.keys(arrays.value), {}, {}};
}

}  // namespace maskctl::attention::cuda
