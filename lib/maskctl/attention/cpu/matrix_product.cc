// Products of matrices on the CPU, by packed tiles.
#include <algorithm>
#include <vector>

#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/attention/cpu/kernels.h"
#include "maskctl/base/threads.h"

namespace maskctl::attention {
namespace {

/// The tiles of a product of `rows` rows, `depth` deep; rows divide by kRowGroup.
MatrixTiles chosen(const MatrixTiles& wanted, Index rows, Index depth) {
  return {
      round_up(std::min(wanted.rows > 0 ? wanted.rows : 96, std::max<Index>(rows, 1)), kRowGroup),
      std::min(wanted.depth > 0 ? wanted.depth : 256, std::max<Index>(depth, 1))};
}

/// Rows `depth` of b, as `multiply` takes them.
Buffer packed(const MatrixView& b, Range depth) {
  Buffer out(as_size(depth.size() * round_up(b.columns, kColumnGroup)));
  if (b.transposed) {
    pack_columns(b.data + depth.begin, b.stride, b.columns, depth.size(), out.data());
  } else {
    pack_rows(b.data + depth.begin * b.stride, b.stride, depth.size(), b.columns, out.data());
  }
  return out;
}

/// Rows of a, columns `depth`, as full rows of `stride`, zero past the last.
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
  for (Index k = 0; k < b.rows; k += tiles.depth) {
    parts.push_back(packed(b, {k, std::min(k + tiles.depth, b.rows)}));
  }
  parallel_for(ceil_div(a.rows, tiles.rows), [&](Index task) {
    const Range rows{task * tiles.rows, std::min((task + 1) * tiles.rows, a.rows)};
    Buffer left(as_size(tiles.rows * tiles.depth)), sums(as_size(tiles.rows * width));
    for (std::size_t n = 0; n < parts.size(); ++n) {
      const Index first = static_cast<Index>(n) * tiles.depth;
      const Range depth{first, std::min(first + tiles.depth, b.rows)};
      copy_rows(a, rows, depth, tiles.depth, left);
      multiply(left.data(), tiles.depth, tiles.rows, depth.size(), parts[n].data(), width,
               sums.data(), width, true);
    }
    for (Index r = 0; r < rows.size(); ++r) {
      float* to = out + (rows.begin + r) * b.columns;
      for (Index c = 0; c < b.columns; ++c) {
        to[c] = (accumulate ? to[c] : 0) + sums[as_size(r * width + c)];
      }
    }
  });
}

}  // namespace maskctl::attention
