// Tests that damaged or malicious files are refused with one line and exit status 2, and that
// nothing is written.
#include <sstream>
#include <string>
#include <vector>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

/// Python that makes the files and prints "NAME|part of the error" for each. The HDF5 files refer
/// to FIFOs, so that a program that opens what they refer to waits forever.
constexpr const char* kMakeFiles = R"PY(
import io, os, struct, zipfile, zlib
import h5py, numpy as np

def npy(descr="'|b1'", shape="(4, 4)", data=b"\1" * 16, order="False", more="", version=1):
    text = "{'descr': %s, 'fortran_order': %s, 'shape': %s, %s}\n" % (descr, order, shape, more)
    size = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + size + text.encode() + data

def make(name, data, part):
    open(name, "wb").write(data)
    print(name + "|" + part)

make("pickle.npy", npy("'|O'"), "never executes pickle")
make("structure.npy", npy("[('a', '<f4')]"), "structured dtype")
make("complex.npy", npy("'<c8'"), "complex")
make("long.npy", npy("'<f16'"), "long double")
make("text.npy", npy("'<U5'"), "strings")
make("fp8.npy", npy("'<f1'"), "8-bit floats")
make("twice.npy", npy(more="'shape': (2, 8)"), "'shape' appears twice")
make("extra.npy", npy(more="'x': 1"), "key 'x'")
make("list.npy", npy(shape="[4, 4]"), "expected a tuple")
make("hex.npy", npy(shape="(0x4, 4)"), "expected ')'")
make("order.npy", npy(order="1"), "expected True or False")
make("wraps.npy", npy(shape="(4294967296, 4294967296)"), "does not fit 64 bits")
make("zero_wraps.npy", npy(shape="(0, 9223372036854775807, 9223372036854775807)"), "does not fit 64 bits")
make("negative.npy", npy(shape="(-1, 4)"), "negative dimension")
make("short.npy", npy(data=b"\1" * 15), "expected 16 bytes of data, got 15; the file is truncated")
make("axes.npy", npy(shape="(" + "1, " * 33 + ")"), "more than 8 dimensions")
make("nested.npy", npy(shape="(" * 5000), "expected a whole number")
make("header.npy", npy(more=" " * 10000), "at most 10000")
make("lies.npy", b"\x93NUMPY\2\0\xff\xff\xff\xff{", "truncated .npy header: it has 4294967295 bytes, the file 1 of them")
make("magic.npy", b"\x93NUM", "the first bytes of a .npy file; the file is truncated")
make("version.npy", npy()[:6] + b"\4" + npy()[7:], "expected 1.0, 2.0 or 3.0")
make("huge.npy", npy(shape="(1000000, 1000000)"), "got 16")
make("empty.npy", b"", "an empty file")
make("png.npy", b"\x89PNG\r\n\x1a\n", "a PNG image")

small = npy()
def archive(*members, method=0):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name, data in members: z.writestr(name, data)
    return out.getvalue()
def patched(data, at, new): return data[:at] + new + data[at + len(new):]

one = archive(("a.npy", small)); two = archive(("a.npy", small), ("b.npy", small))
central = one.index(b"PK\1\2")
make("same_names.npz", archive(("a.npy", small), ("a.npy", small)), "two members named a.npy")
make("overlap.npz", patched(two, two.rindex(b"PK\1\2") + 42, struct.pack("<I", 0)), "overlap")
make("checksum.npz", patched(one, central - 1, b"\0"), "checksum (CRC-32) differs")
make("secret.npz", patched(one, central + 8, b"\1\0"), "encrypted zip member")
make("bzip2.npz", archive(("a.npy", small), method=zipfile.ZIP_BZIP2), "zip method 12")
make("beyond.npz", patched(one, central + 20, struct.pack("<II", 10**6, 10**6)), "beyond the file")
make("cut.npz", one[:-30], "no end of central directory")
make("none.npz", archive(("readme.txt", b"x")), "none")
make("pickle.npz", archive(("a.npy", npy("'|O'"))), "never executes pickle")
make("bomb.npz", archive(("a.npy", npy(shape="(40000, 40000)", data=bytes(10**8))), method=8), "bytes of data")

def safetensors(text, data=b""):
    return struct.pack("<Q", len(text)) + text.encode() + data
make("hole.safetensors", safetensors('{"a":{"dtype":"BOOL","shape":[4],"data_offsets":[4,8]}}', b"\1" * 8), "past the previous data")
make("claim.safetensors", struct.pack("<Q", 10**8) + b"{", "")
make("names.safetensors", safetensors('{"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}}', b"\1"), "two entries 'a'")
make("fp8.safetensors", safetensors('{"a":{"dtype":"F8_E4M3FNUZ","shape":[1],"data_offsets":[0,1]}}', b"\1"), "F8_E4M3")

