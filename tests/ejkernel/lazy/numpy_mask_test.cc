// Compares the indexing of NumpyMask, and make_random_mask, with numpy itself.
#include <random>

#include "base/scratch.h"
#include "maskctl/ejkernel/lazy/lazy_mask.h"
#include "maskctl/ejkernel/mask_info/python_error.h"
#include "support/catch_compat.h"

using namespace maskctl;
using namespace maskctl::lazy;
using maskctl::test::Scratch;

namespace {

constexpr Index kRows = 5, kColumns = 4;

std::string python_shape(const std::vector<Index>& shape) { return shape_text(shape); }

/// Returns the shape and the cells of an array, as in "(2, 3) 010110".
std::string text(const Tensor& array) {
  std::string out = python_shape(array.shape()) + " ";
  for (const std::uint8_t cell : array.as<std::uint8_t>()) out += cell ? '1' : '0';
  return out;
}

struct Written {
  Subscript subscript;
  std::string python;
};

Written random_slice(std::mt19937& random) {
  const auto part = [&](int low, int high) -> std::optional<Index> {
    if (random() % 3 == 0) return std::nullopt;
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  Slice slice{part(-8, 8), part(-8, 8), part(-3, 3)};
  if (slice.step == 0) slice.step = -9;
  const auto python = [](const std::optional<Index>& v) { return v ? std::to_string(*v) : "None"; };
  return {slice, "slice(" + python(slice.start) + "," + python(slice.stop) + "," +
                     python(slice.step) + ")"};
}

Written random_array(std::mt19937& random, Index extent) {
  const std::vector<std::vector<Index>> shapes = {{3}, {1}, {2, 3}, {2, 1}, {0}, {}};
  const std::vector<Index>& shape = shapes[random() % shapes.size()];
  Tensor array(DType::kInt32, shape);
  std::string values;
  for (std::int32_t& v : array.as<std::int32_t>()) {
    // Few indices are out of range.
    const bool outside = random() % 40 == 0;
    v = outside ? 9
                : static_cast<std::int32_t>(random() % (2 * static_cast<unsigned>(extent))) -
                      static_cast<std::int32_t>(extent);
    values += std::to_string(v) + ",";
  }
  return {array, "np.array([" + values + "], np.int32).reshape(" + python_shape(shape) + ")"};
}

Written random_subscript(std::mt19937& random, Index extent) {
  switch (random() % 3) {
    case 0:
      return random_slice(random);
    case 1: {
      const Index i = static_cast<Index>(random() % 13) - 6;
      return {i, std::to_string(i)};
    }
    default:
      return random_array(random, extent);
  }
}

}  // namespace

TEST_CASE("numpy masks are indexed like numpy arrays", "[lazy_mask]") {
  std::mt19937 random(9);
  Tensor cells(DType::kBool, {kRows, kColumns});
  std::string listed;
  for (std::uint8_t& cell : cells.as<std::uint8_t>()) {
    cell = static_cast<std::uint8_t>(random() % 2);
    listed += cell ? "1," : "0,";
  }
  const MaskPtr mask = numpy_mask(cells);
  std::string script = "a = np.array([" + listed + "], bool).reshape(5, 4)\n" + R"(
import warnings
warnings.simplefilter('ignore')
def show(*index):
    try:
        r = np.asarray(a[index])
        print(r.shape, ''.join('01'[int(v)] for v in r.ravel()))
    except (IndexError, ValueError) as e: print(type(e).__name__)
)";
  std::string got;
  for (int i = 0; i < 1200; ++i) {
    std::vector<Subscript> index;
    std::string call = "show(";
    const auto axes = random() % 12 == 0 ? random() % 4 : 2;
    for (std::uint32_t axis = 0; axis < axes; ++axis) {
      Written one = random_subscript(random, axis == 0 ? kRows : kColumns);
      index.push_back(std::move(one.subscript));
      call += one.python + ",";
    }
    script += call + ")\n";
    try {
      got += text(mask->at(index)) + "\n";
    } catch (const PythonError& e) {
      got += std::string(name(e.type())) + "\n";
    }
  }
  const Scratch scratch;
  const std::string want = test::python(scratch, script);
  // The outputs are compared line by line, so that a failure names the call.
  std::istringstream calls(script.substr(script.find("\nshow(") + 1)), a(got), b(want);
  std::string call, x, y;
  while (std::getline(calls, call)) {
    std::getline(a, x);
    std::getline(b, y);
    // Old releases of numpy accept an index out of range if the result is empty.
    if (x == "IndexError" && y.ends_with(") ")) continue;
    INFO(call);
    REQUIRE(x == y);
  }
}

TEST_CASE("make_random_mask gives the cells that numpy draws", "[lazy_mask]") {
  const Scratch scratch;
  const std::string want = test::python(scratch, R"(
for q, k in [(3, 7), (0, 4), (33, 20)]:
    for s in [0.0, 0.1, 0.5, 0.591, 0.911, 1.0, 1/3]:
        for seed in [0, 1, 4294967295]:
            np.random.seed(seed)
            r = np.random.binomial(n=1, p=1.0 - s, size=(q, k)).astype(np.bool_)
            print(r.shape, ''.join('01'[int(v)] for v in r.ravel()))
)");
  std::string got;
  for (const auto& [q, k] : {std::pair<Index, Index>{3, 7}, {0, 4}, {33, 20}}) {
    for (const double sparsity : {0.0, 0.1, 0.5, 0.591, 0.911, 1.0, 1 / 3.}) {
      for (const std::int64_t seed : {std::int64_t{0}, std::int64_t{1}, std::int64_t{4294967295}}) {
        got += text(make_random_mask(q, k, sparsity, seed)) + "\n";
      }
    }
  }
  REQUIRE(got == want);
}
