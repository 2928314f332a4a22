// How tiles lie in shared memory for the copy engine and the tensor cores of Hopper GPUs.
//
// Operands consist of panels of 64 columns (128 bytes) whose rows follow each other, swizzled by
// 128 bytes as the copy engine writes them: the 16 bytes number c of row r are at c ^ r % 8. Panels
// begin at multiples of 1024 bytes.
#pragma once

#include <cstdint>

namespace maskctl::attention::cuda::hopper {

inline constexpr int kPanel = 64;                      // columns of a panel
inline constexpr int kPanelRowBytes = 128;             // 64 elements of 16 bits
inline constexpr int kAtomBytes = 8 * kPanelRowBytes;  // 8 rows: the pattern of the swizzle repeats

/// Bytes from the begin of a panel to element (row, column) of it.
constexpr int swizzled(int row, int column) {
  return row * kPanelRowBytes + ((column / 8) ^ (row % 8)) * 16 + column % 8 * 2;
}
static_assert(swizzled(0, 0) == 0 && swizzled(1, 0) == 128 + 16 && swizzled(7, 63) == 896 + 14 &&
              swizzled(8, 8) == 1024 + 16);

/// The row and the column of element i of the fragment that thread t of a warpgroup has of sums
/// [64 x columns].
constexpr int fragment_row(int t, int i) { return t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8; }
constexpr int fragment_column(int t, int i) { return i / 4 * 8 + t % 4 * 2 + i % 2; }
static_assert(fragment_row(37, 2) == 16 + 1 + 8 && fragment_column(37, 5) == 8 + 2 + 1);

/// The descriptor of an operand: `leading` and `stride` in bytes, see below.
constexpr std::uint64_t descriptor(std::uint32_t address, int leading, int stride) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  return (address & 0x3FFFF) >> 4 | static_cast<std::uint64_t>(leading >> 4) << 16 |
         static_cast<std::uint64_t>(stride >> 4) << 32 | kSwizzle128;
}
static_assert(descriptor(1024, 16, 1024) == (64ull | 1ull << 16 | 64ull << 32 | 1ull << 62));

/// Rows of the operand are rows of the panel, its 16 columns of depth lie within a panel: k_major.
/// `address` is that of the first row at that depth.
constexpr std::uint64_t k_major(std::uint32_t address) {
  return descriptor(address, 16, kAtomBytes);
}
/// The depth of the operand runs along the rows of the panels, its columns over the panels, which
/// are `panel_bytes` apart: transposed. `address` is that of the first of 16 rows.
constexpr std::uint64_t transposed(std::uint32_t address, int panel_bytes) {
  return descriptor(address, panel_bytes, kAtomBytes);
}
/// The descriptor of the operand `bytes` further on: the address is in the low bits.
constexpr std::uint64_t advanced(std::uint64_t descriptor, int bytes) {
  const auto low = static_cast<std::uint32_t>(descriptor) + static_cast<std::uint32_t>(bytes >> 4);
  return (descriptor & ~std::uint64_t{0xFFFFFFFF}) | low;
}
static_assert(advanced(k_major(1024), 32) == k_major(1024 + 32));

}  // namespace maskctl::attention::cuda::hopper
