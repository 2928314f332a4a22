// HDF5 against h5py: each reads the files of the other with equal arrays.
#include "maskctl/io/formats/hdf5/hdf5.h"

#include <algorithm>
#include <sstream>

#include "io/array_support.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/tensor/convert.h"

using namespace maskctl;
using namespace maskctl::test;

namespace {

std::string make_hdf5(const Scratch& scratch, const std::string& what) {
  return python(scratch, "import runpy\nsys.argv = ['make_hdf5.py', '" + what + "']\n" +
                             "runpy.run_path('" MASKCTL_SOURCE_DIR
                             "/tests/io/make_hdf5.py', run_name='__main__')\n");
}

/// The files that h5py writes, made once for all tests.
struct Arrays {
  Scratch scratch;
  std::string listed = make_hdf5(scratch, "arrays");
};
const Arrays& arrays() {
  static const Arrays made;
  return made;
}

void check_equal(const Tensor& a, const Tensor& b) {
  CHECK(a.dtype() == b.dtype());
  CHECK(a.shape() == b.shape());
  CHECK(std::ranges::equal(a.bytes(), b.bytes()));
}

/// Undoes Python's unicode_escape in the names that make_hdf5.py prints.
std::string unescape(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    if (c == 'x') {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      out += c == 't' ? '\t' : '\n';
    }
  }
  return out;
}

std::string read_error(const std::string& source, const ReadOptions& options = {}) {
  return error_of([&] { read_array(source, options); });
}

}  // namespace

TEST_CASE("hdf5: arrays of every dtype, layout and filter of h5py are read") {
  const Scratch& scratch = arrays().scratch;
  std::istringstream lines(arrays().listed);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const std::size_t bar = line.rfind('|');
    const std::string path = unescape(line.substr(0, bar));
    CAPTURE(path);
    check_equal(read_array(scratch / "arrays.h5:" + path),
                read_array(scratch / line.substr(bar + 1)));
  }
  CHECK(count > 190);
}

TEST_CASE("hdf5: a dataset is read from a pipe as from a file") {
  const Scratch& scratch = arrays().scratch;
  const PipeSource pipe(slurp(scratch / "arrays.h5"));
  check_equal(read_array(pipe.path() + ":/all/d0"), read_array(scratch / "arrays.h5:/all/d0"));
}

TEST_CASE("hdf5: a pipe beyond the limit is refused") {
  const Scratch& scratch = arrays().scratch;
  const PipeSource pipe(slurp(scratch / "arrays.h5"));
  CHECK(contains(read_error(pipe.path() + ":/all/d0", {.max_bytes = 100000}),
                 "HDF5 from a pipe is held in memory"));
}

TEST_CASE("hdf5: a mask read from a chunked dataset has the cells of the dataset") {
  const Scratch& scratch = arrays().scratch;
  MaskReadOptions options;
  options.as = ArrayKind::kDense;
  const Mask chunked = read_mask(scratch / "arrays.h5:/rank/4", options).mask;
  const Tensor plain = read_array(scratch / "arrays.h5:/rank/4");
  CHECK(std::ranges::equal(dense_from_mask(chunked, 1 << 20).bytes(), plain.bytes()));
}

TEST_CASE("hdf5: objects of newer versions of HDF5 do not hide the others") {
  // h5py 3.16 with HDF5 2.0 wrote these files: File(name, "w", libver=(VERSION, VERSION)).
  for (const std::string version : {"v112", "latest"}) {
    const std::string file = MASKCTL_SOURCE_DIR "/tests/data/hdf5_" + version + ".h5";
    CAPTURE(file);
    CHECK(read_array(file + ":/f").shape() == std::vector<Index>{2, 3, 3});
    const Hdf5Listing listing = list_hdf5(ByteSource(file));
    REQUIRE_FALSE(listing.unreadable.empty());
    CHECK(listing.find("/f") != nullptr);
    const auto readable = [](const std::string& path) {
      return !contains(read_error(path), "cannot open it");
    };
    CHECK(readable(file + ":/c") == (version == "v112"));
    for (const std::string name : {":/a_mask", ":/b_alias"}) {  // two names of one object
      CHECK(contains(read_error(file + name), "cannot open it: bad version number"));
      CHECK(contains(read_error(file + name), "libver=('earliest', 'v110')"));
    }
    CHECK(contains(read_error(file + ":/other"), "no dataset of this name"));
    CHECK(contains(read_error(file), "choose one"));  // the array that is meant may be unreadable
  }
}

