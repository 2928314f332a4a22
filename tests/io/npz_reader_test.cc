// Reading .npz files: those of numpy, streamed ones, and every kind of hostile archive.
#include "io/array_support.h"
#include "maskctl/io/formats/npz/npz.h"

using namespace maskctl;
using namespace maskctl::test;

namespace {

Tensor read(const std::string& bytes, const std::string& key = "a",
            const ReadOptions& options = {}) {
  return NpzArchive(ByteSource::from_memory("m.npz", as_bytes(bytes))).read(key, options);
}

std::string npz_refusal(const std::string& bytes, const std::string& key = "a",
                        const ReadOptions& options = {}) {
  return error_of([&] { read(bytes, key, options); });
}

/// The bytes of the file "m.npz" that a Python script makes. In the script `member` gives .npy
/// bytes, and save(z, ...) uses zipfile.
std::string archive(const std::string& script) {
  const Scratch scratch;
  python(scratch, R"(
import warnings
warnings.simplefilter('ignore')
def npy(a):
    out = io.BytesIO(); np.save(out, a); return out.getvalue()
def patch(data, at, value):
    return data[:at] + value + data[at + len(value):]
def made(entries, method=0):
    out = io.BytesIO()
    with zipfile.ZipFile(out, 'w', method) as z:
        for name, data in entries: z.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()
def put(data): open('m.npz', 'wb').write(data)
small = npy(np.arange(6, dtype='i2').reshape(2, 3))
)" + script);
  return slurp(scratch / "m.npz");
}

}  // namespace

TEST_CASE("npz: files of np.savez and np.savez_compressed are read") {
  const Scratch scratch;
  python(scratch, R"(
rng = np.random.default_rng(1)
arrays = {'mask': rng.integers(0, 2, (300, 500)).astype(bool), 'lens': np.arange(5), 'x': np.float32(2),
          'f': np.asfortranarray(rng.standard_normal((130, 70))), 'empty': np.zeros((0, 4), 'i4'),
          'big': np.arange(9, dtype='>i4'), 'd/deep name': np.ones(3, 'u1'), '\u00e9': np.ones(2)}
np.savez('s.npz', **arrays)
np.savez_compressed('c.npz', **arrays)
class Pipe(io.RawIOBase):                       # cannot seek: flag bit 3
    def __init__(self): self.file = open('p.npz', 'wb')
    def writable(self): return True
    def write(self, b): return self.file.write(b)
with zipfile.ZipFile(Pipe(), 'w', zipfile.ZIP_DEFLATED) as z:
    for k, v in arrays.items():
        with z.open(k + '.npy', 'w', force_zip64=True) as f: np.save(f, v)
for i, v in enumerate(arrays.values()):
    open(f'{i}.raw', 'wb').write(v.astype(v.dtype.newbyteorder('<')).tobytes('C'))
)");
  const std::vector<std::string> keys = {"mask",  "lens", "x",           "f",
                                         "empty", "big",  "d/deep name", "\xC3\xA9"};
  for (const char* file : {"s.npz", "c.npz", "p.npz"}) {
    INFO(file);
    const NpzArchive archive(ByteSource(scratch / file));
    CHECK(archive.keys() == keys);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      CHECK(text_of(archive.read(keys[i]).bytes()) ==
            slurp(scratch / (std::to_string(i) + ".raw")));
    }
    CHECK(archive.read("mask").shape() == std::vector<Index>{300, 500});
    CHECK(archive.outline("f").shape == archive.read("f").shape());
    CHECK(archive.contains("lens"));
    CHECK_FALSE(archive.contains("lens.npy"));
    const PipeSource pipe(slurp(scratch / file));
    CHECK(NpzArchive(pipe.open()).read("lens").elements() == 5);
  }
}

TEST_CASE("npz: members that are not arrays are skipped") {
  const std::string bytes =
      archive("put(made([('readme.txt', b'x'), ('a.npy', small), ('d/', b'')]))");
  CHECK(NpzArchive(ByteSource::from_memory("m.npz", as_bytes(bytes))).keys() ==
        std::vector<std::string>{"a"});
  CHECK(read(bytes).as<std::int16_t>()[5] == 5);
}

