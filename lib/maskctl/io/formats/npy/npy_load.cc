// Loads a whole .npy into a Tensor: checks limits, handles pipes of unknown length and Fortran
// order.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/io/formats/npy/npy.h"
#include "maskctl/tensor/element_types.h"

namespace maskctl {
namespace {

constexpr Index kTrustedBytes = Index{16}
                                << 20;   // bytes allocated before any data arrives, at most
constexpr Index kSlab = Index{4} << 20;  // elements of Fortran-order data read at once
constexpr Index kTile = 64;  // side of a tile; the tile and its transpose fit in the cache
constexpr Index kBlock = 8;  // side of a block that is transposed in registers

void check_limit(const NpyReader& reader, Index max_bytes) {
  const Index bytes = reader.header().data_bytes;
  if (bytes <= max_bytes) return;
  throw Error(
      Errc::kLimit,
      fmt::format("{}: array {} of {} has {} bytes; the limit is {}", reader.name(),
                  shape_text(reader.header().shape), name(reader.header().dtype), bytes, max_bytes),
      {{Remedy::kRaiseMemoryLimit}});
}

/// True when memory must be allocated only as data arrives: for a pipe, the size is known only from
/// the header, which may lie.
bool grows(const NpyReader& reader) {
  return !reader.seekable() && reader.header().data_bytes > kTrustedBytes;
}

/// Reads all data in storage order. Data from a pipe is collected in steps and the array allocated
/// at the end, so that a header that announces gigabytes costs no more memory than bytes that
/// arrived.
Tensor load_stored(NpyReader& reader) {
  const NpyHeader& header = reader.header();
  const Index element = size_bytes(header.dtype);
  std::vector<std::vector<std::byte>> parts;
  Index done = 0;
  if (grows(reader)) {
    while (done < header.data_bytes) {
      parts.emplace_back(as_size(std::min(kTrustedBytes, header.data_bytes - done)));
      reader.read_rows(done / element, parts.back());
      done += static_cast<Index>(parts.back().size());
    }
  }
  Tensor tensor = Tensor::unwritten(header.dtype, header.shape);
  if (parts.empty()) {
    reader.read_rows(0, tensor.bytes());
    return tensor;
  }
  std::size_t at = 0;
  for (std::vector<std::byte>& part : parts) {
    throw_if_stopped();
    std::memcpy(&tensor.bytes()[at], part.data(), part.size());
    at += part.size();
    part = {};
  }
  return tensor;
}

/// Sets out[i * out_stride + r] = in[r * in_stride + i] for r < rows, i < columns, both at most
/// kBlock. Blocks of kBlock x kBlock are transposed in registers: if strides are powers of two, the
/// cache lines of a block evict each other, so each should be read and written only once.
template <typename T>
void transpose_block(const T* in, Index in_stride, Index rows, T* out, Index out_stride,
                     Index columns) {
  if (rows < kBlock || columns < kBlock) {
    for (Index i = 0; i < columns; ++i) {
      for (Index r = 0; r < rows; ++r) out[i * out_stride + r] = in[r * in_stride + i];
    }
    return;
  }
  T block[kBlock][kBlock];
  for (Index r = 0; r < kBlock; ++r) std::memcpy(block[r], in + r * in_stride, sizeof block[r]);
  for (Index i = 0; i < kBlock; ++i) {
    T line[kBlock];
    for (Index r = 0; r < kBlock; ++r) line[r] = block[r][i];
    std::memcpy(out + i * out_stride, line, sizeof line);
  }
}

/// A Fortran-order array with the axes [first, middle..., last], without axes of extent 1. In the
/// file the first axis has stride 1, and the elements of each index of the last axis are
/// contiguous: they are called a row.
struct Transposition {
  std::vector<Index> shape;  // at least two axes

  Index row() const {
    Index product = 1;
    for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis) product *= shape[axis];
    return product;
  }

