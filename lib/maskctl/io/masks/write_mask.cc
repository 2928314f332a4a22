// Writes masks to files and pipes.
#include <fmt/core.h>

#include <algorithm>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/io/masks/element_rows.h"
#include "maskctl/io/masks/mask_axes.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/mask/arrays/bits.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/arrays/elements.h"
#include "maskctl/mask/arrays/nearest.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

constexpr Index kBandBytes = Index{4} << 20;    // bytes of the rows that are written at once
constexpr Index kTaskBytes = Index{256} << 10;  // bytes of the rows that one task makes

std::vector<Index> shape_of(const Mask& mask) {
  return {mask.batch(), mask.heads(), mask.queries(), mask.keys()};
}

/// Produces the array elements of one band of rows after another.
class BandMaker {
 public:
  BandMaker(Index keys, DType dtype, const MaskWriteOptions& options)
      : keys_(keys),
        dtype_(dtype),
        bias_(options.kind == ArrayKind::kBias),
        fill_(options.fill),
        invert_(options.keep_value_is_zero) {
    const auto row = checked_mul(keys, size_bytes(dtype_) + 1);
    if (!row || *row > options.max_bytes) {
      throw Error(Errc::kLimit,
                  fmt::format("a row of {} keys takes more than {} bytes", keys, options.max_bytes),
                  {{Remedy::kRaiseMemoryLimit}, {Remedy::kSliceMask}});
    }
  }

  Index rows_within(Index bytes) const {
    return std::max<Index>(1, bytes / std::max<Index>(1, keys_ * size_bytes(dtype_)));
  }

  /// Produces the elements of the rows q, which are valid until the next call.
  std::span<const std::byte> make(const Plane& plane, Range q) {
    const auto cells = static_cast<std::size_t>(q.size() * keys_);
    cells_.resize(std::max(cells_.size(), cells));
    if (!are_elements()) elements_.resize(cells_.size() * element_size());
    const Index step = rows_within(kTaskBytes);
    parallel_for(ceil_div(q.size(), step), [&](Index task) {
      const Index first = q.begin + task * step;
      make_rows(plane, {first, std::min(first + step, q.end)}, q.begin);
    });
    if (are_elements()) return std::as_bytes(std::span(cells_).first(cells));
    return std::span<const std::byte>(elements_).first(cells * element_size());
  }

 private:
  std::size_t element_size() const { return static_cast<std::size_t>(size_bytes(dtype_)); }
  /// True when elements are bytes 0 and 1, as cells are, and need no conversion.
  bool are_elements() const { return element_size() == 1 && !is_floating(dtype_); }

  void make_rows(const Plane& plane, Range q, Index band_begin) {
    const auto at = static_cast<std::size_t>((q.begin - band_begin) * keys_);
    const std::span cells =
        std::span(cells_).subspan(at, static_cast<std::size_t>(q.size() * keys_));
    dense_rows(plane, q, cells);
    if (invert_) {
      for (std::uint8_t& cell : cells) cell ^= 1;
    }
    if (are_elements()) return;
    const auto to = std::span(elements_).subspan(at * element_size());
    if (bias_) return expand_bias(dtype_, cells, to, fill_);
    expand_elements(dtype_, cells, to);
  }

  Index keys_;
  DType dtype_;
  bool bias_;
  BiasFill fill_;
  bool invert_;
  std::vector<std::uint8_t> cells_;
  std::vector<std::byte> elements_;
};

/// The options of write_mask as those of array_io.h.
WriteOptions write_options(const MaskWriteOptions& options) {
  return {.force = options.force,
          .append = options.append,
          .replace_file = options.replace_file,
          .gzip = options.gzip};
}

/// The extents [B,H,rows,columns] of a kind whose array has them.
std::vector<Index> extents_of(const Mask& mask, const MaskWriteOptions& options) {
  std::vector<Index> out = shape_of(mask);
  if (options.kind != ArrayKind::kBlockmap) return out;
  out[2] = ceil_div(out[2], options.block->q);
  out[3] = ceil_div(out[3], options.block->k);
  return out;
}