TEST_CASE("hdf5: bfloat16 is read from two opaque bytes, or from a float type of its layout") {
  const Scratch& scratch = arrays().scratch;
  const Tensor opaque = read_array(scratch / "bf16.h5:/v2");
  const Tensor typed = read_array(scratch / "bf16.h5:/float");
  check_equal(opaque, typed);
  CHECK(astype(typed, DType::kFloat32).as<float>()[0] == 1.0F);
  CHECK(read_array(scratch / "bf16.h5:/b8").dtype() == DType::kBool);
}

TEST_CASE("hdf5: a file after a user block is read, and its only matrix is chosen") {
  const Scratch& scratch = arrays().scratch;
  check_equal(read_array(scratch / "block.h5"), read_array(scratch / "block.h5:/mask"));
  CHECK(read_array(scratch / "block.h5::/lengths").shape() == std::vector<Index>{3});
  CHECK(read_array(scratch / "block.h5:lengths").elements() == 3);
}

TEST_CASE("hdf5: the error about an object that is no array of numbers names it") {
  const Scratch& scratch = arrays().scratch;
  const auto text = [&](const char* name) { return read_error(scratch / "unread.h5:/" + name); };
  CHECK(contains(text("string"), "elements of type string"));
  CHECK(contains(text("compound"), "elements of type compound"));
  CHECK(contains(text("complex"), "elements of type compound"));
  CHECK(contains(text("null"), "null dataspace"));
  CHECK(contains(text("colour"), "elements of type enumeration (GREEN, RED)"));
  CHECK(contains(text("liar"), "enumeration (FALSE, TRUE)"));
}

TEST_CASE("hdf5: the list of a file has shapes, storage and attributes") {
  const Scratch& scratch = arrays().scratch;
  const Hdf5Listing list = list_hdf5(ByteSource(scratch / "arrays.h5"));
  const Hdf5Dataset* dataset = list.find("/gzip9_shuffle/d7");
  REQUIRE(dataset != nullptr);
  CHECK(dataset->dtype == "<i4");
  CHECK(dataset->shape == std::vector<Index>{37, 23});
  CHECK(dataset->storage == "chunked 16,2");
  CHECK(dataset->filters == std::vector<std::string>{"shuffle", "gzip 9"});
  CHECK(std::ranges::find(list.links, "/soft") != list.links.end());
  const Hdf5Listing unread = list_hdf5(ByteSource(scratch / "unread.h5"));
  CHECK(unread.attribute("/", "text") == "a\tb\n100%");
  CHECK(unread.attribute("/null", "numbers") == "[1, 2, 3]");
  CHECK(unread.attribute("/null", "half") == "0.5");
  CHECK(unread.attribute("/null", "flag") == "true");
  CHECK(unread.attribute("/null", "fixed") == "fixed");
  CHECK_FALSE(unread.attribute("/null", "none"));
  CHECK_FALSE(unread.find("/null")->shape);
}

TEST_CASE("hdf5: a name that is no dataset gives an error that lists the datasets") {
  const Scratch scratch;
  const std::string path = scratch / "m.h5";
  {
    Hdf5Writer writer(path);
    writer.dataset("/a", counting(DType::kBool, {2, 3}));
    writer.dataset("/g/b", counting(DType::kBool, {4, 4}));
    writer.dataset("/g/c", counting(DType::kInt32, {4}));
    writer.commit();
  }
  CHECK(read_error(path) == path + ": 2 datasets (/a, /g/b); choose one: " + path + ":/a");
  CHECK(read_error(path + ":/x") ==
        path + ":/x: no dataset of this name; the datasets are /a, /g/b, /g/c");
  CHECK(read_error(path + ":/g") ==
        path + ":/g: not a dataset but a group; the datasets are /g/b, /g/c");
  CHECK(contains(read_error(path + ":/a/x"), "no dataset of this name"));
  CHECK(contains(read_error(scratch / "none.h5:/a"), "No such file"));
  CHECK(contains(read_error(path + ":/g/b", {.max_bytes = 15}), "16 bytes; the limit is 15"));
}

