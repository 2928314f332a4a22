// Compares NumpyRandomState with numpy.random.RandomState, bit for bit.
#include "maskctl/base/mt19937.h"

#include <string>
#include <vector>

#include "base/scratch.h"
#include "maskctl/base/error.h"
#include "support/catch_compat.h"

using namespace maskctl;
using maskctl::test::Scratch;

namespace {

std::string zeros_and_ones(std::span<const std::uint8_t> draws) {
  std::string out;
  for (const std::uint8_t draw : draws) out += draw == 0 ? '0' : draw == 1 ? '1' : '?';
  return out + "\n";
}

const std::vector<double> kProbabilities = {0.0,  5e-324, 1e-17,  1e-9,  0.001, 0.1,
                                            0.25, 0.3,    1 / 3., 0.409, 0.5,   0.50000000000000011,
                                            0.51, 2 / 3., 0.7,    0.89,  0.999, 0.99999999999999989,
                                            1.0};
const std::vector<std::int64_t> kSeeds = {0,    1,         2,          7,          42,        624,
                                          5489, 791993654, 0x7fffffff, 0x80000000, 0xffffffff};

std::string python_list(const auto& values) {
  std::string out = "[";
  char text[40];
  for (const auto v : values) {
    std::snprintf(text, sizeof text, "%.17g,", static_cast<double>(v));
    out += text;
  }
  return out + "]";
}

}  // namespace

TEST_CASE("random_sample gives the numbers of numpy for every seed", "[mt19937]") {
  const Scratch scratch;
  const std::string want = test::python(scratch, "for s in " + python_list(kSeeds) + R"(:
    np.random.seed(int(s))
    for u in np.random.random_sample(700): print(float(u).hex())
)");
  std::string got;
  for (const std::int64_t seed : kSeeds) {
    NumpyRandomState random(seed);
    for (int i = 0; i < 700; ++i) {  // more than one block of the generator, 624 words
      const double u = random.random_sample();
      REQUIRE((u >= 0.0 && u < 1.0));
      char text[40];
      // Python's float.hex() writes all 13 hexadecimal digits of the fraction, as %.13a does.
      std::snprintf(text, sizeof text, "%.13a\n", u);
      got += text;
    }
  }
  // Both sides write the same hexadecimal text for equal doubles, trailing zeros included.
  REQUIRE(got == want);
}

TEST_CASE("bernoulli gives numpy's binomial of one trial for every p and seed", "[mt19937]") {
  const Scratch scratch;
  const std::string want = test::python(
      scratch, "P = " + python_list(kProbabilities) + "\nfor s in " + python_list(kSeeds) + R"(:
    for p in P:
        np.random.seed(int(s))
        print(''.join(map(str, np.random.binomial(n=1, p=p, size=(3, 211)).ravel())))
)");
  std::string got;
  std::vector<std::uint8_t> draws(3 * 211);
  for (const std::int64_t seed : kSeeds) {
    for (const double p : kProbabilities) {
      NumpyRandomState(seed).bernoulli(p, draws);
      got += zeros_and_ones(draws);
    }
  }
  REQUIRE(got == want);
}

TEST_CASE("each draw continues the stream where the last one ended", "[mt19937]") {
  const Scratch scratch;
  const std::string want = test::python(scratch, R"(
np.random.seed(3)
for p in [0.4, 0.0, 0.4, 1.0, 0.8]:
    print(''.join(map(str, np.random.binomial(1, p, 50))))
    np.random.binomial(1, p, 0)
)");
  NumpyRandomState random(3);
  std::string got;
  std::vector<std::uint8_t> draws(50);
  for (const double p : {0.4, 0.0, 0.4, 1.0, 0.8}) {
    random.bernoulli(p, draws);
    got += zeros_and_ones(draws);
    random.bernoulli(p, {});
  }
  REQUIRE(got == want);
}

TEST_CASE("seeds and probabilities out of range are refused", "[mt19937]") {
  REQUIRE_THROWS_AS(NumpyRandomState(-1), Error);
  REQUIRE_THROWS_AS(NumpyRandomState(std::int64_t{1} << 32), Error);
  NumpyRandomState random(1);
  std::vector<std::uint8_t> draws(3);
  for (const double p : {-0.1, 1.1, std::nan("")}) {
    REQUIRE_THROWS_AS(random.bernoulli(p, draws), Error);
  }
}
