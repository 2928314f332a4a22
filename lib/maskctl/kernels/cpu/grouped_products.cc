// Grouped matrix products on the CPU, with their gradients. Operands are packed in tiles; each tile
// of the result is one task, and sums have a fixed order.
#include <algorithm>
#include <vector>

#include "maskctl/attention/cpu/heads.h"
#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/attention/cpu/packed_factors.h"
#include "maskctl/base/threads.h"
#include "maskctl/kernels/cpu/kernels.h"

namespace maskctl::attention {
namespace {

/// How a product is divided: rows and columns of a tile of the result, and the part of the inner
/// dimension that is summed at a time. May still have to be rounded to multiples of kRowGroup and
/// kColumnGroup.
struct ProductTiles {
  Index rows = 384, columns = 128, depth = 256;
};

/// Tile sizes from the hints of the call. Columns are rounded up to a multiple of kColumnGroup; the
/// upper limits keep tiles in the caches.
ProductTiles tiles_of(const GroupedProblem& p) {
  ProductTiles tiles;
  if (p.block_m > 0) tiles.rows = std::min<Index>(p.block_m, 4096);
  if (p.block_n > 0) tiles.columns = round_up(std::min<Index>(p.block_n, 512), kColumnGroup);
  if (p.block_k > 0) tiles.depth = std::min<Index>(p.block_k, 1024);
  return tiles;
}

constexpr Index kRows = 96;  // rows of A at a time; a multiple of kRowGroup

struct Tile {
  Index matrix = 0;
  /// The rows and columns of the result. In grouped products, rows are positions in
  /// RowGroups::order.
  Range rows, columns;
};

void append_tiles(Index matrix, Range rows, Index row_step, Index columns, Index column_step,
                  std::vector<Tile>& tiles) {
  for (Index r = rows.begin; r < rows.end; r += row_step) {
    for (Index c = 0; c < columns; c += column_step) {
      tiles.push_back(
          {matrix, {r, std::min(r + row_step, rows.end)}, {c, std::min(c + column_step, columns)}});
    }
  }
}

/// Copies `columns` of the rows at `positions` to consecutive rows of `out`.
void gather(const RowGroups& groups, const float* src, Index width, Range positions, Range columns,
            float* out, Index stride) {
  for (Index p = positions.begin; p < positions.end; ++p, out += stride) {
    std::copy_n(src + groups.row(p) * width + columns.begin, columns.size(), out);
  }
}

/// out[i,:] += lhs[i,:] @ rhs[g] (or its transpose) for the rows i of each matrix g. lhs [m,depth],
/// out [m,width], rhs [G,depth,width], or [G,width,depth] if transposed.
void multiply_groups(const RowGroups& groups, const float* lhs, Index depth, const float* rhs,
                     bool transposed, Index width, const ProductTiles& by, float* out) {
  std::vector<Tile> tiles;
  for (Index g = 0; g < groups.matrices(); ++g) {
    append_tiles(g, groups.positions[as_size(g)], by.rows, width, by.columns, tiles);
  }
  parallel_for(static_cast<Index>(tiles.size()), [&](Index n) {
    const Tile& tile = tiles[as_size(n)];
    const Index columns = tile.columns.size(), padded = round_up(columns, kColumnGroup);
    const Index stride = transposed ? depth : width;
    const MatrixView right{
        rhs + tile.matrix * depth * width + tile.columns.begin * (transposed ? depth : 1), depth,
        columns, stride, transposed};
    Buffer a(as_size(kRows * by.depth)), b(as_size(by.depth * by.columns));
    Buffer sums(as_size(round_up(tile.rows.size(), kRowGroup) * by.columns));
    for_each_part({0, depth}, by.depth, [&](Range part) {
      pack(right, part, b.data());
      for_each_part(tile.rows, kRows, [&](Range rows) {
        gather(groups, lhs, depth, rows, part, a.data(), by.depth);
        multiply(a.data(), by.depth, round_up(rows.size(), kRowGroup), part.size(), b.data(),
                 padded, sums.data() + (rows.begin - tile.rows.begin) * by.columns, by.columns,
                 true);
      });
    });
    for (Index r = 0; r < tile.rows.size(); ++r) {
      float* const row = out + groups.row(tile.rows.begin + r) * width + tile.columns.begin;
      for (Index c = 0; c < columns; ++c) row[c] += sums[as_size(r * by.columns + c)];
    }
  });
}

/// out[g] = sum over the rows i of matrix g of a[i,:]^T b[i,:]. a [m,height], b [m,width], out
/// [G,height,width].
void multiply_within_groups(const RowGroups& groups, const float* a, Index height, const float* b,
                            Index width, const ProductTiles& by, float* out) {
  std::vector<Tile> tiles;
  for (Index g = 0; g < groups.matrices(); ++g)
    append_tiles(g, {0, height}, kRows, width, by.columns, tiles);
  parallel_for(static_cast<Index>(tiles.size()), [&](Index n) {
    const Tile& tile = tiles[as_size(n)];
    const Index rows = tile.rows.size(), columns = tile.columns.size();
    Buffer gathered_a(as_size(by.depth * kRows)), gathered_b(as_size(by.depth * by.columns));
    Buffer packed(gathered_b.size());
    Buffer sums(as_size(kRows * by.columns));
    for_each_part(groups.positions[as_size(tile.matrix)], by.depth, [&](Range part) {
      gather(groups, a, height, part, tile.rows, gathered_a.data(), kRows);
      gather(groups, b, width, part, tile.columns, gathered_b.data(), by.columns);
      pack_rows(gathered_b.data(), by.columns, part.size(), columns, packed.data());
      const std::vector<Range> depths(as_size(ceil_div(rows, kRowGroup)), {0, part.size()});
      multiply_transposed(gathered_a.data(), kRows, part.size(), packed.data(),
                          round_up(columns, kColumnGroup), depths, sums.data(), by.columns);
    });
    float* const first =
        out + (tile.matrix * height + tile.rows.begin) * width + tile.columns.begin;
    for (Index r = 0; r < rows; ++r) {
      std::copy_n(sums.data() + r * by.columns, columns, first + r * width);
    }
  });
}

}  // namespace

void cpu::grouped_forward(const GroupedProblem& p, const MutableTensorView& output,
                          const Context&) {
  const Floats lhs(p.lhs), rhs(p.rhs);
  const FloatOutput out(output);
  start_product(p.groups, p.existing_out, p.adds_everywhere,
                {reinterpret_cast<std::byte*>(out.data()), DType::kFloat32, output.shape()});
  multiply_groups(p.groups, lhs.data(), p.groups.inner, rhs.data(), p.transpose_rhs,
                  p.groups.columns, tiles_of(p), out.data());
  out.finish();
}

void cpu::grouped_backward(const GroupedProblem& p, const TensorView& d_out_array,
                           const GroupedGradientOutputs& gradients, const Context&) {
  const RowGroups& groups = p.groups;
  const Floats lhs(p.lhs), rhs(p.rhs), d_out(d_out_array);
  const FloatOutput d_lhs(gradients.lhs), d_rhs(gradients.rhs);
  d_lhs.fill(0), d_rhs.fill(0);
  const ProductTiles tiles = tiles_of(p);
  multiply_groups(groups, d_out.data(), groups.columns, rhs.data(), !p.transpose_rhs, groups.inner,
                  tiles, d_lhs.data());
  if (p.transpose_rhs) {
    multiply_within_groups(groups, d_out.data(), groups.columns, lhs.data(), groups.inner, tiles,
                           d_rhs.data());
  } else {
    multiply_within_groups(groups, lhs.data(), groups.inner, d_out.data(), groups.columns, tiles,
                           d_rhs.data());
  }
  d_lhs.finish(), d_rhs.finish();
}

}  // namespace maskctl::attention
