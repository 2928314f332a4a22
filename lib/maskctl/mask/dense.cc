// Dense bool arrays to planes and back.
#include "maskctl/mask/dense.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/elements.h"
#include "maskctl/mask/shared_planes.h"
#include "maskctl/mask/words.h"

namespace maskctl {
namespace {

constexpr Index kBandBytes = Index{1} << 20;  // what one task unpacks

std::size_t size(Index n) { return static_cast<std::size_t>(n); }

void set_runs(std::span<const Run> runs, std::span<std::uint8_t> row) {
  std::ranges::fill(row, std::uint8_t{0});
  for (const Run& run : runs) {
    std::fill(row.begin() + run.begin, row.begin() + run.end, std::uint8_t{1});
  }
}

}  // namespace

std::vector<Index> dense_shape(std::span<const Index> s) {
  switch (s.size()) {
    case 2:
      return {1, 1, s[0], s[1]};
    case 3:
      return {s[0], 1, s[1], s[2]};
    case 4:
      return {s.begin(), s.end()};
    default:
      throw Error(
          Errc::kShape,
          fmt::format("a dense mask has the shape (Q, K), (B, Q, K) or (B, H, Q, K), not {}",
                      shape_text(s)));
  }
}

Mask mask_from_dense(const Tensor& array) {
  const std::vector<Index> shape = dense_shape(array.shape());
  const Index queries = shape[2];
  const Index keys = shape[3];
  check_empty_extents(std::span(shape).first(2), array.elements());
  check_empty_extents(std::span(shape).first(3), array.elements());
  const std::size_t row_bytes = size(keys * size_bytes(array.dtype()));
  const std::size_t width = size(words_for(keys));
  SharedPlanes planes(shape[0], shape[1], queries, keys);
  for (Index p = 0; p < shape[0] * shape[1]; ++p) {
    const auto plane = array.bytes().subspan(size(p * queries) * row_bytes);
    planes.add_stored(false, [&](Range q, std::span<std::uint64_t> words) {
      for (Index row = q.begin; row < q.end; ++row) {
        pack_elements(array.dtype(), plane.subspan(size(row) * row_bytes, row_bytes),
                      words.subspan(size(row - q.begin) * width, width));
      }
    });
  }
  return planes.mask();
}

void dense_rows(const Plane& plane, Range q, std::span<std::uint8_t> out) {
  const std::size_t width = size(plane.keys());
  if (width == 0 || q.empty()) return;
  plane.rows(q, [&](Range equal, const Keys& keys) {
    const auto to = out.subspan(size(equal.begin - q.begin) * width, size(equal.size()) * width);
    if (keys.is_words()) {
      unpack_bytes(keys.words, to.first(width));
    } else {
      set_runs(keys.runs, to.first(width));
    }
    for (std::size_t at = width; at < to.size(); at += width) {
      std::memcpy(to.data() + at, to.data(), width);
    }
  });
}

Tensor dense_from_mask(const Mask& mask, Index max_bytes) {
  const std::vector<Index> shape{mask.batch(), mask.heads(), mask.queries(), mask.keys()};
  const auto bytes = checked_product(shape);
  if (!bytes || *bytes > max_bytes) {
    throw Error(Errc::kLimit,
                fmt::format("the dense array {} takes more than {} bytes; slice the mask, write it "
                            "to a file or raise --max-bytes",
                            shape_text(shape), max_bytes));
  }
  Tensor out(DType::kBool, shape);
  if (*bytes == 0) return out;
  const Index band = std::clamp<Index>(kBandBytes / mask.keys(), 1, mask.queries());
  const Index bands = ceil_div(mask.queries(), band);
  parallel_for(mask.batch() * mask.heads() * bands, [&](Index task) {
    const Index p = task / bands;
    const Index first = task % bands * band;
    const Range q{first, std::min(first + band, mask.queries())};
    dense_rows(*mask.plane(p / mask.heads(), p % mask.heads()), q,
               out.as<std::uint8_t>().subspan(size((p * mask.queries() + first) * mask.keys()),
                                              size(q.size() * mask.keys())));
  });
  return out;
}

}  // namespace maskctl