TEST_CASE("hdf5: h5py reads the files that are written") {
  const Scratch scratch;
  const auto dtypes = {DType::kBool,   DType::kInt8,    DType::kInt16,    DType::kInt32,
                       DType::kInt64,  DType::kUInt8,   DType::kUInt16,   DType::kUInt32,
                       DType::kUInt64, DType::kFloat16, DType::kBFloat16, DType::kFloat32,
                       DType::kFloat64};
  const std::string file = scratch / "written.h5";
  const auto write = [&](const std::string& name, const Tensor& tensor, int gzip) {
    write_array(file + ":/" + name, tensor, {.append = true, .gzip = gzip});
    std::string flat = name;
    std::ranges::replace(flat, '/', '_');
    write_array(scratch / flat + ".npy", tensor);
    check_equal(read_array(file + ":" + name), tensor);
  };
  std::size_t count = 0;
  for (const DType dtype : dtypes) {
    write("plain/" + std::string(name(dtype)), counting(dtype, {3, 5, 2}), 0);
    write("gzip/" + std::string(name(dtype)), counting(dtype, {30, 50}), 4);
    count += 2;
  }
  write("scalar", counting(DType::kInt64, {}), 0);
  write("scalar_gzip", counting(DType::kInt64, {}), 4);
  write("empty", counting(DType::kBool, {3, 0}), 4);
  write("wide", counting(DType::kBool, {3, 700000}), 1);
  Hdf5Writer writer(file, {.append = true});
  writer.attribute("/", "note", "100% \xC3\xA9");
  writer.attribute("/new/group", "made", "");
  writer.commit();
  CHECK(make_hdf5(scratch, "check") == std::to_string(count + 4) + " note=100% \xC3\xA9\n");
  CHECK(list_hdf5(ByteSource(file)).attribute("/new/group", "made") == "");
}

TEST_CASE("hdf5: a file appears complete or not at all, and keeps its other content") {
  const Scratch scratch;
  const std::string path = scratch / "m.h5";
  const Tensor tensor = counting(DType::kBool, {8, 8});
  write_array(path + ":/a", tensor);
  const std::string before = slurp(path);

  SECTION("an existing file is kept without force") {
    CHECK(error_of([&] { write_array(path, tensor); }) == path + " exists and holds 1 array (/a)");
    CHECK(slurp(path) == before);
  }
  SECTION("an existing dataset is kept without force, and replaced with it") {
    const Tensor other = counting(DType::kInt32, {2});
    const auto add = [&] { write_array(path + ":/a", other, {.append = true}); };
    CHECK(contains(error_of(add), "already holds an array '/a'"));
    CHECK(offers(Remedy::kOverwrite, add));
    CHECK(slurp(path) == before);
    write_array(path + ":/a", other, {.force = true, .append = true});
    check_equal(read_array(path + ":/a"), other);
  }
  SECTION("an array is no group") {
    CHECK(contains(error_of([&] { write_array(path + ":/a/b", tensor); }),
                   "holds an array '/a', so there is no group for '/a/b'"));
    CHECK(slurp(path) == before);
  }
  SECTION("equal arrays give equal bytes") {
    write_array(scratch / "again.h5:/a", tensor);
    CHECK(slurp(scratch / "again.h5") == before);
  }
  SECTION("nothing is left of a file that was not finished") {
    {
      Hdf5Writer writer(path, {.force = true});
      writer.begin("/b", DType::kBool, {100, 100});
      writer.write(tensor.bytes());
      CHECK(contains(error_of([&] { writer.commit(); }), "fewer written"));
    }
    CHECK(slurp(path) == before);
    CHECK(scratch.entries() == 1);
  }
  SECTION("only HDF5 is added to") {
    spit(path, "text");
    CHECK(contains(error_of([&] { write_array(path + ":/b", tensor, {.append = true}); }),
                   "it looks like text"));
    CHECK(scratch.entries() == 1);
  }
  SECTION("a mask is written by bands") {
    const Mask mask = mask_from_dense(tensor);
    write_mask(scratch / "mask.h5:/g/mask", mask);
    const Tensor back = read_array(scratch / "mask.h5");
    CHECK(back.shape() == std::vector<Index>{1, 1, 8, 8});
    CHECK(std::ranges::equal(back.bytes(), tensor.bytes()));
  }
  SECTION("runs are a group of arrays") {
    const Mask mask = mask_from_dense(tensor);
    MaskWriteOptions options;
    options.kind = ArrayKind::kRuns;
    write_mask(scratch / "runs.h5:/g", mask, options);
    const LoadedMask back = read_mask(scratch / "runs.h5:/g");
    CHECK(back.kind == ArrayKind::kRuns);
    CHECK(std::ranges::equal(dense_from_mask(back.mask, 1 << 20).bytes(), tensor.bytes()));
  }
}
