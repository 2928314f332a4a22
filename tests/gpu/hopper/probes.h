// What kernels of Hopper GPUs are built from, each run by itself on one tile: copies, products,
// layouts of fragments, sums in memory. Arrays are on the host; row-major unless said otherwise.
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

/// Elements of 16 bits; what copies do does not depend on what they mean.
using Bits = std::vector<std::uint16_t>;

/// An array [B,T,H,D] without gaps, and the place of a box of 64 columns x `rows` tokens of it.
struct Box {
  std::array<Index, 4> extents;  // B, T, H, D
  std::array<int, 4> corner;     // b, t, h, column; may lie outside
  int rows;
};
/// The bytes of shared memory to which the copy engine brought the box, as elements.
Bits load_box(const Box& box, const Bits& array);
/// The array after the copy engine wrote the box to it from shared memory that holds `panel`.
Bits store_box(const Box& box, const Bits& array, const Bits& panel);
/// Contiguous bytes by way of shared memory, at multiples of 16 bytes of both.
Bits load_bytes(const Bits& bytes);

/// Where an operand of a product is, and what runs along the rows of its panels.
enum class Operand : std::uint8_t {
  kRegisters,   // of a
  kDepth,       // panels have a row for each row of a, or column of b: k_major
  kTransposed,  // panels have a row for each step of the depth
};
/// A product [64 x 64] x [64 x columns] of one warpgroup.
struct Product {
  Operand a, b;
  int columns;
};
/// Those that the kernels use.
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
/// start + a b, [64 x columns], of a [64 x 64] and b [64 x columns] rounded to 16 bits. `n` is a
/// place in kProducts.
std::vector<float> multiply(int n, DType dtype, const std::vector<float>& a,
                            const std::vector<float>& b, const std::vector<float>& start);

/// start + a b, [16 x 8], of a [16 x 16] and b [16 x 8], by one warp. a comes from shared memory,
/// where its rows lie or, if `is_turned`, its columns; b from rows in registers, turned there.
std::vector<float> multiply_in_warp(DType dtype, bool is_turned, const std::vector<float>& a,
                                    const std::vector<float>& b, const std::vector<float>& start);

/// Panels [columns / 64][rows of 128 bytes] after a warpgroup stored a fragment [64 x columns] in
/// them from (row, column) on; they were zero before. columns: 32, 64 or 128.
struct StoredFragment {
  int panel_rows, row, column, columns;
};
Bits store_fragment(const StoredFragment& to, const std::vector<float>& x);

/// An array of `rows` x `columns` bfloat16 elements, `stride` apart, after a piece [64 x 64] times
/// `factor` was written to it; it held zeros before.
struct StoredPiece {
  int rows, columns, stride;
  float factor;
};
Bits store_piece(const StoredPiece& to, const std::vector<float>& x);

/// Pieces [64 x 64] as they lie in memory, added to what is there by the copy engine, one after the
/// other, and read back in order of rows.
std::vector<float> add_pieces(const std::vector<std::vector<float>>& pieces);

/// Which cells of a tile [64 x 64] a warpgroup takes for open, by fragment; `words` are its rows.
std::vector<bool> open_cells(const std::array<std::uint64_t, 64>& words);

/// Captures the work that `enqueue` puts into the stream as a CUDA graph, and launches that once.
void replay(maskctl::attention::cuda::Stream stream, const std::function<void()>& enqueue);

}  // namespace hopper_probe
