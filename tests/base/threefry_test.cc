// Compares Threefry random streams with published test vectors and with values made by JAX.
#include "maskctl/base/threefry.h"

#include "maskctl/base/error.h"
#include "support/catch_compat.h"

using namespace maskctl;

namespace {

using Pair = std::array<std::uint32_t, 2>;

std::vector<std::uint32_t> bits(std::uint64_t seed, std::size_t n, std::uint64_t first = 0) {
  std::vector<std::uint32_t> out(n);
  random_bits(prng_key(seed), first, out);
  return out;
}

std::vector<float> uniform(std::uint64_t seed, std::size_t n) {
  std::vector<float> out;
  for (std::uint32_t word : bits(seed, n)) out.push_back(uniform_from_bits(word));
  return out;
}

}  // namespace

TEST_CASE("threefry2x32 gives the known answers of Random123") {
  CHECK(threefry2x32({0, 0}, {0, 0}) == Pair{0x6b200159, 0x99ba4efe});
  CHECK(threefry2x32({~0u, ~0u}, {~0u, ~0u}) == Pair{0x1cb996fc, 0xbb002be7});
  CHECK(threefry2x32({0x13198a2e, 0x03707344}, {0x243f6a88, 0x85a308d3}) ==
        Pair{0xc4923a9c, 0x483df7a0});
}

TEST_CASE("a key consists of the high and the low word of the seed") {
  CHECK(prng_key(0x0123456789abcdef) == ThreefryKey{0x01234567, 0x89abcdef});
}

// The values in the next two test cases were made by jax.random.bits and jax.random.uniform of JAX
// 0.11.2.
TEST_CASE("random_bits equals jax.random.bits") {
  CHECK(bits(80, 1) == std::vector<std::uint32_t>{0x5eeec9});
  CHECK(bits(0, 1) == std::vector<std::uint32_t>{0u - 0xd65b059u});
  CHECK(bits(1512810977, 5) == std::vector<std::uint32_t>{0x10630225u, 0u - 0x72b76cf7u,
                                                          0u - 0x7b6874a5u, 0u - 0xb85af50u,
                                                          0u - 0x1969c37au});
}

TEST_CASE("uniform_from_bits equals jax.random.uniform") {
  CHECK(uniform(1180323442, 6) == std::vector<float>{0x1.7e54780000000p-2f, 0x1.dfef400000000p-3f,
                                                     0x1.f714180000000p-1f, 0x1.a2a8400000000p-3f,
                                                     0x1.415fa40000000p-1f, 0x1.b03bb40000000p-1f});
  const std::vector<float> many = uniform(375, 126);
  CHECK(many.front() == 0x1.e2dff00000000p-2f);
  CHECK(many[124] == 0x1.d8f3a80000000p-2f);
  CHECK(many[125] == 0x1.9cf9980000000p-2f);
  CHECK(uniform_from_bits(0) == 0.0f);
  CHECK(uniform_from_bits(~0u) < 1.0f);
}

TEST_CASE("random_bits from any counter on equals the blocks of those counters") {
  const ThreefryKey key = prng_key(0x123456789abcdef0);
  const std::uint64_t first = GENERATE(std::uint64_t{0}, std::uint64_t{7}, 0xFFFFFFF0ull);
  const std::size_t n =
      GENERATE(std::size_t{1}, std::size_t{31}, std::size_t{64}, std::size_t{203});
  std::vector<std::uint32_t> out(n);
  random_bits(key, first, out);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t counter = first + i;
    const Pair block = threefry2x32(
        key, {static_cast<std::uint32_t>(counter >> 32), static_cast<std::uint32_t>(counter)});
    REQUIRE(out[i] == (block[0] ^ block[1]));
  }
}

TEST_CASE("the legacy stream pairs each counter of its first half with one of the second") {
  const ThreefryKey key = prng_key(42);
  for (std::uint32_t n : {0u, 1u, 2u, 5u, 8u, 101u}) {
    const std::vector<std::uint32_t> out = random_bits_legacy(key, n);
    REQUIRE(out.size() == n);
    const std::uint32_t half = (n + 1) / 2;
    for (std::uint32_t i = 0; i < half; ++i) {
      const Pair block = threefry2x32(key, {i, half + i < n ? half + i : 0});
      REQUIRE(out[i] == block[0]);
      if (half + i < n) REQUIRE(out[half + i] == block[1]);
    }
  }
  CHECK_THROWS_AS(random_bits_legacy(key, Index{1} << 32), Error);
  CHECK_THROWS_AS(random_bits_legacy(key, -1), Error);
}
