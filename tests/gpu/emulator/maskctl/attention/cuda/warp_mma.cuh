// Matrix products by one warp for emulated kernels; replaces the header of this name.
#pragma once

#include "maskctl/attention/cuda/hopper/wgmma.cuh"

namespace maskctl::attention::cuda {

using hopper::rounded_pair, hopper::shared_address;

template <class T>
void multiply(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  const std::uint32_t* const registers[] = {a, b};
  const std::uint64_t* const lanes =
      cuda_emulator::exchange(~0u, reinterpret_cast<std::uintptr_t>(registers));
  const auto of_lane = [lanes](unsigned lane, int operand) {
    return reinterpret_cast<const std::uint32_t* const*>(lanes[lane])[operand];
  };
  const unsigned row = cuda_emulator::lane() / 4, column = cuda_emulator::lane() % 4 * 2;
  float rows[2][16], columns[2][16];
  for (unsigned i = 0; i < 2; ++i) {
    for (unsigned k = 0; k < 16; ++k) {
      const unsigned c = k % 8 / 2, half = k / 8;
      rows[i][k] = hopper::of_pair<T>(of_lane(row * 4 + c, 0)[i + 2 * half], k % 2);
      columns[i][k] = hopper::of_pair<T>(of_lane((column + i) * 4 + c, 1)[half], k % 2);
    }
  }
  __syncwarp();  // all lanes have read the registers of the others
  for (int i = 0; i < 4; ++i) d[i] += hopper::dot(rows[i / 2], columns[i % 2]);
}

template <bool kTransposed>
void load_matrices(std::uint32_t (&x)[4], std::uint32_t address) {
  const std::uint64_t* const addresses = cuda_emulator::exchange(~0u, address);
  const unsigned row = cuda_emulator::lane() / 4, column = cuda_emulator::lane() % 4 * 2;
  for (unsigned matrix = 0; matrix < 4; ++matrix) {
    std::uint16_t pair[2];
    for (unsigned i = 0; i < 2; ++i) {
      const unsigned line = kTransposed ? column + i : row, at = kTransposed ? row : column + i;
      const std::uint64_t from = addresses[matrix * 8 + line] + 2 * at;
      std::memcpy(pair + i, cuda_emulator::dynamic_shared + from, 2);
    }
    x[matrix] = pair[0] | static_cast<std::uint32_t>(pair[1]) << 16;
  }
}

inline std::uint32_t transposed(std::uint32_t pair) {
  const std::uint64_t* const pairs = cuda_emulator::exchange(~0u, pair);
  const unsigned row = cuda_emulator::lane() / 4, column = cuda_emulator::lane() % 4 * 2;
  std::uint32_t other = 0;
  for (unsigned i = 0; i < 2; ++i) {
    const std::uint64_t there = pairs[(column + i) * 4 + row / 2];
    other |= static_cast<std::uint32_t>(there >> row % 2 * 16 & 0xffff) << 16 * i;
  }
  return other;
}

}  // namespace maskctl::attention::cuda
