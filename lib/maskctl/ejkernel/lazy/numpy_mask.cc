// The mask of a dense array, which is indexed like a numpy array.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "maskctl/ejkernel/lazy/lazy_mask.h"
#include "maskctl/ejkernel/lazy/lazy_shape.h"
#include "maskctl/ejkernel/lazy/subscript.h"
#include "maskctl/ejkernel/mask_info/python_error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::lazy {
namespace {

/// The positions that one index selects on its axis, and the shape that it contributes to the
/// result: that of an index array, none for an int, the length of a slice.
struct Selection {
  std::vector<Index> indices, shape;
  bool is_slice = false;
};

Selection whole_axis(Index extent) {
  Selection all{{}, {extent}, true};
  for (Index i = 0; i < extent; ++i) all.indices.push_back(i);
  return all;
}

Selection select(const Slice& slice, Index, Index extent) {
  const Positions at = resolve(slice, extent);
  Selection out{{}, {at.count}, true};
  for (Index i = 0; i < at.count; ++i) out.indices.push_back(at.start + i * at.step);
  return out;
}

Selection select_indices(std::vector<Index> indices, std::vector<Index> shape, Index axis,
                         Index extent) {
  for (Index& index : indices) {
    if (index < -extent || index >= extent) {
      throw PythonError(
          PythonType::kIndexError,
          fmt::format("index {} is out of bounds for axis {} with size {}", index, axis, extent));
    }
    index += index < 0 ? extent : 0;
  }
  return {std::move(indices), std::move(shape), false};
}

Selection select(Index index, Index axis, Index extent) {
  return select_indices({index}, {}, axis, extent);
}

Selection select(const Tensor& array, Index axis, Index extent) {
  if (!is_integer(array.dtype())) {
    throw PythonError(PythonType::kIndexError,
                      fmt::format("index array of {}: expected integers", name(array.dtype())));
  }
  return select_indices(as_int64(array, "the index array"), array.shape(), axis, extent);
}

/// The extent of axis number `from_last` of an index array, counted from the last axis; 1 if the
/// array lacks that axis, as in numpy's broadcasting.
Index extent_at(const Selection& s, std::size_t from_last) {
  return from_last < s.shape.size() ? s.shape[s.shape.size() - 1 - from_last] : 1;
}

std::vector<Index> broadcast_shape(const Selection& a, const Selection& b) {
  std::vector<Index> shape(std::max(a.shape.size(), b.shape.size()));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const Index x = extent_at(a, i), y = extent_at(b, i);
    if (x != y && x != 1 && y != 1) {
      throw PythonError(PythonType::kIndexError,
                        fmt::format("shape mismatch: indexing arrays could not be broadcast "
                                    "together with shapes {} {}",
                                    shape_text(a.shape), shape_text(b.shape)));
    }
    shape[shape.size() - 1 - i] = x == 1 ? y : x;
  }
  return shape;
}

/// The position that `s` selects for element `number` (row-major) of the broadcast shape.
Index index_of(const Selection& s, std::span<const Index> shape, Index number) {
  Index offset = 0, stride = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const Index extent = shape[shape.size() - 1 - i];
    const Index own = extent_at(s, i);
    offset += own == 1 ? 0 : number % extent * stride;
    stride *= own;
    number /= extent;
  }
  return s.indices[static_cast<std::size_t>(offset)];
}

class NumpyMask final : public LazyMask {
 public:
  explicit NumpyMask(Tensor array) : array_(std::move(array)) {
    if (array_.rank() != 2) throw PythonError(PythonType::kValueError, "Expected a 2-dim array");
    if (array_.dtype() != DType::kBool) {
      throw PythonError(PythonType::kValueError, "Mask must be a boolean array");
    }
    // Normalized to 0 and 1, so that equal masks have equal bytes.
    for (std::uint8_t& cell : array_.as<std::uint8_t>()) cell = cell != 0;
  }
  std::vector<Index> shape() const override { return array_.shape(); }
  Attributes attributes() const override { return attributes::NumpyMask{array_}; }

  Tensor at(std::span<const Subscript> index) const override {
    if (index.size() > 2) {
      throw PythonError(PythonType::kIndexError,
                        fmt::format("too many indices for array: array is 2-dimensional, but {} "
                                    "were indexed",
                                    index.size()));
    }
    const Selection q = selected(index, 0), k = selected(index, 1);
    return q.is_slice || k.is_slice ? outer(q, k) : pairs(q, k);
  }

  bool equals(const LazyMask& other) const override {
    const auto* same = dynamic_cast<const NumpyMask*>(&other);
    return same && same->array_.shape() == array_.shape() &&
           std::equal(array_.bytes().begin(), array_.bytes().end(), same->array_.bytes().begin());
  }
  std::size_t hash() const override {
    const std::string_view bytes(reinterpret_cast<const char*>(array_.bytes().data()),
                                 array_.bytes().size());
    return hash_of_shape(hash_of(5, bytes), array_.shape());
  }
  Mask mask() const override { return mask_from_dense(array_); }

 private:
  Selection selected(std::span<const Subscript> index, Index axis) const {
    const Index extent = array_.extent(axis);
    if (static_cast<std::size_t>(axis) >= index.size()) return whole_axis(extent);
    return std::visit([&](const auto& s) { return select(s, axis, extent); },
                      index[static_cast<std::size_t>(axis)]);
  }
  std::uint8_t cell(Index q, Index k) const {
    return array_.as<std::uint8_t>()[static_cast<std::size_t>(q * array_.extent(1) + k)];
  }
  /// Selects every combination of a position on one axis and one on the other.
  Tensor outer(const Selection& q, const Selection& k) const {
    std::vector<Index> shape = q.shape;
    shape.insert(shape.end(), k.shape.begin(), k.shape.end());
    Tensor out(DType::kBool, std::move(shape));
    auto* next = out.as<std::uint8_t>().data();
    for (const Index i : q.indices) {
      for (const Index j : k.indices) *next++ = cell(i, j);
    }
    return out;
  }
  /// With index arrays on both axes: broadcasts them and pairs them element by element.
  Tensor pairs(const Selection& q, const Selection& k) const {
    const std::vector<Index> shape = broadcast_shape(q, k);
    Tensor out(DType::kBool, shape);
    Index number = 0;
    for (std::uint8_t& element : out.as<std::uint8_t>()) {
      element = cell(index_of(q, shape, number), index_of(k, shape, number));
      ++number;
    }
    return out;
  }

  Tensor array_;
};

}  // namespace

MaskPtr numpy_mask(Tensor array) { return std::make_shared<NumpyMask>(std::move(array)); }

}  // namespace maskctl::lazy
