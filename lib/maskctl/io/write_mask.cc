// Masks to files and pipes.
#include <fmt/core.h>

#include <algorithm>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/io/mask_io.h"
#include "maskctl/io/stream.h"
#include "maskctl/mask/dense.h"
#include "maskctl/mask/elements.h"

namespace maskctl {
namespace {

constexpr Index kBandBytes = Index{4} << 20;    // written at once
constexpr Index kTaskBytes = Index{256} << 10;  // made by one task

std::vector<Index> shape_of(const Mask& mask) {
  return {mask.batch(), mask.heads(), mask.queries(), mask.keys()};
}

/// Makes the elements of bands of rows.
class BandMaker {
 public:
  BandMaker(Index keys, const MaskWriteOptions& options)
      : keys_(keys), dtype_(options.dtype), invert_(options.keep_value_is_zero) {
    const auto row = checked_mul(keys, size_bytes(dtype_) + 1);
    if (!row || *row > options.max_bytes) {
      throw Error(Errc::kLimit, fmt::format("a row of {} keys takes more than {} bytes; raise "
                                            "--max-bytes or slice the mask",
                                            keys, options.max_bytes));
    }
  }

  Index rows_within(Index bytes) const {
    return std::max<Index>(1, bytes / std::max<Index>(1, keys_ * size_bytes(dtype_)));
  }

  /// The rows q; valid until the next call.
  std::span<const std::byte> make(const Plane& plane, Range q) {
    const auto cells = static_cast<std::size_t>(q.size() * keys_);
    cells_.resize(std::max(cells_.size(), cells));
    if (size_bytes(dtype_) > 1) elements_.resize(cells_.size() * element_size());
    const Index step = rows_within(kTaskBytes);
    parallel_for(ceil_div(q.size(), step), [&](Index task) {
      const Index first = q.begin + task * step;
      fill(plane, {first, std::min(first + step, q.end)}, q.begin);
    });
    if (size_bytes(dtype_) == 1) return std::as_bytes(std::span(cells_).first(cells));
    return std::span<const std::byte>(elements_).first(cells * element_size());
  }

 private:
  std::size_t element_size() const { return static_cast<std::size_t>(size_bytes(dtype_)); }

  void fill(const Plane& plane, Range q, Index band_begin) {
    const auto at = static_cast<std::size_t>((q.begin - band_begin) * keys_);
    const std::span cells =
        std::span(cells_).subspan(at, static_cast<std::size_t>(q.size() * keys_));
    dense_rows(plane, q, cells);
    if (invert_) {
      for (std::uint8_t& cell : cells) cell ^= 1;
    }
    if (element_size() == 1) return;
    expand_elements(dtype_, cells, std::span(elements_).subspan(at * element_size()));
  }

  Index keys_;
  DType dtype_;
  bool invert_;
  std::vector<std::uint8_t> cells_;
  std::vector<std::byte> elements_;
};

using WriteElements = std::function<void(std::span<const std::byte>)>;

void make_dense(const Mask& mask, const MaskWriteOptions& options, const WriteElements& write) {
  BandMaker maker(mask.keys(), options);
  const Index planes = mask.batch() * mask.heads();
  if (mask.cells() == 0) return;
  Progress progress(options.progress, planes * mask.queries());
  const Index step = maker.rows_within(kBandBytes);
  for (Index p = 0; p < planes; ++p) {
    const Plane& plane = *mask.plane(p / mask.heads(), p % mask.heads());
    for (Index row = 0; row < mask.queries(); row += step) {
      const Range q{row, std::min(row + step, mask.queries())};
      write(maker.make(plane, q));
      progress.add(q.size());
    }
  }
}

/// True for "m.npz" and "m.npz:KEY", whose sizes and checksums stand before the data.
bool is_archive(const std::string& dest) {
  return dest.ends_with(".npz") || dest.find(".npz:") != std::string::npos;
}

void write_dense_archive(const std::string& dest, const Mask& mask,
                         const MaskWriteOptions& options) {
  const auto cells = checked_product(shape_of(mask));
  const auto bytes = cells ? checked_mul(*cells, size_bytes(options.dtype)) : std::nullopt;
  if (!bytes || *bytes > options.max_bytes) {
    throw Error(
        Errc::kLimit,
        fmt::format("{}: the dense array {} takes more than {} bytes, and an .npz is written "
                    "as a whole; write an .npy, or --to runs",
                    dest, shape_text(shape_of(mask)), options.max_bytes));
  }
  Tensor array(options.dtype, shape_of(mask));
  auto rest = array.bytes();
  make_dense(mask, options, [&](std::span<const std::byte> part) {
    std::ranges::copy(part, rest.begin());
    rest = rest.subspan(part.size());
  });
  write_array(dest, array, {.force = options.force});
}

void write_runs(const std::string& dest, const Mask& mask, const MaskWriteOptions& options) {
  RunArrays runs = runs_from_mask(mask, options.max_bytes);
  std::vector<NamedTensor> arrays;
  arrays.push_back({"indptr", std::move(runs.indptr)});
  arrays.push_back({"begin", std::move(runs.begin)});
  arrays.push_back({"end", std::move(runs.end)});
  arrays.push_back({"shape", std::move(runs.shape)});
  write_npz(dest, arrays, {.force = options.force});
}

}  // namespace

void write_mask(const std::string& dest, const Mask& mask, const MaskWriteOptions& options) {
  if (options.kind == Kind::kRuns) return write_runs(dest, mask, options);
  if (options.kind != Kind::kDense) {
    throw Error(Errc::kUnsupported,
                fmt::format("a mask is written as dense or runs, not as {}", name(options.kind)));
  }
  if (is_archive(dest)) return write_dense_archive(dest, mask, options);
  NpyWriter writer(dest, options.dtype, shape_of(mask), {.force = options.force});
  make_dense(mask, options, [&](std::span<const std::byte> part) { writer.write(part); });
  writer.commit();
}

}  // namespace maskctl
