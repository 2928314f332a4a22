// Tests the layouts of tiles and the division of work of the kernels for Hopper GPUs, as far as no
// GPU is needed.
#include <numeric>
#include <set>
#include <vector>

#include "maskctl/attention/cuda/hopper/layout.h"
#include "maskctl/attention/cuda/softmax/hopper/key_order.h"
#include "support/catch_compat.h"

namespace hopper_layout_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention::cuda::hopper;

}  // namespace

TEST_CASE(
    "hopper: swizzled addresses have bits 4 to 6 xored with bits 7 to 9, as the copy engine does") {
  std::set<int> seen;
  for (int row = 0; row < 192; ++row) {
    for (int column = 0; column < kPanel; ++column) {
      const int plain = row * kPanelRowBytes + column * 2;
      CHECK(swizzled(row, column) == (plain ^ (plain >> 7 & 7) << 4));
      seen.insert(swizzled(row, column));
    }
  }
  CHECK(seen.size() == 192 * kPanel);
  CHECK(*seen.rbegin() == 192 * kPanelRowBytes - 2);
}

TEST_CASE("hopper: each sum of a tile belongs to exactly one thread of a warpgroup") {
  for (const int columns : {32, 64, 128, 256}) {
    std::set<std::pair<int, int>> seen;
    for (int t = 0; t < 128; ++t) {
      for (int i = 0; i < columns / 2; ++i) {
        seen.insert({fragment_row(t, i), fragment_column(t, i)});
        // Elements 2i and 2i + 1 of a thread are neighbours in a row.
        CHECK(fragment_column(t, i | 1) == fragment_column(t, i & ~1) + 1);
        CHECK(fragment_row(t, i | 1) == fragment_row(t, i & ~1));
      }
    }
    CHECK(seen.size() == as_size(64 * columns));
    CHECK(seen.rbegin()->first == 63);
    CHECK(std::ranges::all_of(seen, [&](const auto& at) { return at.second < columns; }));
  }
}

TEST_CASE("hopper: descriptors store addresses and strides in units of 16 bytes") {
  const auto field = [](std::uint64_t descriptor, int begin, int bits) {
    return static_cast<int>(descriptor >> begin & ((std::uint64_t{1} << bits) - 1));
  };
  constexpr int kPanelBytes = 128 * kPanelRowBytes, kAddress = 5 * kAtomBytes;
  const std::uint64_t rows = k_major(kAddress), columns = transposed(kAddress, kPanelBytes);
  for (const std::uint64_t d : {rows, columns}) {
    CHECK(field(d, 0, 14) == kAddress / 16);
    CHECK(field(d, 32, 14) == kAtomBytes / 16);  // step from 8 rows to the next 8
    CHECK(field(d, 62, 2) == 1);                 // code of the swizzle of 128 bytes
  }
  CHECK(field(columns, 16, 14) == kPanelBytes / 16);  // step from 64 columns to the next 64
  CHECK(advanced(columns, 16 * kPanelRowBytes) ==
        transposed(kAddress + 16 * kPanelRowBytes, kPanelBytes));
}

TEST_CASE("hopper: only long lists of tiles are cut into parts") {
  const auto parts = [](const std::vector<Index>& lists) {
    const Index total = std::accumulate(lists.begin(), lists.end(), Index{0});
    const Index length = part_length(total, std::ssize(lists), 132);
    std::vector<Index> parts;
    parts.reserve(lists.size());
    for (const Index list : lists) parts.push_back(parts_of(list, length));
    return parts;
  };
  std::vector<Index> window(4096, 18);
  CHECK(parts(window) == std::vector<Index>(4096, 1));
  std::vector<Index> causal(2048);
  for (std::size_t i = 0; i < causal.size(); ++i) causal[i] = static_cast<Index>(i % 256) * 2 + 1;
  CHECK(parts(causal) == std::vector<Index>(2048, 1));
  CHECK(parts(std::vector<Index>(128, 256)) == std::vector<Index>(128, 1));
  // There are 32 lists of tiles for 132 multiprocessors, so every list is cut into parts.
  CHECK(parts(std::vector<Index>(32, 64)) == std::vector<Index>(32, 4));
  CHECK(parts({0, 0, 3}) == std::vector<Index>{1, 1, 1});
  // The key tiles that hold sinks, in each of 16 heads, have long lists of query tiles.
  for (std::size_t i = 0; i < window.size(); i += 256) window[i] = 512;
  const std::vector<Index> sinks = parts(window);
  for (std::size_t i = 0; i < window.size(); ++i) CHECK(sinks[i] == (window[i] == 512 ? 13 : 1));
}

TEST_CASE("hopper: the number of parts is bounded for lists of any length") {
  for (const Index lists : {1, 7, 132, 5000}) {
    for (const Index longest : {1, 100, 100000}) {
      for (Index many = 1; many <= lists; many *= 3) {
        const Index total = many * longest + (lists - many) * 2;
        const Index length = part_length(total, lists, 132);
        const Index all = many * parts_of(longest, length) + (lists - many) * parts_of(2, length);
        CHECK(all <= lists + most_cuts(132));
      }
    }
  }
}

}  // namespace hopper_layout_cases
