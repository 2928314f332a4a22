// Reading .npy files whole and by parts, honest and hostile, from files, memory and pipes.
#include <sys/resource.h>

#include <thread>

#include "io/array_support.h"
#include "maskctl/io/formats/npy/npy.h"

using namespace maskctl;
using namespace maskctl::test;

namespace {

Tensor from_memory(const std::string& bytes, const ReadOptions& options = {},
                   std::vector<std::string>* notes = nullptr) {
  return read_npy(ByteSource::from_memory("m.npy", as_bytes(bytes)), options, notes);
}

std::string reader_refusal(const std::string& bytes, const ReadOptions& options = {}) {
  return error_of([&] { from_memory(bytes, options); });
}

std::string file_of(const Tensor& tensor) {
  return text_of(npy_header_bytes(tensor.dtype(), tensor.shape())) + text_of(tensor.bytes());
}

Index peak_rss_kib() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

}  // namespace

TEST_CASE("npy: files of every dtype, shape, order and byte order are read as by numpy") {
  const Scratch scratch;
  const std::string list = python(scratch, R"(
rng = np.random.default_rng(1)
shapes = [(), (0,), (0, 4), (5,), (2, 3), (1, 7), (70, 130), (3, 1, 5), (2, 3, 4, 5), (2, 1, 65, 66)]
types = '|b1 |i1 |u1 <i2 <i4 <i8 <u2 <u4 <u8 <f2 <f4 <f8 >i2 >i4 >i8 >u2 >u4 >u8 >f2 >f4 >f8'.split()
n = 0
for t in types:
    for s in shapes:
        for order in 'CF':
            a = rng.integers(0, 120, s).astype(t)
            a = np.asarray(a, order=order)
            name = f'{n}'
            np.save(name + '.npy', a)
            with open(name + '.raw', 'wb') as out:
                out.write(a.astype(a.dtype.newbyteorder('<')).tobytes('C'))
            print(name, a.dtype.name, len(s), *s)
            n += 1
)");
  std::istringstream lines(list);
  std::string file;
  std::string type;
  int count = 0;
  for (std::size_t rank; lines >> file >> type >> rank; ++count) {
    std::vector<Index> shape(rank);
    for (Index& extent : shape) lines >> extent;
    const std::string bytes = slurp(scratch / (file + ".npy"));
    const std::string raw = slurp(scratch / (file + ".raw"));
    const Tensor tensor = read_npy(ByteSource(scratch / (file + ".npy")));
    INFO(file << " " << type);
    CHECK(tensor.dtype() == dtype_from_name(type));
    CHECK(tensor.shape() == shape);
    CHECK(text_of(tensor.bytes()) == raw);
    if (count % 8 == 0) CHECK(text_of(read_npy(PipeSource(bytes).open()).bytes()) == raw);
  }
  CHECK(count == 21 * 10 * 2);
}

TEST_CASE("npy: parts can be read in any order and from several threads") {
  const Scratch scratch;
  const Tensor tensor = counting(DType::kInt32, {1000, 100});
  spit(scratch / "m.npy", file_of(tensor));
  NpyReader reader(ByteSource(scratch / "m.npy"));
  CHECK(reader.seekable());
  std::vector<std::byte> all(tensor.bytes().size());
  {
    std::vector<std::jthread> team;
    for (Index part = 3; part >= 0; --part) {
      team.emplace_back([&, part] {
        for (Index row = part * 250; row < part * 250 + 250; ++row) {
          reader.read_rows(row * 100,
                           std::span(all).subspan(static_cast<std::size_t>(row) * 400, 400));
        }
      });
    }
  }
  CHECK(text_of(all) == text_of(tensor.bytes()));
  CHECK(contains(error_of([&] { reader.read_rows(99999, std::span(all).first(8)); }),
                 "requested from"));
  CHECK(
      contains(error_of([&] { reader.read_rows(-1, std::span(all).first(4)); }), "requested from"));
  CHECK(
      contains(error_of([&] { reader.read_rows(0, std::span(all).first(3)); }), "requested from"));
}

TEST_CASE("npy: a pipe can only be read from front to back") {
  const Tensor tensor = counting(DType::kInt16, {64});
  const PipeSource pipe(file_of(tensor));
  NpyReader reader(pipe.open());
  CHECK_FALSE(reader.seekable());
  std::vector<std::byte> part(64);
  reader.read_rows(0, part);
  CHECK(contains(error_of([&] { reader.read_rows(0, part); }), "out of order"));
  reader.read_rows(32, part);
  CHECK(text_of(part) == text_of(tensor.bytes()).substr(64));
}