TEST_CASE("npz: an archive with zip64 records is read") {
  // All bits of the 32-bit sizes are ones; the values stand in the extra field and the zip64
  // record.
  const std::string bytes = archive(R"(
n = len(small); name = b'a.npy'; import zlib
local = struct.pack('<IHHHHHIIIHH', 0x04034b50, 45, 0, 0, 0, 33, zlib.crc32(small), 2**32-1, 2**32-1, 5, 20)
local += name + struct.pack('<HHQQ', 1, 16, n, n)
extra = struct.pack('<HH', 9, 2) + b'zz' + struct.pack('<HHQQQ', 1, 24, n, n, 0)
central = struct.pack('<IHHHHHHIIIHHHHHII', 0x02014b50, 45, 45, 0, 0, 0, 33, zlib.crc32(small), 2**32-1, 2**32-1, 5, len(extra), 0, 0, 0, 0, 2**32-1) + name + extra
at = len(local) + n
end = struct.pack('<IQHHIIQQQQ', 0x06064b50, 44, 45, 45, 0, 0, 1, 1, len(central), at)
end += struct.pack('<IIQI', 0x07064b50, 0, at + len(central), 1)
end += struct.pack('<IHHHHIIH', 0x06054b50, 0, 0, 65535, 65535, 2**32-1, 2**32-1, 3) + b'abc'
put(local + small + central + end))");
  CHECK(read(bytes).as<std::int16_t>()[5] == 5);
}

TEST_CASE("npz: the error about an unknown key lists the known ones") {
  const std::string bytes = archive("put(made([('a.npy', small), ('b.npy', small)]))");
  CHECK(npz_refusal(bytes, "c") == "m.npz: no array 'c'; it has a, b");
  CHECK(npz_refusal(archive("put(made([('x.txt', b'')]))")) == "m.npz: no array 'a'; it has none");
}

