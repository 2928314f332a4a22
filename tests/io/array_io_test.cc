// Arrays by name: which file and member a name means, and which names are refused.
#include <fcntl.h>
#include <sys/stat.h>

#include <thread>

#include "io/array_support.h"
#include "maskctl/io/formats/formats.h"
#include "maskctl/io/formats/npz/npz.h"
#include "support/dtypes.h"

using namespace maskctl;
using namespace maskctl::test;

namespace {

/// Replaces standard input or output by a descriptor while it lives.
class Redirect {
 public:
  Redirect(int standard, int fd) : standard_(standard), saved_(::dup(standard)) {
    ::dup2(fd, standard);
    ::close(fd);
  }
  ~Redirect() {
    ::dup2(saved_, standard_);
    ::close(saved_);
  }
  Redirect(const Redirect&) = delete;
  Redirect& operator=(const Redirect&) = delete;

 private:
  int standard_;
  int saved_;
};

int open_for_reading(const std::string& path) { return ::open(path.c_str(), O_RDONLY); }

void save(const std::string& path, const std::vector<std::string>& keys) {
  std::vector<NamedTensor> arrays;
  for (const std::string& key : keys) {
    arrays.push_back({key, counting(DType::kInt8, {static_cast<Index>(arrays.size()) + 1})});
  }
  write_npz(path, arrays);
}

}  // namespace

TEST_CASE(
    "arrays: every dtype and shape is written to .npy and .npz and read back, also by numpy") {
  const Scratch scratch;
  std::string script;
  int n = 0;
  for (const DType dtype : npy_dtypes()) {
    for (const std::vector<Index>& shape :
         {std::vector<Index>{}, {0, 4}, {7}, {2, 3}, {2, 1, 3, 5}}) {
      const Tensor tensor = counting(dtype, shape);
      const std::string file = std::to_string(n++);
      write_array(scratch / (file + ".npy"), tensor);
      write_array(scratch / (file + ".npz:key"), tensor);
      for (const char* suffix : {".npy", ".npz:key", ".npz"}) {
        const Tensor back = read_array(scratch / (file + suffix));
        CHECK(back.dtype() == dtype);
        CHECK(back.shape() == shape);
        CHECK(text_of(back.bytes()) == text_of(tensor.bytes()));
      }
      if (dtype == DType::kBFloat16) continue;  // numpy writes bfloat16 as void, |V2
      script += "a = np.load('" + file + ".npy')\n" + "assert a.dtype == '" +
                std::string(name(dtype)) + "' and a.shape == " + shape_text(shape) + "\n" +
                "np.save('copy.npy', a)\nassert open('copy.npy', 'rb').read() == open('" + file +
                ".npy', 'rb').read()\n" + "assert np.load('" + file +
                ".npz')['key'].tobytes() == a.tobytes()\n";
    }
  }
  CHECK_NOTHROW(python(scratch, script));
}

TEST_CASE("arrays: reading an .npz of several arrays requires a name") {
  const Scratch scratch;
  const std::string path = scratch / "m.npz";
  save(path, {"mask", "seg", "lens"});
  CHECK(error_of([&] { read_array(path); }) ==
        path + ": 3 arrays (mask, seg, lens), named as " + path + ":mask");
  CHECK(read_array(path + ":seg").extent(0) == 2);
  CHECK(error_of([&] { read_array(path + ":nope"); }) ==
        path + ": no array 'nope'; it has mask, seg, lens");
  save(scratch / "one.npz", {"only"});
  CHECK(read_array(scratch / "one.npz").extent(0) == 1);
  write_npz(scratch / "none.npz", {});
  CHECK(contains(error_of([&] { read_array(scratch / "none.npz"); }), "no arrays"));
}

TEST_CASE("arrays: the content of a file decides its format, not the suffix") {
  const Scratch scratch;
  save(scratch / "m.npz", {"a"});
  std::filesystem::rename(scratch / "m.npz", scratch / "m.npy");
  CHECK(read_array(scratch / "m.npy").extent(0) == 1);
  CHECK(read_array(scratch / "m.npy:a").extent(0) == 1);
  write_array(scratch / "x.dat", counting(DType::kBool, {4}));
  CHECK(read_array(scratch / "x.dat").extent(0) == 4);
  CHECK(error_of([&] { read_array(scratch / "x.dat:k"); }) ==
        (scratch / "x.dat") + ": a .npy file is one array; drop ':k'");
  spit(scratch / "t", "0 1 0");
  CHECK(
      error_of([&] { read_array(scratch / "t"); }) ==
      (scratch / "t") +
          ": it looks like text; np.save(\"m.npy\", np.loadtxt(\"m.csv\", delimiter=\",\")) makes "
          "an array of CSV; expected .npy, .npz, .safetensors or HDF5");
}