TEST_CASE("npy: data shorter than the shape is refused") {
  const std::string bytes = npy(dictionary("<i4", "(4,)"), std::string(15, 'x'));
  CHECK(reader_refusal(bytes) == "m.npy: expected 16 bytes of data, got 15; the file is truncated");
  const PipeSource pipe(bytes);
  CHECK(error_of([&] { read_npy(pipe.open()); }) ==
        pipe.path() + ": expected 16 bytes of data, got 15");
}

TEST_CASE("npy: data longer than the shape gives a note, or an error if strict") {
  const std::string bytes = npy(dictionary("<i4", "(4,)"), std::string(19, 'x'));
  ReadOptions strict;
  strict.strict = true;
  std::vector<std::string> notes;
  CHECK(text_of(from_memory(bytes, {}, &notes).bytes()) == std::string(16, 'x'));
  CHECK(notes ==
        std::vector<std::string>{"m.npy: expected 16 bytes of data, got 19; the rest is ignored"});
  CHECK(reader_refusal(bytes, strict) == "m.npy: expected 16 bytes of data, got 19");
  notes.clear();
  const PipeSource pipe(bytes);
  read_npy(pipe.open(), {}, &notes);
  REQUIRE(notes.size() == 1);
  CHECK(contains(notes.front(), "expected 16 bytes of data, got more"));
  const PipeSource again(bytes);
  CHECK(contains(error_of([&] { read_npy(again.open(), strict); }), "got more"));
}

TEST_CASE("npy: arrays beyond max_bytes are refused before they are allocated") {
  const Scratch scratch;
  ReadOptions options;
  options.max_bytes = 1000;
  const std::string bytes = npy(dictionary("|b1", "(1001,)"), std::string(1001, '\1'));
  CHECK(reader_refusal(bytes, options) ==
        "m.npy: array (1001,) of bool has 1001 bytes; the limit is 1000");
  options.max_bytes = 1001;
  CHECK(from_memory(bytes, options).elements() == 1001);
}

TEST_CASE("npy: memory is not allocated for sizes that only the header claims") {
  const std::string bytes = npy(dictionary("|b1", "(4000000000,)"), "few bytes");
  const Index before = peak_rss_kib();
  CHECK(reader_refusal(bytes) ==
        "m.npy: expected 4000000000 bytes of data, got 9; the file is truncated");
  for (const char* order : {"False", "True"}) {
    const PipeSource pipe(npy(dictionary("|b1", "(2,2000000000)", order), "few bytes"));
    CHECK(contains(error_of([&] { read_npy(pipe.open()); }), "got 9"));
  }
  CHECK(peak_rss_kib() - before < 200 * 1024);
}

TEST_CASE("npy: data that arrives from a pipe in several pieces is joined") {
  const Index n = (Index{64} << 20) + 12345;
  Tensor tensor(DType::kUInt8, {n});
  for (Index i = 0; i < n; ++i) {
    tensor.bytes()[static_cast<std::size_t>(i)] = static_cast<std::byte>((i * 2654435761) >> 13);
  }
  const std::string bytes = file_of(tensor);
  CHECK(text_of(read_npy(PipeSource(bytes).open()).bytes()) == text_of(tensor.bytes()));
  const Index rows = n / 5;  // a file in Fortran order of shape (5, rows)
  const std::string turned =
      npy(dictionary("|u1", "(5, " + std::to_string(rows) + ")", "True"),
          text_of(tensor.bytes()).substr(0, static_cast<std::size_t>(rows * 5)));
  const Tensor got = read_npy(PipeSource(turned).open());
  const Tensor same = from_memory(turned);
  CHECK(text_of(got.bytes()) == text_of(same.bytes()));
  CHECK(got.bytes()[static_cast<std::size_t>(rows + 3)] == tensor.bytes()[3 * 5 + 1]);
}

