#include "maskctl/attention/arrays/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "maskctl/base/error.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {

void refuse(const std::string& message) { throw Error(Errc::kInvalidArgument, message); }
void refuse_shape(const std::string& message) { throw Error(Errc::kShape, message); }

std::string any_of_text(std::initializer_list<Index> extents) {
  const std::set<Index> distinct(extents);
  std::string out;
  for (const Index extent : distinct) {
    const bool last = extent == *distinct.rbegin();
    if (!out.empty()) out += last ? " or " : ", ";
    out += std::to_string(extent);
  }
  return out;
}

void check_rank(const char* what, const Tensor* tensor, Index rank) {
  if (!tensor) refuse(fmt::format("{} is missing", what));
  if (tensor->rank() == rank) return;
  refuse_shape(fmt::format("{} is {}, expected {} axes", what, shape_text(tensor->shape()), rank));
}

void check_shape(const char* what, const Tensor& tensor, std::span<const Index> expected) {
  if (std::ranges::equal(tensor.shape(), expected)) return;
  refuse_shape(
      fmt::format("{} is {}, expected {}", what, shape_text(tensor.shape()), shape_text(expected)));
}

void check_dtypes(std::initializer_list<NamedTensor> tensors) {
  const NamedTensor first = *tensors.begin();
  const DType dtype = first.tensor->dtype();
  if (dtype != DType::kFloat32 && dtype != DType::kFloat16 && dtype != DType::kBFloat16) {
    refuse(fmt::format("{} is {}, expected float32, float16 or bfloat16", first.name, name(dtype)));
  }
  for (const NamedTensor& other : tensors) {
    if (!other.tensor || other.tensor->dtype() == dtype) continue;
    refuse(fmt::format("{} is {} and {} is {}; convert one", first.name, name(dtype), other.name,
                       name(other.tensor->dtype())));
  }
}

void check_float(const char* what, const TensorView& array) {
  if (is_floating(array.dtype())) return;
  refuse(fmt::format("{} is {}, expected a float", what, name(array.dtype())));
}

void check_integer(const char* what, const TensorView& array) {
  if (is_integer(array.dtype())) return;
  refuse(fmt::format("{} is {}, expected integers", what, name(array.dtype())));
}

void check_floats(const char* what, const Tensor* tensor, const std::vector<Index>& shape) {
  if (!tensor) return;
  check_float(what, *tensor);
  check_shape(what, *tensor, shape);
}

std::vector<std::int32_t> integers(const char* what, const Tensor* array,
                                   std::span<const Index> shape) {
  check_rank(what, array, static_cast<Index>(shape.size()));
  std::vector<Index> expected(shape.begin(), shape.end());
  for (std::size_t axis = 0; axis < expected.size(); ++axis) {
    if (expected[axis] < 0) expected[axis] = array->shape()[axis];
  }
  check_shape(what, *array, expected);
  check_integer(what, *array);
  return as_int32(*array, what);
}

Index one_integer(const char* what, const Tensor& array) {
  if (array.elements() != 1 || array.rank() > 1) {
    refuse_shape(fmt::format("{} is {}, expected one integer", what, shape_text(array.shape())));
  }
  return integers(what, &array, array.shape())[0];
}

void check_head_groups(Index q_heads, Index kv_heads, const char* what) {
  if (kv_heads != 0 && q_heads % kv_heads == 0) return;
  refuse_shape(fmt::format("{} {} heads do not divide into groups of {} key heads", q_heads, what,
                           kv_heads));
}

void check_soft_cap(std::optional<double> cap) {
  if (!cap || *cap > 0) return;
  refuse(fmt::format("soft cap {} is not above 0; leave it out for none", *cap));
}

std::vector<Range> packed_sequences(const Tensor& cu_seqlens, Index tokens, const char* what) {
  if (cu_seqlens.rank() != 1 || cu_seqlens.elements() == 0) {
    refuse_shape(
        fmt::format("{} is {}, expected (sequences + 1,)", what, shape_text(cu_seqlens.shape())));
  }
  const std::vector<std::int64_t> ends = as_int64(cu_seqlens, what);
  if (ends[0] != 0) refuse(fmt::format("{} starts with {}, expected 0", what, ends[0]));
  std::vector<Range> sequences;
  for (std::size_t n = 1; n < ends.size(); ++n) {
    if (ends[n] < ends[n - 1]) {
      refuse(fmt::format("{} falls from {} to {} at entry {}, expected ends that never fall", what,
                         ends[n - 1], ends[n], n));
    }
    sequences.push_back({ends[n - 1], ends[n]});
  }
  if (ends.back() > tokens) {
    refuse(fmt::format("{} ends at {}, past the {} tokens", what, ends.back(), tokens));
  }
  return sequences;
}

void check_one_row(Index batch) {
  if (batch == 1) return;
  refuse_shape(fmt::format("cu_seqlens needs a batch of 1, the batch is {}; pack the rows", batch));
}

std::vector<TokenSequence> sequences_in(const Tensor* cu_seqlens, Index batch, Index tokens) {
  std::vector<TokenSequence> sequences;
  for (Index b = 0; !cu_seqlens && b < batch; ++b) sequences.push_back({b, {0, tokens}});
  if (!cu_seqlens) return sequences;
  check_one_row(batch);
  for (const Range range : packed_sequences(*cu_seqlens, tokens)) sequences.push_back({0, range});
  return sequences;
}

}  // namespace maskctl::attention