TEST_CASE("arrays: a name is split at a colon if the part before it is a file") {
  const Scratch scratch;
  save(scratch / "m.npz", {"a"});
  spit(scratch / "m.npz:b", "a file of the whole name");
  const auto parts = [](const std::string& text) {
    const SourceName name = parse_source_name(text);
    return std::pair(name.path, name.member);
  };
  using Parts = std::pair<std::string, std::string>;
  CHECK(parts(scratch / "m.npz") == Parts(scratch / "m.npz", ""));
  CHECK(parts(scratch / "m.npz:a") == Parts(scratch / "m.npz", "a"));
  CHECK(parts(scratch / "m.npz:b") == Parts(scratch / "m.npz:b", ""));
  CHECK(parts(scratch / "m.npz:x:y") == Parts(scratch / "m.npz", "x:y"));
  CHECK(parts(scratch / "m.npz:b:c") == Parts(scratch / "m.npz:b", "c"));
  CHECK(parts("none.npz:key") == Parts("none.npz", "key"));
  CHECK(parts("none.npy") == Parts("none.npy", ""));
  CHECK(parts("-") == Parts("-", ""));
  CHECK(parts("-:key") == Parts("-", "key"));
}

TEST_CASE("arrays: errors about files that cannot be read give their names") {
  const Scratch scratch;
  CHECK(error_of([] { read_array("no-such.npy"); }) ==
        "cannot read no-such.npy: No such file or directory");
  CHECK(error_of([] { read_array("no-such.npz:k"); }) ==
        "cannot read no-such.npz: No such file or directory");
  CHECK(error_of([&] { read_array(scratch.folder()); }) ==
        scratch.folder() +
            ": a folder without model.safetensors; give a file, or a folder that "
            "save_pretrained wrote");
}

TEST_CASE("arrays: standard input can be a pipe or a file") {
  const Scratch scratch;
  const Tensor tensor = counting(DType::kInt32, {3, 4});
  write_array(scratch / "m.npy", tensor);
  save(scratch / "m.npz", {"a", "b"});
  {
    const Redirect stdin_file(STDIN_FILENO, open_for_reading(scratch / "m.npy"));
    CHECK(text_of(read_array("-").bytes()) == text_of(tensor.bytes()));
  }
  {
    const PipeSource pipe(slurp(scratch / "m.npy"));
    const Redirect stdin_pipe(STDIN_FILENO, open_for_reading(pipe.path()));
    CHECK(text_of(read_array("-").bytes()) == text_of(tensor.bytes()));
  }
  for (const char* source : {"-:b", "-"}) {
    const PipeSource pipe(slurp(scratch / "m.npz"));
    const Redirect stdin_pipe(STDIN_FILENO, open_for_reading(pipe.path()));
    if (std::string(source) == "-") {
      CHECK(error_of([] { read_array("-"); }) == "stdin: 2 arrays (a, b), named as -:a");
    } else {
      CHECK(read_array(source).extent(0) == 2);
    }
  }
  {
    // Reading starts at the offset that the descriptor has, not at the start of the file.
    spit(scratch / "shifted", "skip" + slurp(scratch / "m.npy"));
    const int fd = open_for_reading(scratch / "shifted");
    ::lseek(fd, 4, SEEK_SET);
    const Redirect shifted(STDIN_FILENO, fd);
    CHECK(text_of(read_array("-").bytes()) == text_of(tensor.bytes()));
  }
}

TEST_CASE("arrays: standard output gets a .npy, unless it is a terminal") {
  const Scratch scratch;
  const Tensor tensor = counting(DType::kInt32, {3, 4});
  {
    const Redirect out(STDOUT_FILENO, ::open((scratch / "o").c_str(), O_WRONLY | O_CREAT, 0600));
    write_array("-", tensor);
  }
  CHECK(text_of(read_array(scratch / "o").bytes()) == text_of(tensor.bytes()));
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  std::string npy_error;
  std::string npz_error;
  {
    const Redirect out(STDOUT_FILENO, ::dup(terminal));
    npy_error = error_of([&] { write_array("-", tensor); });
    npz_error = error_of([&] { write_npz("/dev/stdout", {}); });
  }
  ::close(terminal);
  CHECK(npy_error == "refusing to write .npy to a terminal");
  CHECK(npz_error == "refusing to write .npz to a terminal");
}