for name in ("raw", "other.h5"): os.mkfifo(name)
def h5(name, part, build):
    with h5py.File(name, "w") as f: build(f)
    print(name + "|" + part)
def virtual(f):
    layout = h5py.VirtualLayout((8, 8), "?"); layout[:] = h5py.VirtualSource("other.h5", "m", (8, 8))
    f.create_virtual_dataset("m", layout)
def link(f): f["m"] = h5py.ExternalLink("other.h5", "/m")
def loop(f): f["m"] = h5py.SoftLink("/n"); f["n"] = h5py.SoftLink("/m")
h5("external.h5", "external storage", lambda f: f.create_dataset("m", (8, 8), "?", external=[("raw", 0, 64)]))
h5("virtual.h5", "virtual dataset", virtual)
h5("chunk.h5", "take 2000000000 bytes each", lambda f: f.create_dataset(
    "m", (8, 8), "?", chunks=(40000, 50000), maxshape=(None, None), compression="gzip"))
h5("shape.h5", "--max-bytes", lambda f: f.create_dataset("m", (2**40, 2**20), "?", chunks=(64, 64)))
h5("compound.h5", "compound", lambda f: f.create_dataset("m", data=np.zeros((2, 2), "c8")))
with h5py.File("link.h5", "w") as f: link(f)
print("link.h5:/m|link to another file")
with h5py.File("loop.h5", "w") as f: loop(f)
print("loop.h5:/m|too many links")
make("cut.h5", open("chunk.h5", "rb").read()[:700], "")
)PY";

struct Bad {
  std::string source, part;
};

std::vector<Bad> make_files(const Sandbox& sandbox) {
  spit(sandbox.work() / "make.py", kMakeFiles);
  const Outcome made = sandbox.run("/usr/bin/python3 make.py && rm make.py");
  INFO(made.err);
  REQUIRE(made.status == 0);
  std::vector<Bad> out;
  std::istringstream lines(made.out);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t bar = line.find('|');
    out.push_back({line.substr(0, bar), line.substr(bar + 1)});
  }
  return out;
}

TEST_CASE("bad input: every command ends with exit 2 and one line, and writes nothing") {
  const Sandbox sandbox;
  const std::vector<Bad> files = make_files(sandbox);
  CHECK(files.size() > 40);
  const std::string before = sandbox.run("ls -A").out;
  for (const auto& [source, part] : files) {
    for (const std::string& command :
         {"stats " + source + " --as dense",
          "convert " + source + " --as dense --to bits -o new.npy",
          "apply " + source + " --as dense -t causal --append -o new.npz:m"}) {
      check_refused(sandbox, "timeout 20 maskctl " + command, part);
    }
  }
  CHECK(sandbox.run("ls -A").out == before);
}

TEST_CASE("bad input: a file is refused within 5 seconds and little memory") {
  const Sandbox sandbox;
  for (const auto& [source, part] : make_files(sandbox)) {
    const Outcome outcome = sandbox.run("ulimit -t 5\nulimit -d 300000\nmaskctl stats " + source +
                                        " --as dense --max-bytes 16MiB -j1");
    INFO(source << "\n" << outcome.err);
    CHECK(outcome.status == 2);
    CHECK_FALSE(contains(outcome.err, "memory"));
  }
}

