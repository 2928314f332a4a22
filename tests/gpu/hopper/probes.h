// The building blocks of kernels for Hopper GPUs (copies, products, layouts of fragments, sums in
// memory), each run by itself on one tile. Arrays are on the host, and row-major unless said
// otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "maskctl/attention/cuda/device.h"
#include "maskctl/base/index.h"
#include "maskctl/tensor/dtype.h"

namespace hopper_probe {

using maskctl::DType;
using maskctl::Index;

/// Elements of 16 bits; copies do not depend on their type.
using Bits = std::vector<std::uint16_t>;

/// The extents of a contiguous array [B,T,H,D], and the corner of a box of 64 columns x `rows`
/// tokens.
struct Box {
  std::array<Index, 4> extents;  // B, T, H, D
  std::array<int, 4> corner;     // b, t, h, column; the box may leave the array
  int rows;
};
/// Returns the shared memory after the copy engine has brought the box there, as 16-bit elements.
Bits load_box(const Box& box, const Bits& array);
/// Returns the array after the copy engine has written the shared memory `panel` to the box.
Bits store_box(const Box& box, const Bits& array, const Bits& panel);
/// Copies bytes through shared memory; sizes and addresses are multiples of 16 bytes.
Bits load_bytes(const Bits& bytes);

/// Where an operand of a product is and, if in shared memory, how it lies in its panels.
enum class Operand : std::uint8_t {
  kRegisters,   // in registers; for operand a only
  kDepth,       // a panel row for each row of a, or column of b: k_major
  kTransposed,  // a panel row for each step of the depth
};
/// A product [64 x 64] x [64 x columns] by one warpgroup.
struct Product {
  Operand a, b;
  int columns;
};
/// The kinds of products that the kernels use.
inline constexpr Product kProducts[] = {
    {Operand::kDepth, Operand::kDepth, 32},
    {Operand::kDepth, Operand::kDepth, 64},
    {Operand::kDepth, Operand::kDepth, 128},
    {Operand::kDepth, Operand::kTransposed, 128},
    {Operand::kTransposed, Operand::kTransposed, 64},
    {Operand::kTransposed, Operand::kTransposed, 128},
    {Operand::kRegisters, Operand::kTransposed, 64},
    {Operand::kRegisters, Operand::kTransposed, 128},
    {Operand::kRegisters, Operand::kTransposed, 256},
};
/// Returns start + a b, [64 x columns], where a [64 x 64] and b [64 x columns] are rounded to 16
/// bits. `n` is the index of the product in kProducts.
std::vector<float> multiply(int n, DType dtype, const std::vector<float>& a,
                            const std::vector<float>& b, const std::vector<float>& start);

/// Returns start + a b, [16 x 8], computed by one warp from a [16 x 16] and b [16 x 8]. a is in
/// shared memory, by rows or, if `is_turned`, by columns; b is in registers by rows, and transposed
/// there.
std::vector<float> multiply_in_warp(DType dtype, bool is_turned, const std::vector<float>& a,
                                    const std::vector<float>& b, const std::vector<float>& start);

/// A fragment [64 x columns] that a warpgroup stores in zeroed panels [columns / 64][rows of 128
/// bytes], from (row, column) on. columns: 32, 64 or 128.
struct StoredFragment {
  int panel_rows, row, column, columns;
};
Bits store_fragment(const StoredFragment& to, const std::vector<float>& x);

/// A piece [64 x 64] that is written, times `factor`, to a zeroed bfloat16 array of `rows` x
/// `columns`; its rows are `stride` elements apart.
struct StoredPiece {
  int rows, columns, stride;
  float factor;
};
Bits store_piece(const StoredPiece& to, const std::vector<float>& x);

/// Adds pieces [64 x 64] in memory with the copy engine, one after the other; returns the sum in
/// row-major order.
std::vector<float> add_pieces(const std::vector<std::vector<float>>& pieces);

/// Returns which cells of a tile [64 x 64] a warpgroup takes for open, if the bits of row i are
/// words[i].
std::vector<bool> open_cells(const std::array<std::uint64_t, 64>& words);

/// Captures the work that `enqueue` puts into the stream as a CUDA graph, and launches the graph
/// once.
void replay(maskctl::attention::cuda::Stream stream, const std::function<void()>& enqueue);

}  // namespace hopper_probe
