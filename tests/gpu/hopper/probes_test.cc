// Compares the building blocks of kernels for Hopper GPUs, each on one tile, with plain loops.
#include "gpu/hopper/probes.h"

#include <bit>
#include <random>

#include "gpu/kernels_ran.h"
#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/cuda/hopper/gpu.h"
#include "maskctl/attention/cuda/hopper/layout.h"
#include "support/catch_compat.h"

namespace {

using namespace hopper_probe;
using maskctl::as_size;
using maskctl::attention::cuda::hopper::kPanel;
using maskctl::attention::cuda::hopper::swizzled;

/// True if there is a GPU that can run the probes; otherwise prints why not.
bool can_run() {
  std::string why = maskctl::attention::cuda::unavailable();
  if (why.empty()) why = maskctl::attention::cuda::hopper::unavailable();
  if (!why.empty()) gpu_test::say_ran("probes (skipped: " + why + ")", "none", 0, "tensor cores");
  return why.empty();
}

/// Draws small whole numbers, whose products and sums are exact.
class Numbers {
 public:
  std::vector<float> floats(int n) {
    std::vector<float> x(as_size(n));
    for (float& value : x) value = static_cast<float>(int_in_(random_));
    return x;
  }
  Bits bits(Index n) {
    Bits x(as_size(n));
    for (auto& value : x) value = static_cast<std::uint16_t>(random_());
    return x;
  }

 private:
  std::mt19937 random_{5};
  std::uniform_int_distribution<int> int_in_{-4, 4};
};

/// Returns the bits of a whole number that bfloat16 can hold.
std::uint16_t bfloat16(float x) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16);
}

/// Returns the index of element (row, column) in swizzled panels of `rows` rows.
std::size_t in_panels(int rows, int row, int column) {
  return as_size(column / kPanel * rows * kPanel + swizzled(row, column % kPanel) / 2);
}

/// Calls f(index in the array, or -1 outside of it, row, column) for each element of a box.
template <class F>
void each_of(const Box& box, F&& f) {
  const auto& [b, t, h, d] = box.extents;
  const auto& [at_b, at_t, at_h, at_column] = box.corner;
  for (int row = 0; row < box.rows; ++row) {
    for (int column = 0; column < kPanel; ++column) {
      const Index token = at_t + row, c = at_column + column;
      const bool exists = token < t && c < d;
      f(exists ? ((at_b * t + token) * h + at_h) * d + c : -1, row, column);
    }
  }
}
Index size_of(const Box& box) {
  const auto& [b, t, h, d] = box.extents;
  return b * t * h * d;
}

/// Boxes as the kernels use them: whole tiles, and boxes beyond the last token or the last column.
const Box kBoxes[] = {{{1, 64, 1, 64}, {0, 0, 0, 0}, 64},
                      {{2, 200, 3, 128}, {1, 64, 2, 64}, 128},
                      {{2, 300, 2, 256}, {0, 192, 1, 192}, 192},
                      {{1, 100, 2, 80}, {0, 64, 1, 64}, 64},
                      {{1, 70, 1, 8}, {0, 0, 0, 0}, 128}};

}  // namespace

TEST_CASE("gpu: boxes are copied to swizzled panels in shared memory, with zeros outside the array",
          "[tensor cores]") {
  if (!can_run()) return;
  Numbers numbers;
  for (const Box& box : kBoxes) {
    INFO("box of " << box.rows << " rows");
    const Bits array = numbers.bits(size_of(box)), seen = load_box(box, array);
    Bits expected(seen.size());
    each_of(box, [&](Index from, int row, int column) {
      expected[in_panels(box.rows, row, column)] = from < 0 ? 0 : array[as_size(from)];
    });
    CHECK(seen == expected);
  }
}

TEST_CASE("gpu: swizzled panels are copied to boxes of an array, and nothing outside is written",
          "[tensor cores]") {
  if (!can_run()) return;
  Numbers numbers;
  for (const Box& box : kBoxes) {
    INFO("box of " << box.rows << " rows");
    const Bits array = numbers.bits(size_of(box)), panel = numbers.bits(box.rows * kPanel);
    Bits expected = array;
    each_of(box, [&](Index to, int row, int column) {
      if (to >= 0) expected[as_size(to)] = panel[in_panels(box.rows, row, column)];
    });
    CHECK(store_box(box, array, panel) == expected);
  }
}

TEST_CASE("gpu: contiguous bytes are copied to shared memory unchanged", "[tensor cores]") {
  if (!can_run()) return;
  Numbers numbers;
  // Elements of 2 bytes: 16 bytes, the payload of a mask tile, and the rows of two tiles.
  for (const int elements : {8, 256, 512}) {
    const Bits bytes = numbers.bits(elements);
    CHECK(load_bytes(bytes) == bytes);
  }
}

