// Matrix products on the CPU. Operands are packed in tiles; each tile of the result is one task,
// and sums have a fixed order.
#include <algorithm>
#include <vector>

#include "maskctl/attention/cpu/heads.h"
#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/attention/cpu/kernels.h"
#include "maskctl/attention/cpu/packed_factors.h"
#include "maskctl/base/threads.h"

namespace maskctl::attention {

namespace {

/// Tile sizes of a product with `rows` rows and an inner dimension of `depth`. The rows are a
/// multiple of kRowGroup.
MatrixTiles chosen(const MatrixTiles& wanted, Index rows, Index depth) {
  return {
      round_up(std::min(wanted.rows > 0 ? wanted.rows : 96, std::max<Index>(rows, 1)), kRowGroup),
      std::min(wanted.depth > 0 ? wanted.depth : 256, std::max<Index>(depth, 1))};
}

/// Copies `rows` of a, restricted to the columns `depth`, to rows of `stride` floats; zeroes the
/// rest of `out`.
void copy_rows(const MatrixView& a, Range rows, Range depth, Index stride, Buffer& out) {
  std::ranges::fill(out, 0.0f);
  for (Index r = 0; r < rows.size(); ++r) {
    for (Index k = 0; k < depth.size(); ++k) {
      out[as_size(r * stride + k)] = a.at(rows.begin + r, depth.begin + k);
    }
  }
}

}  // namespace

void cpu::matrix_product(const MatrixProblem& p, const MutableTensorView& output, const Context&) {
  const auto& [a, b, accumulate, wanted] = p;
  const MatrixTiles tiles = chosen(wanted, a.rows, b.rows);
  float* const out = output.as<float>().data();
  const Index width = round_up(b.columns, kColumnGroup);
  std::vector<Buffer> parts;
  for_each_part({0, b.rows}, tiles.depth, [&](Range depth) {
    pack(b, depth, parts.emplace_back(buffer(depth.size() * width)).data());
  });
  parallel_for(ceil_div(a.rows, tiles.rows), [&](Index task) {
    const Range rows{task * tiles.rows, std::min((task + 1) * tiles.rows, a.rows)};
    Buffer left(as_size(tiles.rows * tiles.depth)), sums(as_size(tiles.rows * width));
    for_each_part({0, b.rows}, tiles.depth, [&](Range depth) {
      copy_rows(a, rows, depth, tiles.depth, left);
      multiply(left.data(), tiles.depth, tiles.rows, depth.size(),
               parts[as_size(depth.begin / tiles.depth)].data(), width, sums.data(), width, true);
    });
    for (Index r = 0; r < rows.size(); ++r) {
      float* to = out + (rows.begin + r) * b.columns;
      for (Index c = 0; c < b.columns; ++c) {
        to[c] = (accumulate ? to[c] : 0) + sums[as_size(r * width + c)];
      }
    }
  });
}

}  // namespace maskctl::attention
