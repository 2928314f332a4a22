#include "maskctl/mask/arrays/array_kinds.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/equal/shared_planes.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

/// The index along each axis of element number `element` of a C-order array.
std::vector<Index> indices_of(std::span<const Index> shape, Index element) {
  std::vector<Index> out(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    out[axis] = element % shape[axis];
    element /= shape[axis];
  }
  return out;
}

/// Sets the flag of each block of 2. Throws Error(kFormat) for a block that is neither 0 nor 2.
template <typename T>
void flag_full(const Tensor& map, std::span<const T> values, std::span<std::uint8_t> flags) {
  std::ranges::transform(values, flags.begin(), [](T value) { return value == 2; });
  const auto odd = std::ranges::find_if(values, [](T value) { return value != 0 && value != 2; });
  if (odd == values.end()) return;
  const std::string at = shape_text(indices_of(map.shape(), odd - values.begin()));
  const auto value = static_cast<Index>(*odd);
  throw Error(
      Errc::kFormat,
      value == 1
          ? fmt::format("block {} is 1 (partial), and a block map does not say which of "
                        "its cells are open; give a bool map if 1 means that all are open",
                        at)
          : fmt::format("block {} is {}; expected 0 (empty), 1 (partial) or 2 (full)", at, value));
}

/// One flag per block: 1 where the block is open.
std::vector<std::uint8_t> open_blocks(const Tensor& map) {
  std::vector<std::uint8_t> flags(static_cast<std::size_t>(map.elements()));
  if (map.dtype() == DType::kBool) {
    std::ranges::transform(map.as<std::uint8_t>(), flags.begin(),
                           [](std::uint8_t byte) { return byte != 0; });
  } else if (map.dtype() == DType::kUInt8) {
    flag_full(map, map.as<std::uint8_t>(), flags);
  } else if (is_integer(map.dtype())) {
    flag_full(map, std::span<const std::int64_t>(as_int64(map, "a block map")), flags);
  } else {
    throw Error(Errc::kInvalidArgument,
                fmt::format("a block map is bool or integers, not {}", name(map.dtype())));
  }
  return flags;
}

Index covered(Index blocks, Index block_size, std::optional<Index> extent) {
  const auto whole = checked_mul(blocks, block_size);
  if (extent) return *extent;
  if (whole) return *whole;
  throw Error(Errc::kShape, fmt::format("{} blocks of {} are too many", blocks, block_size));
}

/// How many tokens at each end of a row of position ids are padding: neighbours with equal
/// positions above 0, on the left only if a lower position follows. (Positions of tokens would
/// increase.) A single token is padding if its position is 1, with which transformers fills
/// padding.
struct PaddedEnds {
  Index left = 0, right = 0;
};
PaddedEnds padded_ends(std::span<const std::int64_t> row) {
  PaddedEnds out;
  const Index length = std::ssize(row);
  if (length < 2) return out;
  const auto is_padding = [](std::int64_t position, Index tokens) {
    return position > 0 && (tokens > 1 || (tokens == 1 && position == 1));
  };
  const std::int64_t first = row.front(), last = row.back();
  const auto other = std::ranges::find_if(row, [first](auto at) { return at != first; });
  const Index same = other - row.begin();
  if ((other == row.end() || *other < first) && is_padding(first, same)) out.left = same;
  if (out.left == length) return out;
  Index begin = length - 1;
  while (begin > 0 && row[as_size(begin - 1)] == last) --begin;
  const bool goes_on = begin > 0 && row[as_size(begin - 1)] + 1 == last;
  if (goes_on && last != 1) return out;  // an image's tokens may share the last position
  const Index tokens = length - begin - (goes_on ? 1 : 0);
  if (is_padding(last, tokens)) out.right = tokens;
  return out;
}

}  // namespace

Tensor documents_from_positions(const Tensor& positions) {
  if (positions.rank() != 1 && positions.rank() != 2) {
    throw Error(Errc::kShape, fmt::format("position ids have the shape (S,) or (B, S), not {}",
                                          shape_text(positions.shape())));
  }
  const auto values = as_int64(positions, "position ids");
  const Index length = positions.extent(positions.rank() - 1);
  Tensor out(DType::kInt32, {positions.rank() == 1 ? 1 : positions.extent(0), length});
  const auto ids = out.as<std::int32_t>();
  for (Index begin = 0; begin < std::ssize(values); begin += length) {
    const auto row = std::span(values).subspan(as_size(begin), as_size(length));
    const PaddedEnds padded = padded_ends(row);
    std::int32_t document = -1;
    bool in_document = false;
    for (Index i = 0; i < length; ++i) {
      const std::int64_t at = row[as_size(i)];
      const bool is_padding = at < 0 || i < padded.left || i >= length - padded.right;
      const bool continues = in_document && at == row[as_size(i - 1)] + 1;
      if (!is_padding && !continues) ++document;
      in_document = !is_padding;
      ids[as_size(begin + i)] = is_padding ? -1 : document;
    }
  }
  return out;
}

Mask mask_from_blockmap(const Tensor& map, Index q_size, Index k_size, std::optional<Index> queries,
                        std::optional<Index> keys) {
  if (q_size < 1 || k_size < 1) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("blocks of {} x {}: expected sizes of at least 1", q_size, k_size));
  }
  if (map.rank() < 2 || map.rank() > 4) {
    throw Error(Errc::kShape,
                fmt::format("a block map has the shape (Tq, Tk), (B, Tq, Tk) or (B, H, Tq, Tk), "
                            "not {}",
                            shape_text(map.shape())));
  }
  const std::vector<Index> shape = dense_shape(map.shape());
  check_empty_extents(std::span(shape).first(2), map.elements());
  const Index q_extent = covered(shape[2], q_size, queries);
  const Index k_extent = covered(shape[3], k_size, keys);
  if (map.elements() == 0 && ceil_div(q_extent, q_size) == shape[2] &&
      ceil_div(k_extent, k_size) == shape[3]) {
    return Mask::make(shape[0], shape[1], q_extent, k_extent,
                      [plane = empty_plane(q_extent, k_extent)](Index, Index) { return plane; });
  }
  const std::vector<std::uint8_t> flags = open_blocks(map);
  const Index blocks = shape[2] * shape[3];
  const Index planes = shape[0] * shape[1];
  const DistinctRows distinct = distinct_rows(std::as_bytes(std::span(flags)), planes);
  std::vector<PlanePtr> made;
  for (const Index plane : distinct.first) {
    const auto part = std::span(flags).subspan(static_cast<std::size_t>(plane * blocks),
                                               static_cast<std::size_t>(blocks));
    made.push_back(block_grid(q_extent, k_extent, q_size, k_size, part, shape[3]));
  }
  return Mask::make(shape[0], shape[1], q_extent, k_extent, [&](Index b, Index h) {
    return made[distinct.which[static_cast<std::size_t>(b * shape[1] + h)]];
  });
}

}  // namespace maskctl