TEST_CASE("arrays: writing to full devices and existing files is an error") {
  const Scratch scratch;
  const Tensor tensor = counting(DType::kInt32, {3, 4});
  CHECK(error_of([&] { write_array("/dev/full", tensor); }) ==
        "cannot write /dev/full: No space left on device");
  {
    const Redirect out(STDOUT_FILENO, ::open("/dev/full", O_WRONLY));
    CHECK(error_of([&] { write_array("-", tensor); }) ==
          "cannot write stdout: No space left on device");
  }
  const std::string path = scratch / "out.npy";
  write_array(path, tensor);
  CHECK(error_of([&] { write_array(path, tensor); }) == path + " exists");
  WriteOptions force;
  force.force = true;
  write_array(path, counting(DType::kBool, {9}), force);
  CHECK(read_array(path).extent(0) == 9);
  CHECK(scratch.entries() == 1);
}

TEST_CASE("arrays: an .npz can be written to a FIFO, with the requested key") {
  const Scratch scratch;
  write_array(scratch / "m.npz", counting(DType::kBool, {2}));
  CHECK(NpzArchive(ByteSource(scratch / "m.npz")).keys() == std::vector<std::string>{"arr_0"});
  const std::string fifo = scratch / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  std::string got;
  std::thread reader([&] { got = slurp(fifo); });
  write_npz(fifo, std::vector<NamedTensor>{{"arr_0", counting(DType::kBool, {2})}});
  reader.join();
  CHECK(got == slurp(scratch / "m.npz"));
}

TEST_CASE("arrays: a .npy that is written in parts must get all its elements") {
  const Scratch scratch;
  const Tensor tensor = counting(DType::kInt16, {4, 5});
  const auto start = [&](const char* file, DType dtype, std::vector<Index> shape) {
    return array_writer(scratch / file, dtype, std::move(shape), {}, 1 << 20);
  };
  const auto writer = start("m.npy", DType::kInt16, {4, 5});
  for (std::size_t row = 0; row < 4; ++row) {
    if (row == 3) {
      CHECK(contains(error_of([&] { start("n.npy", DType::kBool, {3})->commit(); }),
                     "3 bytes fewer written"));
    }
    writer->write(tensor.bytes().subspan(row * 10, 10));
  }
  CHECK(contains(error_of([&] { writer->write(tensor.bytes().first(1)); }), "leaves 0"));
  writer->commit();
  CHECK(text_of(read_array(scratch / "m.npy").bytes()) == text_of(tensor.bytes()));
  CHECK(scratch.entries() == 1);
}

TEST_CASE("arrays: looking at the content of a pipe does not consume it") {
  const Scratch scratch;
  write_array(scratch / "m.npy", counting(DType::kBool, {300}));
  const std::string bytes = slurp(scratch / "m.npy");
  const PipeSource pipe(bytes);
  ByteSource source = pipe.open();
  CHECK_FALSE(source.seekable());
  CHECK_FALSE(source.size());
  CHECK(look_at(source).format == &kNpyFormat);
  CHECK(text_of(source.peek(6)) == bytes.substr(0, 6));
  std::vector<std::byte> first(10);
  CHECK(source.read(first) == 10);
  CHECK(text_of(source.peek(20)) == bytes.substr(10, 20));
  CHECK(source.position() == 10);
  std::vector<std::byte> rest(1000);
  CHECK(source.read(rest) == static_cast<Index>(bytes.size()) - 10);
  CHECK(text_of(rest).substr(0, bytes.size() - 10) == bytes.substr(10));
  CHECK(source.peek(1).empty());
  CHECK(contains(error_of([&] { source.read_at(0, first); }), "cannot be read out of order"));
}

TEST_CASE("arrays: a file can be read in order and at positions at the same time") {
  const Scratch scratch;
  spit(scratch / "f", "0123456789");
  ByteSource source(scratch / "f");
  CHECK(source.size() == 10);
  CHECK(source.seekable());
  std::vector<std::byte> four(4);
  CHECK(source.read(four) == 4);
  CHECK(source.read_at(7, four) == 3);
  CHECK(text_of(source.peek(3)) == "456");
  CHECK(source.read_at(10, four) == 0);
  CHECK(source.read(four) == 4);
  CHECK(text_of(four) == "4567");
  CHECK(source.position() == 8);
}