/// The number of axes to write. A mask [Q,K] that was read from an array, changed and written back
/// to it stays [Q,K], whoever writes it.
Index rank_at(const std::string& dest, const Mask& mask, const MaskWriteOptions& options) {
  const bool replaces =
      options.force && !options.replace_file && !parse_dest_name(dest).member.empty();
  const auto content = replaces ? dest_content(dest) : std::nullopt;
  if (!content || !content->named) return options.rank;
  for (const Index rank : {2, 3, 4}) {
    if (in_rank(extents_of(mask, options), rank) == content->named->shape) return rank;
  }
  return options.rank;
}

/// Starts to write an array of this dtype and shape.
using Begin = std::function<std::unique_ptr<ArrayWriter>(DType dtype, std::vector<Index> shape)>;

void write_dense(const Begin& begin, const Mask& mask, const MaskWriteOptions& options) {
  const DType dtype =
      options.dtype.value_or(options.kind == ArrayKind::kBias ? DType::kFloat32 : DType::kBool);
  BandMaker maker(mask.keys(), dtype, options);
  const auto writer = begin(dtype, in_rank(shape_of(mask), options.rank));
  const Index planes = mask.cells() == 0 ? 0 : mask.batch() * mask.heads();
  Progress progress(options.progress, planes * mask.queries());
  const Index step = maker.rows_within(kBandBytes);
  for (Index p = 0; p < planes; ++p) {
    const Plane& plane = *mask.plane(p / mask.heads(), p % mask.heads());
    for (Index row = 0; row < mask.queries(); row += step) {
      const Range q{row, std::min(row + step, mask.queries())};
      writer->write(maker.make(plane, q));
      progress.add(q.size());
    }
  }
  writer->commit();
}

void write_bits(const Begin& begin, const Mask& mask, const MaskWriteOptions& options) {
  const auto writer = begin(DType::kUInt8, {bit_bytes(shape_of(mask))});
  Progress progress(options.progress, mask.batch() * mask.heads() * mask.queries());
  BitBands bands(mask);
  for (Index done = 0;; done = bands.rows_done()) {
    const auto bytes = bands.next();
    if (bytes.empty()) break;
    writer->write(bytes);
    progress.add(bands.rows_done() - done);
  }
  writer->commit();
}

/// The values 0, 1 and 2 of a block map in another dtype; as bool, 1 and 2 become true.
Tensor block_values(std::span<const std::uint8_t> values, DType dtype) {
  Tensor bytes(DType::kUInt8, {std::ssize(values)});
  std::ranges::copy(values, bytes.as<std::uint8_t>().begin());
  return astype(bytes, dtype);
}

void write_blockmap(const Begin& begin, const Mask& mask, const MaskWriteOptions& options) {
  const auto [q_size, k_size] = *options.block;
  const DType dtype = options.dtype.value_or(DType::kUInt8);
  const Index rows = ceil_div(mask.queries(), q_size);
  const Index columns = ceil_div(mask.keys(), k_size);
  const auto writer =
      begin(dtype, in_rank({mask.batch(), mask.heads(), rows, columns}, options.rank));
  const Index band = std::max<Index>(1, kBandBytes / std::max<Index>(1, columns));
  const Index part = ceil_div(band, 4 * threads());
  std::vector<std::uint8_t> values(static_cast<std::size_t>(std::min(band, rows) * columns));
  const Index planes = values.empty() ? 0 : mask.batch() * mask.heads();
  Progress progress(options.progress, planes * rows);
  for (Index p = 0; p < planes; ++p) {
    const Plane& plane = *mask.plane(p / mask.heads(), p % mask.heads());
    for (Index first = 0; first < rows; first += band) {
      const Index count = std::min(band, rows - first);
      parallel_for(ceil_div(count, part), [&](Index task) {
        const Range of_task{first + task * part,
                            std::min(first + (task + 1) * part, first + count)};
        blockmap_rows(
            plane, of_task, q_size, k_size,
            std::span(values).subspan(static_cast<std::size_t>(task * part * columns),
                                      static_cast<std::size_t>(of_task.size() * columns)));
      });
      const auto made = std::span(values).first(static_cast<std::size_t>(count * columns));
      if (dtype == DType::kUInt8) {
        writer->write(std::as_bytes(made));
      } else {
        writer->write(block_values(made, dtype).bytes());
      }
      progress.add(count);
    }
  }
  writer->commit();
}