TEST_CASE("gpu: products of a warpgroup equal plain loops for every form of operands",
          "[tensor cores]") {
  if (!can_run()) return;
  Numbers numbers;
  for (int n = 0; n < static_cast<int>(std::size(kProducts)); ++n) {
    const int columns = kProducts[n].columns;
    const auto a = numbers.floats(64 * 64), b = numbers.floats(64 * columns),
               start = numbers.floats(64 * columns);
    std::vector<float> expected = start;
    for (int i = 0; i < 64 * columns; ++i) {
      for (int k = 0; k < 64; ++k) {
        expected[as_size(i)] +=
            a[as_size(i / columns * 64 + k)] * b[as_size(k * columns + i % columns)];
      }
    }
    for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
      INFO("product " << n << ", " << name(dtype));
      CHECK(multiply(n, dtype, a, b, start) == expected);
    }
  }
}

TEST_CASE("gpu: products of a warp equal plain loops", "[tensor cores]") {
  if (!can_run()) return;
  Numbers numbers;
  const auto a = numbers.floats(16 * 16), b = numbers.floats(16 * 8),
             start = numbers.floats(16 * 8);
  std::vector<float> expected = start;
  for (int i = 0; i < 16 * 8; ++i) {
    for (int k = 0; k < 16; ++k) {
      expected[as_size(i)] += a[as_size(i / 8 * 16 + k)] * b[as_size(k * 8 + i % 8)];
    }
  }
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (const bool is_turned : {false, true}) {
      CHECK(multiply_in_warp(dtype, is_turned, a, b, start) == expected);
    }
  }
}

TEST_CASE("gpu: fragments are stored in swizzled panels", "[tensor cores]") {
  if (!can_run()) return;
  Numbers numbers;
  constexpr StoredFragment kStored[] = {
      {128, 0, 0, 64}, {128, 64, 0, 64}, {64, 0, 32, 32}, {64, 0, 0, 32}, {128, 64, 0, 128}};
  for (const StoredFragment& to : kStored) {
    INFO(to.columns << " columns from row " << to.row << ", column " << to.column << " on");
    const auto x = numbers.floats(64 * to.columns);
    const Bits seen = store_fragment(to, x);
    Bits expected(seen.size());
    for (int i = 0; i < 64 * to.columns; ++i) {
      const int row = to.row + i / to.columns, column = to.column + i % to.columns;
      expected[in_panels(to.panel_rows, row, column)] = bfloat16(x[as_size(i)]);
    }
    CHECK(seen == expected);
  }
}

TEST_CASE("gpu: sums of 64 x 64 are written only to elements inside the array", "[tensor cores]") {
  if (!can_run()) return;
  Numbers numbers;
  constexpr StoredPiece kStored[] = {
      {64, 64, 64, 1}, {64, 64, 200, 2}, {37, 24, 64, 1}, {1, 8, 8, 1}};
  for (const StoredPiece& to : kStored) {
    INFO(to.rows << " rows, " << to.columns << " columns");
    const auto x = numbers.floats(64 * 64);
    const Bits seen = store_piece(to, x);
    Bits expected(seen.size());
    for (int row = 0; row < to.rows; ++row) {
      for (int column = 0; column < to.columns; ++column) {
        expected[as_size(row * to.stride + column)] =
            bfloat16(x[as_size(row * 64 + column)] * to.factor);
      }
    }
    CHECK(seen == expected);
  }
}

TEST_CASE("gpu: the copy engine adds pieces in memory as plain loops do", "[tensor cores]") {
  if (!can_run()) return;
  Numbers numbers;
  const std::vector<std::vector<float>> pieces = {numbers.floats(64 * 64), numbers.floats(64 * 64),
                                                  numbers.floats(64 * 64)};
  std::vector<float> expected(64 * 64);
  for (const auto& piece : pieces) {
    for (std::size_t i = 0; i < piece.size(); ++i) expected[i] += piece[i];
  }
  CHECK(add_pieces(pieces) == expected);
}

TEST_CASE("gpu: each thread reads the open cells of its fragment from the rows of a mask tile",
          "[tensor cores]") {
  if (!can_run()) return;
  std::mt19937_64 random(3);
  std::array<std::uint64_t, 64> words{};
  for (auto& word : words) word = random();
  std::vector<bool> expected;
  for (const std::uint64_t word : words) {
    for (int column = 0; column < 64; ++column) expected.push_back((word >> column & 1) != 0);
  }
  CHECK(open_cells(words) == expected);
  gpu_test::say_ran("copies, products and layouts of one tile", "16 bits", 9, "tensor cores");
}
