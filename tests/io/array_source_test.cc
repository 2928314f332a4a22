// Parts of arrays, read from files of every format, against the same parts of the whole array.
#include "maskctl/io/array_source.h"

#include "io/array_support.h"
#include "maskctl/base/error.h"

using namespace maskctl;
using namespace maskctl::test;

namespace {

const ArrayPlace kPlace = {{{1, 3}}, {{0, 2}, {4, 5}}, {{1, 2}}};

/// The part kPlace of an array, copied element by element.
Tensor part_of(const Tensor& whole) {
  Tensor part(whole.dtype(), shape_of(kPlace));
  std::size_t to = 0;
  for (Index b = 1; b < 3; ++b) {
    for (const Index t : {0, 1, 4}) {
      part.as<std::int32_t>()[to++] =
          whole.as<std::int32_t>()[static_cast<std::size_t>((b * 5 + t) * 3 + 1)];
    }
  }
  return part;
}

}  // namespace

TEST_CASE("parts of arrays are read from every format") {
  const Scratch folder;
  const Tensor whole = counting(DType::kInt32, {3, 5, 3});
  for (const char* file : {"a.npy", "a.npz", "a.safetensors", "a.h5"}) {
    CAPTURE(file);
    for (const int gzip : {0, 5}) {
      const bool packs = std::string_view(file) == "a.npz" || std::string_view(file) == "a.h5";
      if (gzip > 0 && !packs) continue;
      WriteOptions options;
      options.force = true, options.gzip = gzip;
      const std::string path = folder / file;
      write_array(path, whole, options);
      ArraySource source(path);
      CHECK(source.shape() == whole.shape());
      CHECK(source.dtype() == DType::kInt32);
      const Tensor part = source.read(kPlace);
      CHECK(part.shape() == std::vector<Index>{2, 3, 1});
      CHECK(std::ranges::equal(part.bytes(), part_of(whole).bytes()));
    }
  }
}

TEST_CASE("a part beyond the limit is refused, a smaller part of the same file is not") {
  const Scratch folder;
  const std::string path = folder / "a.npy";
  write_array(path, counting(DType::kInt32, {3, 5, 3}));
  ReadOptions options;
  options.max_bytes = 30;
  CHECK(ArraySource(path, options).read(kPlace).elements() == 6);
  CHECK_THROWS_AS(ArraySource(path, options).read({{{0, 3}}, {{0, 5}}, {{0, 3}}}), Error);
}