/// True for kinds whose array is [B,H,rows,columns].
bool has_all_axes(ArrayKind kind) {
  return kind == ArrayKind::kDense || kind == ArrayKind::kBias || kind == ArrayKind::kBlockmap;
}

/// Writes a kind whose array is produced part by part. Returns false for other kinds.
bool write_parts(const Begin& begin, const ConvertedMask& converted,
                 const MaskWriteOptions& options) {
  switch (converted.kind) {
    case ArrayKind::kDense:
    case ArrayKind::kBias:
      write_dense(begin, converted.source, options);
      return true;
    case ArrayKind::kBits:
      write_bits(begin, converted.source, options);
      return true;
    case ArrayKind::kBlockmap:
      write_blockmap(begin, converted.source, options);
      return true;
    default:
      return false;
  }
}

/// Writes into a tensor, which must outlive the writer.
class TensorWriter final : public ArrayWriter {
 public:
  explicit TensorWriter(Tensor& out)
      : ArrayWriter({"", out.dtype(), out.shape()}), rest_(out.bytes()) {}

 private:
  void put(std::span<const std::byte> bytes) override {
    std::ranges::copy(bytes, rest_.begin());
    rest_ = rest_.subspan(bytes.size());
  }
  void finish() override {}

  std::span<std::byte> rest_;
};

}  // namespace

std::vector<Index> in_rank(std::vector<Index> shape, Index rank) {
  const bool one_head = shape[1] == 1;
  if (rank <= 2 && one_head && shape[0] == 1) return {shape[2], shape[3]};
  if (rank == 3 && one_head) return {shape[0], shape[2], shape[3]};
  return shape;
}

std::vector<NamedTensor> mask_arrays(ConvertedMask converted, const MaskWriteOptions& options) {
  NamedTensor made{std::string(name(converted.kind)), {}};
  const auto begin = [&](DType dtype, std::vector<Index> shape) {
    const auto elements = checked_product(shape);
    if (!elements || *elements > options.max_bytes / size_bytes(dtype)) {
      throw Error(Errc::kLimit,
                  fmt::format("the array {} of {} exceeds the limit of {} bytes", shape_text(shape),
                              name(dtype), options.max_bytes),
                  {{Remedy::kRaiseMemoryLimit}, {Remedy::kSliceMask}});
    }
    made.tensor = Tensor::unwritten(dtype, std::move(shape));
    return std::make_unique<TensorWriter>(made.tensor);
  };
  std::vector<NamedTensor> out;
  if (write_parts(begin, converted, options)) {
    out.push_back(std::move(made));
    return out;
  }
  out = std::move(converted.arrays);
  std::ranges::move(converted.beside, std::back_inserter(out));
  return out;
}

void write_mask(const std::string& dest, const ConvertedMask& converted,
                const MaskWriteOptions& options) {
  const auto begin = [&](DType dtype, std::vector<Index> shape) {
    return array_writer(dest, dtype, std::move(shape), write_options(options), options.max_bytes);
  };
  MaskWriteOptions how = options;
  if (has_all_axes(converted.kind)) how.rank = rank_at(dest, converted.source, options);
  if (write_parts(begin, converted, how)) return;
  const DestName name = parse_dest_name(dest);
  const bool all = name.is_container() && name.member.empty();
  if (converted.arrays.size() == 1 && !(all && !converted.beside.empty())) {
    return write_array(dest, converted.arrays.front().tensor, write_options(options));
  }
  std::vector<ArrayRef> arrays;
  for (const NamedTensor& array : converted.arrays) arrays.push_back({array.name, &array.tensor});
  if (all) {
    for (const NamedTensor& array : converted.beside) arrays.push_back({array.name, &array.tensor});
  }
  write_arrays(dest, arrays, write_options(options));
}

void write_mask(const std::string& dest, const Mask& mask, const MaskWriteOptions& options) {
  write_mask(dest, convert_mask(mask, options), options);
}

}  // namespace maskctl