  /// The offset in C order of the element (0, m, 0), where m counts positions of the middle axes in
  /// storage order.
  Index middle_offset(Index m) const {
    Index offset = 0;
    std::vector<Index> strides(shape.size(), 1);
    for (std::size_t axis = shape.size() - 1; axis-- > 0;) {
      strides[axis] = strides[axis + 1] * shape[axis + 1];
    }
    for (std::size_t axis = 1; axis + 1 < shape.size(); ++axis) {
      offset += m % shape[axis] * strides[axis];
      m /= shape[axis];
    }
    return offset;
  }

  /// Copies rows [first_row, first_row + rows) of the file to their places in the C-order array.
  template <typename T>
  void scatter(const T* slab, Index first_row, Index rows, T* out) const {
    const Index first = shape.front();
    const Index stride = row();
    const Index middles = stride / first;
    const Index out_stride = middles * shape.back();  // stride of the first axis in C order
    for (Index m = 0; m < middles; ++m) {
      T* target = out + middle_offset(m) + first_row;
      const T* source = slab + m * first;
      for (Index begin = 0; begin < first; begin += kTile) {
        const Index end = std::min(begin + kTile, first);
        for (Index r = 0; r < rows; r += kBlock) {
          for (Index i = begin; i < end; i += kBlock) {
            transpose_block(source + r * stride + i, stride, std::min(kBlock, rows - r),
                            target + i * out_stride + r, out_stride, std::min(kBlock, end - i));
          }
        }
      }
    }
  }
};

template <typename T>
void load_transposed(NpyReader& reader, const Transposition& plan, std::span<T> out) {
  const Index row = plan.row();
  const Index step = std::clamp<Index>(kSlab / (row * static_cast<Index>(sizeof(T))), 1, kTile);
  std::vector<T> slab(as_size(std::min(step, plan.shape.back()) * row));
  for (Index first = 0; first < plan.shape.back(); first += step) {
    const Index rows = std::min(step, plan.shape.back() - first);
    const std::span<T> part = std::span(slab).first(as_size(rows * row));
    reader.read_rows(first * row, std::as_writable_bytes(part));
    plan.scatter(part.data(), first, rows, out.data());
  }
}

template <typename T>
void transpose(const Transposition& plan, std::span<const T> stored, std::span<T> out) {
  const Index row = plan.row();
  for (Index first = 0; first < plan.shape.back(); first += kTile) {
    throw_if_stopped();
    const Index rows = std::min(kTile, plan.shape.back() - first);
    plan.scatter(stored.data() + first * row, first, rows, out.data());
  }
}

Tensor load_fortran(NpyReader& reader) {
  const NpyHeader& header = reader.header();
  Transposition plan;
  for (Index extent : header.shape) {
    if (extent != 1) plan.shape.push_back(extent);
  }
  if (plan.shape.size() < 2 || header.data_bytes == 0) return load_stored(reader);
  if (grows(reader)) {
    const Tensor stored = load_stored(reader);
    Tensor tensor = Tensor::unwritten(header.dtype, header.shape);
    visit_unsigned(size_bytes(header.dtype),
                   [&]<typename T>(T) { transpose<T>(plan, stored.as<T>(), tensor.as<T>()); });
    return tensor;
  }
  Tensor tensor = Tensor::unwritten(header.dtype, header.shape);
  visit_unsigned(size_bytes(header.dtype),
                 [&]<typename T>(T) { load_transposed<T>(reader, plan, tensor.as<T>()); });
  return tensor;
}

}  // namespace

Tensor read_npy(NpyReader& reader, const ReadOptions& options, std::vector<std::string>* notes) {
  check_limit(reader, options.max_bytes);
  Tensor tensor = reader.header().fortran_order ? load_fortran(reader) : load_stored(reader);
  reader.finish(options, notes);
  return tensor;
}

Tensor read_npy(ByteSource source, const ReadOptions& options, std::vector<std::string>* notes) {
  NpyReader reader(std::move(source), options, notes);
  return read_npy(reader, options, notes);
}

}  // namespace maskctl