TEST_CASE("npz: encrypted members and unknown compression methods are refused") {
  CHECK(contains(npz_refusal(archive(R"(
d = made([('a.npy', small)])
put(patch(d, d.index(b'PK\1\2') + 8, b'\1\0')))")),
                 "m.npz:a: encrypted zip member"));
  CHECK(contains(npz_refusal(archive("put(made([('a.npy', small)], zipfile.ZIP_BZIP2))")),
                 "m.npz:a: zip method 12; expected stored (0) or deflated (8)"));
  CHECK(contains(npz_refusal(archive("put(made([('a.npy', small)], zipfile.ZIP_LZMA))")),
                 "zip method 14"));
}

TEST_CASE("npz: two members of the same name are refused") {
  CHECK(npz_refusal(archive("put(made([('a.npy', small), ('a.npy', small)]))")) ==
        "m.npz: bad zip archive: two members named a.npy");
}

TEST_CASE("npz: overlapping members are refused") {
  CHECK(contains(npz_refusal(archive(R"(
d = made([('a.npy', small), ('b.npy', small)])
second = d.rindex(b'PK\1\2')
put(patch(d, second + 42, struct.pack('<I', 0))))")),
                 "members a.npy and b.npy overlap"));
  CHECK(contains(npz_refusal(archive(R"(
d = made([('a.npy', small), ('b.npy', small)])
first = d.index(b'PK\1\2')
n = len(small) + 1
put(patch(d, first + 20, struct.pack('<II', n, n))))")),
                 "overlap"));
}

TEST_CASE("npz: sizes and offsets beyond the file are refused") {
  CHECK(contains(npz_refusal(archive(R"(
d = made([('a.npy', small)])
put(patch(d, d.index(b'PK\1\2') + 20, struct.pack('<II', 10**6, 10**6))))")),
                 "reaches beyond the file"));
  CHECK(contains(npz_refusal(archive(R"(
d = made([('a.npy', small)])
put(patch(d, d.index(b'PK\1\2') + 42, struct.pack('<I', 10**6))))")),
                 "beyond the file"));
  CHECK(contains(npz_refusal(archive(R"(
d = made([('a.npy', small)])
put(patch(d, len(d) - 6, struct.pack('<I', 10**6))))")),
                 "central directory beyond the file"));
  CHECK(contains(npz_refusal(archive(R"(
d = made([('a.npy', small)])
put(patch(d, len(d) - 12, struct.pack('<H', 60000))))")),
                 "60000 members in a directory of"));
  CHECK(contains(npz_refusal(archive("put(made([('a.npy', small)])[:-30])")),
                 "no end of central directory"));
  CHECK(contains(npz_refusal(archive(R"(
d = made([('a.npy', small)])
put(patch(d, len(d) - 18, b'\1\0')))")),
                 "split over several files"));
}

TEST_CASE("npz: damaged data is found by its checksum") {
  CHECK(npz_refusal(archive(R"(
d = made([('a.npy', small)])
put(patch(d, d.index(b'PK\1\2') - 1, b'\x55')))")) ==
        "m.npz:a: bad zip member: checksum (CRC-32) differs; the data is damaged");
  CHECK(npz_refusal(archive(R"(
d = made([('a.npy', npy(np.zeros((0, 4))))])
put(patch(d, d.index(b'PK\1\2') - 2, b'\t')))")) ==
        "m.npz:a: bad zip member: checksum (CRC-32) differs; the data is damaged");
  CHECK(contains(npz_refusal(archive(R"(
d = made([('a.npy', npy(np.arange(5000)))], 8)
put(patch(d, 300, b'\xff' * 300)))")),
                 "m.npz:a: bad zip member: "));
}

TEST_CASE("npz: a member that is shorter or longer than declared is refused") {
  CHECK(contains(npz_refusal(archive(R"(
d = made([('a.npy', npy(np.arange(5000)))], 8)
c = d.index(b'PK\1\2')
size, = struct.unpack_from('<I', d, c + 20)
put(patch(d, c + 20, struct.pack('<I', size - 40))))")),
                 "compressed data ends early"));
  CHECK(contains(npz_refusal(archive("put(made([('a.npy', small + b'more')]))")),
                 "m.npz:a: expected 12 bytes of data, got 16"));
  CHECK(contains(npz_refusal(archive("put(made([('a.npy', small[:-1])]))")),
                 "m.npz:a: expected 12 bytes of data, got 11"));
  CHECK(contains(npz_refusal(archive(R"(
import zlib
d = made([('a.npy', small + b'more')], 8)
c = d.index(b'PK\1\2')
put(patch(patch(d, c + 24, struct.pack('<I', len(small))), c + 16, struct.pack('<I', zlib.crc32(small)))))")),
                 "unpacks to more than its declared size"));
}

TEST_CASE(
    "npz: a member whose declared size is too large or impossible is refused before unpacking") {
  const std::string bomb = archive("put(made([('a.npy', npy(np.zeros(1 << 26, bool)))], 8))");
  REQUIRE(bomb.size() < 200000);
  ReadOptions options;
  options.max_bytes = 1 << 20;
  CHECK(contains(npz_refusal(bomb, "a", options), "has 67108864 bytes; the limit is 1048576"));
  // The packed bytes are too few for the size that the archive declares.
  CHECK(contains(npz_refusal(archive(R"(
d = made([('a.npy', small)], 8)
put(patch(d, d.index(b'PK\1\2') + 24, struct.pack('<I', 3 * 10**9))))")),
                 "cannot give its declared size of 3000000000"));
  CHECK(contains(npz_refusal(archive(R"(
d = made([('a.npy', small)])
put(patch(d, d.index(b'PK\1\2') + 24, struct.pack('<I', 100))))")),
                 "cannot give its declared size of 100"));
}

TEST_CASE("npz: a pipe is kept in memory only up to max_bytes") {
  const std::string bytes = archive("put(made([('a.npy', npy(np.zeros(5000, 'i4')))]))");
  ReadOptions options;
  options.max_bytes = 10000;
  const PipeSource pipe(bytes);
  CHECK(contains(error_of([&] { NpzArchive(pipe.open(), options); }),
                 "held whole and exceeds the limit of 10000 bytes"));
}

TEST_CASE("npz: the error about a file of another format says what it looks like") {
  CHECK(npz_refusal("just text") == "m.npz: not an .npz file; it looks like text");
  CHECK(npz_refusal("") == "m.npz: not an .npz file; it looks like an empty file");
  CHECK(contains(npz_refusal(archive("put(made([('a.npy', b'not numpy')]))")),
                 "m.npz:a: not a .npy file; it looks like text"));
  CHECK(contains(npz_refusal(archive("put(made([('a.npy', npy(np.array([{}, 1], object)))]))")),
                 "m.npz:a: contains Python objects"));
}

TEST_CASE("npz: the error about an unreadable header names the file and the array") {
  const std::string nested = archive("put(made([('a.npy', made([('x', b'y')]))]))");
  const NpzArchive outer(ByteSource::from_memory("m.npz", as_bytes(nested)));
  CHECK(error_of([&] { outer.outline("a"); }) ==
        "m.npz:a: not a .npy file; it looks like a zip archive (.npz)");
}

TEST_CASE("npz: mutated archives are read or refused, without a crash") {
  const std::string good = archive("put(made([('a.npy', small), ('b.npy', small)], 8))");
  ReadOptions options;
  options.max_bytes = 1 << 20;
  CHECK(count_refused(good, good.size(), 3, [&](const std::string& bytes) {
          return npz_refusal(bytes, "a", options) != "no error";
        }) > 5000);
}