TEST_CASE("bad input: wrong calls end with exit 2 and one line, and leave nothing behind") {
  const Sandbox sandbox;
  sandbox.run(
      "maskctl gen causal:n=8 -o m.npy; maskctl gen causal:n=9 -o other.npy; : >empty.npy\n"
      "mkdir folder folder.npz; printf text >text.npy");
  const std::string before = sandbox.run("ls -AR").out;
  const std::string attend = "attend flash_attention --axes Tq=8+Tk=8+D=8 ";
  const std::vector<std::pair<std::string, std::string>> table = {
      {attend + "query=none.npy", "cannot read none.npy: No such file"},
      {attend + "query=empty.npy", "an empty file"},
      {attend + "query=folder", "folder: a folder without model.safetensors"},
      {attend + "query=m.npy", "query: its axis Tq has 1, but Tq=8 was asked for"},
      {"attend flash_attention query=m.npy", "query is bool"},
      {attend + "-o none/out.npz", "cannot write none/out.npz: No such file"},
      {attend + "-o folder.npz", "Is a directory"},
      {attend + "-o m.npy", "m.npy exists"},
      {attend + "-o /dev/full", "No space left on device"},
      {"verify none.npy", "cannot read none.npy"},
      {"verify m.npy --rtol -1", "--rtol '-1': expected a number of at least 0"},
      {"verify m.npy --given other.npy", "query=SOURCE key=SOURCE value=SOURCE"},
      {"verify m.npy --op flash", "operation 'flash'"},
      {"probe make m.npy -o p.npy", "an .npy holds one array, these are 3"},
      {"probe make m.npy --dtype int8 -o p.npz", "a probe is floating-point"},
      {"probe make m.npy -o none/p.npz", "cannot write none/p.npz"},
      {"probe read m.npy other.npy", "outputs are (1, 1, 9, 9)"},
      {"probe read m.npy other.npy --threshold -1", "--threshold '-1'"},
      {"bench none", "operation 'none'"},
      {"bench --size 0", "--size '0'"},
      {"golden check none.toml", "cannot read none.toml"},
      {"golden check folder", "Is a directory"},
      {"golden check text.npy", "text.npy:1: "},
      {"golden check samples/golden.toml --junit folder", "Is a directory"},
      {"diff m.npy other.npy", "the same number of queries and of keys"},
      {"diff m.npy empty.npy", "an empty file"},
      {"diff m.npy m.npy -o folder.png/x.png", "cannot write folder.png/x.png"},
      {"check m.npy --expect subset-of:other.npy", "expected equal queries and keys"},
      {"check m.npy --segments other.npy", "has the shape (S,) or (B, S)"},
      {"recognise folder", "folder: a folder without .npy, .npz, .safetensors or .h5 files"},
      {"recognise gen:segments:n=60,docs=4,interleave=token --write none/x.npz", "cannot write"},
      {"why m.npy 1 8", "key 8 is outside of the mask"},
      {"why m.npy 1.5 2", "cell '1.5 2'"},
      {"translate -t causal --to none", "--to 'none'"},
      {"translate --hf-config text.npy", "expected a JSON object"},
      {"cost m.npy --ranks 100000", "expected 1 to 65536"},
      {"audit m.npy other.npy --block 4", "blocks of 4x4 need (2, 2)"},
  };
  for (const auto& [line, part] : table) check_refused(sandbox, "maskctl " + line, part);
  CHECK(sandbox.run("ls -AR").out == before);
}

TEST_CASE("bad input: files with spare bytes, odd bools or no cells are read, with a note") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(
      "/usr/bin/python3 -c \"import numpy as np\n"
      "np.save('m.npy', np.tri(4, dtype=bool)); open('m.npy', 'ab').write(b'more')\n"
      "np.save('odd.npy', np.array([[1, 2], [255, 0]], 'u1').view(bool))\n"
      "np.save('none.npy', np.zeros((0, 4), bool)); np.save('one.npy', np.bool_(True))\n"
      "np.save('q.npy', np.zeros((2, 4), int)); np.save('k.npy', np.zeros(0, int))\"\n"
      "maskctl stats m.npy >/dev/null || exit 3\n"
      "maskctl stats m.npy --strict >/dev/null 2>&1 && exit 4\n"
      "maskctl stats odd.npy | grep -q '3 of 4' || exit 5\n"
      "maskctl show none.npy --as dense | grep -q '(empty)' || exit 6\n"
      "maskctl show q=q.npy,kv=k.npy --as segments | grep -q '(empty)' || exit 8\n"
      "maskctl info none.npy --as dense >/dev/null && maskctl info one.npy >/dev/null || exit 7");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.err, "m.npy: expected 16 bytes of data, got 20"));
  CHECK(contains(outcome.err, "odd.npy"));
}

TEST_CASE("bad input: two numbers for n= of a generated mask say q= and k=") {
  const Sandbox sandbox;
  for (const char* size : {"1x1000", "1+1000"}) {
    const Outcome outcome = sandbox.run(std::string("maskctl show gen:causal:n=") + size);
    CHECK(outcome.status == 2);
    CHECK(contains(outcome.err, "for 1 query and 1000 keys write q=1,k=1000"));
  }
}

TEST_CASE("bad input: too little memory gives one clear error line") {
  const Sandbox sandbox;
  for (int kilobytes = 16000; kilobytes <= 64000; kilobytes += 4000) {
    const Outcome outcome =
        sandbox.run("ulimit -v " + std::to_string(kilobytes) + " && maskctl stats gen:causal:n=8");
    INFO(kilobytes << "\n" << outcome.err);
    CHECK_FALSE(contains(outcome.err, "internal error"));
    CHECK((outcome.status == 0 || !outcome.err.empty()));
  }
}

TEST_CASE("bad input: the environment does not make the HDF5 program load plugins or open files") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(
      "/usr/bin/python3 -c \"import h5py, numpy as np\n"
      "h5py.File('m.h5', 'w')['m'] = np.tri(4, dtype=bool)\"\n"
      "mkdir plugins; echo broken > plugins/libh5x.so\n"
      "export HDF5_PLUGIN_PATH=$PWD/plugins HDF5_DRIVER=split HDF5_USE_FILE_LOCKING=TRUE\n"
      "maskctl stats m.h5 | grep '10 of 16'");
  INFO(outcome.err);
  CHECK(outcome.status == 0);
}

}  // namespace
}  // namespace maskctl::test
