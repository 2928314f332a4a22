// How tiles are stored in shared memory for the copy engine and the tensor cores of Hopper GPUs.
//
// Operands consist of panels of 64 columns (128 bytes), stored row after row with the 128-byte
// swizzle of the copy engine: chunk c of 16 bytes in row r is stored as chunk c ^ (r % 8). Panels
// begin at multiples of 1024 bytes.
#pragma once

#include <cstdint>

namespace maskctl::attention::cuda::hopper {

inline constexpr int kPanel = 64;                      // columns per panel
inline constexpr int kPanelRowBytes = 128;             // bytes per row: 64 elements of 16 bits
inline constexpr int kAtomBytes = 8 * kPanelRowBytes;  // 8 rows, after which the swizzle repeats

/// The offset in bytes of element (row, column) from the beginning of a panel.
constexpr int swizzled(int row, int column) {
  return row * kPanelRowBytes + ((column / 8) ^ (row % 8)) * 16 + column % 8 * 2;
}
static_assert(swizzled(0, 0) == 0 && swizzled(1, 0) == 128 + 16 && swizzled(7, 63) == 896 + 14 &&
              swizzled(8, 8) == 1024 + 16);

/// The row and the column of element i of a fragment: the share that thread t of a warpgroup holds
/// of a matrix of sums [64 x columns].
constexpr int fragment_row(int t, int i) { return t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8; }
constexpr int fragment_column(int t, int i) { return i / 4 * 8 + t % 4 * 2 + i % 2; }
static_assert(fragment_row(37, 2) == 16 + 1 + 8 && fragment_column(37, 5) == 8 + 2 + 1);

/// The matrix descriptor of an operand of wgmma. `leading` and `stride`, in bytes: see k_major()
/// and transposed().
constexpr std::uint64_t descriptor(std::uint32_t address, int leading, int stride) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  return (address & 0x3FFFF) >> 4 | static_cast<std::uint64_t>(leading >> 4) << 16 |
         static_cast<std::uint64_t>(stride >> 4) << 32 | kSwizzle128;
}
static_assert(descriptor(1024, 16, 1024) == (64ull | 1ull << 16 | 64ull << 32 | 1ull << 62));

/// The descriptor of an operand whose 16 columns of depth are contiguous in each row of a panel.
/// `address`: of the first row, at the first of these columns.
constexpr std::uint64_t k_major(std::uint32_t address) {
  return descriptor(address, 16, kAtomBytes);
}
/// The descriptor of an operand whose depth runs down the rows of panels, with its columns in
/// several panels that are `panel_bytes` apart. `address`: of the first of 16 rows.
constexpr std::uint64_t transposed(std::uint32_t address, int panel_bytes) {
  return descriptor(address, panel_bytes, kAtomBytes);
}
/// The descriptor of the operand that is `bytes` further on. Its low bits hold the address.
constexpr std::uint64_t advanced(std::uint64_t descriptor, int bytes) {
  const auto low = static_cast<std::uint32_t>(descriptor) + static_cast<std::uint32_t>(bytes >> 4);
  return (descriptor & ~std::uint64_t{0xFFFFFFFF}) | low;
}
static_assert(advanced(k_major(1024), 32) == k_major(1024 + 32));

}  // namespace maskctl::attention::cuda::hopper
