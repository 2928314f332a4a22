// Converts a dense 16384 x 16384 mask to bits and back, when asked: convert_bench.py alternates it
// with numpy.
//   bench_convert THREADS    then lines "pack", "unpack", "pack bytes", "unpack bytes" as input;
//   each is
//                            answered with seconds
// pack and unpack convert between a mask, which holds a dense array as words, and the array of
// bits; with "bytes" they convert between the array of bool and the array of bits, through a mask.
// First prints what both sides must agree on, as "verify NAME NUMBER" lines, and "ready".
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "bench.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/arrays/bits.h"
#include "maskctl/mask/arrays/dense.h"

namespace {

using namespace maskctl;

constexpr Index kSize = 16384;
const std::vector<Index> kShape{1, 1, kSize, kSize};

// Cell i is open where bit 7 of i * i * 2654435761 mod 2^32 is set; numpy_bits.py makes the same.
Tensor cells() {
  Tensor out(DType::kBool, kShape);
  const auto bytes = out.as<std::uint8_t>();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto n = static_cast<std::uint32_t>(i);
    bytes[i] = static_cast<std::uint8_t>(n * n * 2654435761U >> 7 & 1);
  }
  return out;
}

Index sum(const Tensor& bits) {
  const auto bytes = bits.as<std::uint8_t>();
  return std::accumulate(bytes.begin(), bytes.end(), Index{0});
}

void pack_bands(const Mask& mask) {
  BitBands bands(mask);
  for (auto part = bands.next(); !part.empty(); part = bands.next()) bench::keep(part);
}

}  // namespace

int main(int argc, char** argv) {
  set_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  constexpr Index kMost = Index{1} << 30;
  const Tensor bytes = cells();
  const Mask mask = mask_from_dense(bytes);
  const Tensor bits = bits_from_mask(mask, kMost);
  const Tensor back = dense_from_mask(mask_from_bits(bits.bytes(), kShape), kMost);
  bench::require(std::ranges::equal(back.bytes(), bytes.bytes()), "bits and back");
  std::cout << "verify open " << mask.count() << "\nverify sum " << sum(bits) << "\nready"
            << std::endl;
  std::cout.precision(12);
  std::string question;
  while (std::getline(std::cin, question)) {
    std::cout << bench::seconds([&] {
      if (question == "pack") {
        pack_bands(mask);
      } else if (question == "unpack") {
        bench::keep(mask_from_bits(bits.bytes(), kShape));
      } else if (question == "pack bytes") {
        bench::keep(bits_from_mask(mask_from_dense(bytes), kMost));
      } else {
        bench::keep(dense_from_mask(mask_from_bits(bits.bytes(), kShape), kMost));
      }
    }) << std::endl;
  }
  return 0;
}
