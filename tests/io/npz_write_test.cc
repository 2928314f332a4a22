// Writing .npz files: they have the same bytes as those of np.savez.
#include "io/array_support.h"
#include "maskctl/io/formats/npz/npz.h"
#include "support/dtypes.h"

using namespace maskctl;
using namespace maskctl::test;

namespace {

std::string written(const std::vector<NamedTensor>& arrays) {
  const Scratch scratch;
  write_npz(scratch / "m.npz", arrays);
  return slurp(scratch / "m.npz");
}

/// A tensor whose bytes are 0, 1, 2, ... modulo 128, or 0, 1, 0, 1, ... for bool.
Tensor ramp(DType dtype, std::vector<Index> shape) {
  Tensor tensor(dtype, std::move(shape));
  for (std::size_t i = 0; i < tensor.bytes().size(); ++i) {
    tensor.bytes()[i] = static_cast<std::byte>(dtype == DType::kBool ? i % 2 : i % 128);
  }
  return tensor;
}

}  // namespace

TEST_CASE("npz: written files equal those of np.savez byte for byte") {
  const Scratch scratch;
  python(scratch, R"(
def ramp(t, *s):
    n = int(np.prod(s)) * np.dtype(t).itemsize
    b = (np.arange(n) % (2 if t == '|b1' else 128)).astype('u1').tobytes()
    return np.frombuffer(b, t).reshape(s)
np.savez('one.npz', mask=ramp('|b1', 2, 3))
np.savez('many.npz', mask=ramp('|b1', 40, 50), lens=ramp('<i8', 7), x=ramp('<f4'), none=ramp('<f8', 0, 4),
         **{'a/b': ramp('<u2', 3, 1), '\u00e9': ramp('|i1', 2)})
np.savez('empty.npz')
)");
  std::vector<NamedTensor> many;
  many.push_back({"mask", ramp(DType::kBool, {40, 50})});
  many.push_back({"lens", ramp(DType::kInt64, {7})});
  many.push_back({"x", ramp(DType::kFloat32, {})});
  many.push_back({"none", ramp(DType::kFloat64, {0, 4})});
  many.push_back({"a/b", ramp(DType::kUInt16, {3, 1})});
  many.push_back({"\xC3\xA9", ramp(DType::kInt8, {2})});
  CHECK(written({{"mask", ramp(DType::kBool, {2, 3})}}) == slurp(scratch / "one.npz"));
  CHECK(written(many) == slurp(scratch / "many.npz"));
  CHECK(written({}) == slurp(scratch / "empty.npz"));
}

TEST_CASE("npz: more than 65535 members are written with zip64 records, as Python does") {
  const Scratch scratch;
  python(scratch, R"(
np.savez('m.npz', **{str(i): np.zeros((), bool) for i in range(65536)})
)");
  std::vector<NamedTensor> arrays;
  for (int i = 0; i < 65536; ++i) arrays.push_back({std::to_string(i), Tensor(DType::kBool, {})});
  const std::string bytes = written(arrays);
  CHECK(bytes == slurp(scratch / "m.npz"));
  const NpzArchive archive(ByteSource(scratch / "m.npz"));
  CHECK(archive.keys().size() == 65536);
  CHECK(archive.read("65535").shape().empty());
}

TEST_CASE("npz: names that an archive cannot store are refused") {
  const Tensor tensor(DType::kBool, {1});
  CHECK(error_of([&] {
          written({{"a", tensor}, {"a", tensor}});
        }) == "two arrays named 'a' for one .npz");
  CHECK(contains(error_of([&] { written({{"", tensor}}); }), "cannot name an array"));
  CHECK(contains(error_of([&] { written({{std::string(70000, 'x'), tensor}}); }), "cannot name"));
  CHECK(contains(error_of([&] { written({{std::string("a\0b", 3), tensor}}); }), "cannot name"));
}

TEST_CASE("npz: every dtype is read back as it was written") {
  std::vector<NamedTensor> arrays;
  for (const DType dtype : npy_dtypes()) {
    arrays.push_back({std::string(name(dtype)), counting(dtype, {3, 5})});
  }
  const std::string bytes = written(arrays);
  const NpzArchive archive(ByteSource::from_memory("m.npz", as_bytes(bytes)));
  for (const NamedTensor& array : arrays) {
    const Tensor back = archive.read(array.name);
    CHECK(back.dtype() == array.tensor.dtype());
    CHECK(text_of(back.bytes()) == text_of(array.tensor.bytes()));
  }
}
