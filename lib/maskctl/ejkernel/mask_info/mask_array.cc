// Making, reading and casting mask arrays.
#include "maskctl/ejkernel/mask_info/mask_array.h"

#include <fmt/core.h>

#include <algorithm>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/ejkernel/mask_info/python_error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/arrays/elements.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

constexpr Index kBandCells = Index{1} << 18;  // cells that one task converts to elements

bool lazy_rank(Index rank) { return rank >= 2 && rank <= 4; }

/// The Mask of a dense array. Axes are aligned from the last one on, as in numpy's broadcasting:
/// [B,Q,K] becomes [1,B,Q,K].
Mask aligned_mask(const Tensor& tensor) {
  Mask mask = mask_from_dense(tensor);
  if (tensor.rank() != 3) return mask;
  return Mask::make(1, mask.batch(), mask.queries(), mask.keys(),
                    [&](Index, Index h) { return mask.plane(h, 0); });
}

std::vector<Index> shape_of(const Mask& mask, Index rank) {
  const std::vector<Index> all{mask.batch(), mask.heads(), mask.queries(), mask.keys()};
  if (!lazy_rank(rank) || (rank < 4 && all[0] != 1) || (rank < 3 && all[1] != 1)) {
    throw Error(
        Errc::kShape,
        fmt::format("the mask {} is not an array of rank {}; expected rank 2 to 4 and extents "
                    "of 1 on the axes left out",
                    shape_text(mask), rank));
  }
  return {all.end() - rank, all.end()};
}

/// The cells as 0 and 1 in any dtype. Ranges of rows are expanded in parallel.
Tensor elements_of(const Mask& mask, DType dtype, const std::vector<Index>& shape) {
  Tensor out(dtype, shape);
  if (out.elements() == 0) return out;
  const Index keys = mask.keys(), queries = mask.queries();
  const Index band = std::clamp<Index>(kBandCells / keys, 1, queries);
  const Index bands = ceil_div(queries, band);
  parallel_for(mask.batch() * mask.heads() * bands, [&](Index task) {
    const Index p = task / bands;
    const Index first = task % bands * band;
    const Range q{first, std::min(first + band, queries)};
    std::vector<std::uint8_t> cells(static_cast<std::size_t>(q.size() * keys));
    dense_rows(*mask.plane(p / mask.heads(), p % mask.heads()), q, cells);
    const Index bytes = size_bytes(dtype);
    expand_elements(
        dtype, cells,
        out.bytes().subspan(static_cast<std::size_t>((p * queries + first) * keys * bytes),
                            cells.size() * static_cast<std::size_t>(bytes)));
  });
  return out;
}

}  // namespace

Array make_array(Tensor tensor) { return std::make_shared<const Tensor>(std::move(tensor)); }

MaskArray::MaskArray(Mask mask, Index rank, DType dtype)
    : dtype_(dtype), shape_(shape_of(mask, rank)), content_(std::move(mask)) {}

MaskArray::MaskArray(const Tensor& tensor) : dtype_(tensor.dtype()), shape_(tensor.shape()) {
  if (dtype_ == DType::kBool && lazy_rank(tensor.rank())) {
    content_ = aligned_mask(tensor);
  } else {
    content_ = make_array(tensor);
  }
}

Mask MaskArray::mask() const {
  if (const Mask* mask = std::get_if<Mask>(&content_)) return *mask;
  if (!lazy_rank(rank())) {
    throw PythonError(PythonType::kTypeError,
                      fmt::format("an array of shape {} is not a mask; expected rank 2 to 4",
                                  shape_text(shape_)));
  }
  return aligned_mask(*std::get<Array>(content_));
}

Tensor MaskArray::tensor(Index max_bytes) const {
  if (const Array* array = std::get_if<Array>(&content_)) return **array;
  const auto cells = checked_product(shape_);
  const auto bytes = cells ? checked_mul(*cells, size_bytes(dtype_)) : std::nullopt;
  if (!bytes || *bytes > max_bytes) {
    throw Error(Errc::kLimit,
                fmt::format("the array {} of {} takes more than {} bytes", shape_text(shape_),
                            name(dtype_), max_bytes),
                {{Remedy::kSliceMask}, {Remedy::kRaiseMemoryLimit}});
  }
  const Mask& mask = std::get<Mask>(content_);
  if (dtype_ != DType::kBool) return elements_of(mask, dtype_, shape_);
  Tensor dense = dense_from_mask(mask, max_bytes);
  dense.reshape(shape_);
  return dense;
}

MaskArray MaskArray::astype(DType dtype) const {
  if (dtype == dtype_) return *this;
  if (const Mask* mask = std::get_if<Mask>(&content_)) return MaskArray(*mask, rank(), dtype);
  if (dtype == DType::kBool && lazy_rank(rank())) return MaskArray(mask(), rank(), dtype);
  return MaskArray(maskctl::astype(*std::get<Array>(content_), dtype));
}

}  // namespace maskctl