TEST_CASE("npy: wrong header lengths are refused") {
  const std::string magic("\x93NUMPY\x02\0", 8);
  const std::string four_gib = magic + "\xFF\xFF\xFF\xFF{";
  CHECK(contains(reader_refusal(four_gib), "it has 4294967295 bytes, the file 1 of them"));
  const PipeSource pipe(four_gib);
  CHECK(contains(error_of([&] { read_npy(pipe.open()); }), "at most 10000"));
  std::string text = dictionary("|b1", "(1,)");
  text.resize(10000, ' ');
  CHECK(from_memory(npy(text, "\1")).elements() == 1);
  text.resize(10001, ' ');
  CHECK(contains(reader_refusal(npy(text, "\1")), "at most 10000"));
  CHECK(contains(reader_refusal(npy("{}").substr(0, 9)), "truncated .npy header"));
  CHECK(contains(reader_refusal(npy("{}").substr(0, 7)), "truncated .npy header"));
  const PipeSource cut(npy(dictionary("|b1", "(1,)")).substr(0, 30));
  CHECK(contains(error_of([&] { read_npy(cut.open()); }), "truncated .npy header"));
}

TEST_CASE("npy: versions 1.0, 2.0 and 3.0 are read, others are refused") {
  const std::string text = dictionary("|b1", "(2,)");
  for (char major : {'\2', '\3'}) {
    std::string bytes("\x93NUMPY", 6);
    bytes += major;
    bytes += std::string(1, '\0') + static_cast<char>(text.size()) + std::string(3, '\0') + text;
    CHECK(from_memory(bytes + "\1\1").elements() == 2);
  }
  for (const char* version : {"\4", "\0"}) {
    const std::string bytes = std::string("\x93NUMPY", 6) + version[0] + std::string(3, '\0');
    CHECK(contains(reader_refusal(bytes), "expected 1.0, 2.0 or 3.0"));
  }
  std::string minor = npy(text, "\1\1");
  minor[7] = '\1';
  CHECK(contains(reader_refusal(minor), ".npy version 1.1"));
}

TEST_CASE("npy: the error about a file of another format says what it looks like") {
  const auto looks_like = [](const std::string& bytes, const std::string& what) {
    return reader_refusal(bytes).starts_with("m.npy: not a .npy file; it looks like " + what);
  };
  CHECK(looks_like("", "an empty file"));
  CHECK(looks_like("PK\3\4rest", "a zip archive (.npz)"));
  CHECK(looks_like("\x89HDF\r\n\x1a\n", "an HDF5 file"));
  CHECK(looks_like("\x80\4\x95rest", "a Python pickle"));
  CHECK(looks_like("\x89PNG\r\n\x1a\n", "a PNG image"));
  CHECK(looks_like("\x1f\x8b\x08rest", "a gzip file"));
  CHECK(looks_like(std::string("\x40\0\0\0\0\0\0\0{\"a\":1}", 15), "a safetensors file"));
  CHECK(looks_like("0 1 1 0\n", "text"));
  CHECK(looks_like("GGUF\3", "a GGUF file"));
  CHECK(looks_like("PAR1\x15", "a Parquet file"));
  CHECK(looks_like(std::string("ARROW1\0\0", 8), "an Arrow file"));
  CHECK(looks_like("\x08\x0a\x12\x07pytorch", "an ONNX model"));
  CHECK(looks_like("MATLAB 5.0 MAT-file, Platform: GLNXA64", "a MATLAB file"));
  CHECK(looks_like(std::string("\0\1\2", 3), "unknown data"));
}

TEST_CASE("npy: error messages contain the name of the file once") {
  const std::string message = reader_refusal(npy(dictionary("|O", "(2,)")));
  CHECK(message == "m.npy: contains Python objects (pickle); maskctl never executes pickle");
}

TEST_CASE("npy: bytes of bools that are neither 0 nor 1 are counted") {
  const Tensor tensor = from_memory(npy(dictionary("|b1", "(5,)"), std::string("\0\1\2\xFF\1", 5)));
  CHECK(count_noncanonical_bools(tensor) == 2);
  CHECK(count_noncanonical_bools(Tensor(DType::kBool, {0})) == 0);
  CHECK(count_noncanonical_bools(from_memory(npy(dictionary("|u1", "(1,)"), "\5"))) == 0);
}

TEST_CASE("npy: mutated files are read or refused, without a crash") {
  const std::string good = file_of(counting(DType::kInt16, {3, 4}));
  ReadOptions options;
  options.max_bytes = 1 << 20;
  CHECK(count_refused(good, 90, 4, [&](const std::string& bytes) {
          return reader_refusal(bytes, options) != "no error";
        }) > 10000);
}
