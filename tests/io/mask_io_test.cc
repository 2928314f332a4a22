// Masks in and out of files and pipes, against the same arrays in memory.
#include "maskctl/io/mask_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "maskctl/base/error.h"
#include "maskctl/mask/bands.h"
#include "maskctl/mask/dense.h"
#include "maskctl/tensor/convert.h"
#include "support/catch_compat.h"

using namespace maskctl;

namespace {

constexpr DType kAllTypes[] = {DType::kBool,    DType::kInt8,    DType::kInt16,  DType::kInt32,
                               DType::kInt64,   DType::kUInt8,   DType::kUInt16, DType::kUInt32,
                               DType::kUInt64,  DType::kFloat16, DType::kFloat32, DType::kFloat64};

using Cells = std::vector<std::uint8_t>;
using Values = std::vector<std::int64_t>;

/// A folder of its own that goes away with it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "mask_io_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

Cells random_cells(Index n, unsigned seed, double density = 0.5) {
  std::mt19937 random(seed);
  std::bernoulli_distribution open(density);
  Cells out(static_cast<std::size_t>(n));
  for (auto& cell : out) cell = open(random);
  return out;
}

Tensor bool_tensor(std::vector<Index> shape, const Cells& cells) {
  Tensor out(DType::kBool, std::move(shape));
  std::copy(cells.begin(), cells.end(), out.as<std::uint8_t>().begin());
  return out;
}

Tensor int_tensor(std::vector<Index> shape, const Values& values, DType dtype = DType::kInt64) {
  Tensor out(DType::kInt64, std::move(shape));
  std::copy(values.begin(), values.end(), out.as<std::int64_t>().begin());
  return astype(out, dtype);
}

Cells cells_of(const Mask& mask) {
  const Tensor dense = dense_from_mask(mask, Index{1} << 30);
  const auto bytes = dense.as<std::uint8_t>();
  return {bytes.begin(), bytes.end()};
}

std::string bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A .npy as numpy writes it, of a C-order tensor, in any order of bytes and axes.
void save(const std::string& path, const Tensor& tensor, bool fortran, bool big_endian) {
  std::string text;
  for (std::byte b : npy_header_bytes(tensor.dtype(), tensor.shape(), fortran)) {
    text += static_cast<char>(b);
  }
  if (big_endian) std::replace(text.begin() + 10, text.end(), '<', '>');
  const auto size = static_cast<std::size_t>(size_bytes(tensor.dtype()));
  const auto& shape = tensor.shape();
  std::vector<Index> at(shape.size());
  for (Index n = 0; n < tensor.elements(); ++n) {
    Index c_order = n;
    if (fortran) {
      Index rest = n;
      for (std::size_t i = 0; i < shape.size(); ++i) at[i] = rest % shape[i], rest /= shape[i];
      c_order = 0;
      for (std::size_t i = 0; i < shape.size(); ++i) c_order = c_order * shape[i] + at[i];
    }
    std::string element(reinterpret_cast<const char*>(tensor.bytes().data()) +
                            static_cast<std::size_t>(c_order) * size, size);
    if (big_endian) std::reverse(element.begin(), element.end());
    text += element;
  }
  std::ofstream(path, std::ios::binary) << text;
}

/// A FIFO that a thread fills with the bytes of a file, in small writes.
class Fifo {
 public:
  Fifo(const Folder& folder, const std::string& file) : path(folder / "fifo") {
    if (mkfifo(path.c_str(), 0600) != 0) throw std::runtime_error("no fifo");
    writer_ = std::thread([path = path, bytes = bytes_of_file(file)] {
      const int fd = open(path.c_str(), O_WRONLY);
      for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t n = std::min<std::size_t>(bytes.size() - at, 1000 + at % 77777);
        const ssize_t written = write(fd, bytes.data() + at, n);
        if (written < 0) break;
        at += static_cast<std::size_t>(written);
      }
      close(fd);
    });
  }
  ~Fifo() {
    writer_.join();
    unlink(path.c_str());
  }
  const std::string path;

 private:
  std::thread writer_;
};

std::string error_of(const std::string& source, const MaskReadOptions& options = {}) {
  try {
    read_mask(source, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

MaskReadOptions as(Kind kind) {
  MaskReadOptions options;
  options.as = kind;
  return options;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const bool kIgnoreSigpipe = signal(SIGPIPE, SIG_IGN) != SIG_ERR;

}  // namespace

TEST_CASE("a streamed file of any dtype and layout equals the array in memory") {
  const Folder folder;
  const DType dtype = GENERATE(from_range(std::begin(kAllTypes), std::end(kAllTypes)));
  const bool fortran = GENERATE(false, true);
  const bool big_endian = GENERATE(false, true);
  const std::vector<Index> shape =
      GENERATE(std::vector<Index>{300, 300}, std::vector<Index>{1, 1, 67, 130},
               std::vector<Index>{2, 3, 40, 65}, std::vector<Index>{3, 1, 50});
  CAPTURE(name(dtype), fortran, big_endian, shape);
  if (big_endian && size_bytes(dtype) == 1) return;
  Index n = 1;
  for (Index extent : shape) n *= extent;
  const Cells cells = random_cells(n, 4);
  const std::string path = folder / "m.npy";
  save(path, astype(bool_tensor(shape, cells), dtype), fortran, big_endian);
  const LoadedMask loaded = read_mask(path);
  CHECK(loaded.kind == Kind::kDense);
  CHECK(loaded.dtype == name(dtype));
  CHECK(loaded.array_shape == shape);
  CHECK(loaded.notes.empty());
  CHECK(cells_of(loaded.mask) == cells);
  const Fifo fifo(folder, path);
  CHECK(cells_of(read_mask(fifo.path).mask) == cells);
}

TEST_CASE("rows longer than a piece are read in parts") {
  const Folder folder;
  const DType dtype = GENERATE(DType::kBool, DType::kFloat64);
  const Index keys = GENERATE(262144, 300001);
  CAPTURE(name(dtype), keys);
  const Cells cells = random_cells(3 * keys, 5);
  const std::string path = folder / "m.npy";
  save(path, astype(bool_tensor({1, 3, keys}, cells), dtype), false, false);
  CHECK(cells_of(read_mask(path).mask) == cells);
  const Fifo fifo(folder, path);
  CHECK(cells_of(read_mask(fifo.path).mask) == cells);
}

TEST_CASE("keep-value 0 turns dense and padding masks around") {
  const Folder folder;
  const Cells cells = random_cells(2 * 70 * 70, 6);
  Cells inverted = cells;
  for (auto& cell : inverted) cell ^= 1;
  write_array(folder / "m.npy", bool_tensor({2, 70, 70}, cells));
  MaskReadOptions options;
  options.keep_value_is_zero = true;
  CHECK(cells_of(read_mask(folder / "m.npy", options).mask) == inverted);
  write_array(folder / "p.npy", int_tensor({1, 4}, {0, 0, 1, 0}));
  options.as = Kind::kKeyPadding;
  options.shape = std::vector<Index>{1, 1, 1, 4};
  CHECK(cells_of(read_mask(folder / "p.npy", options).mask) == Cells{1, 1, 0, 1});
  options.as = Kind::kSegments;
  CHECK(contains(error_of(folder / "p.npy", options), "--keep-value 0 has no meaning for the kind"));
}

TEST_CASE("values other than 0 and 1 are an error that names the first") {
  const Folder folder;
  const std::string path = folder / "m.npy";
  Tensor bias(DType::kFloat32, {5, 5});
  bias.as<float>()[3] = -INFINITY;
  bias.as<float>()[9] = 7;
  write_array(path, bias);
  const std::string expected = path + ": values other than 0 and 1, the first is -inf at (0, 3); "
                               "expected a 0/1 mask; additive masks (bias) are not read";
  CHECK(error_of(path) == expected);
  save(path, bias, true, false);
  CHECK(contains(error_of(path), "the first is -inf at (0, 3)"));
  Values many(2 * 300 * 300, 1);
  many[300 * 300 + 5 * 300 + 6] = -3;
  many[300 * 300 + 290 * 300] = 9;
  save(path, int_tensor({2, 300, 300}, many), false, true);
  CHECK(contains(error_of(path), "the first is -3 at (1, 5, 6); expected a 0/1 mask; ids need"));
}

TEST_CASE("a bad value in a pipe is an error although the writer stalls") {
  const Folder folder;
  const std::string path = folder / "m.npy";
  Values many(8 * 300 * 300, 1);
  many[2] = 5;
  write_array(path, int_tensor({8, 300, 300}, many));
  const Fifo fifo(folder, path);
  CHECK(contains(error_of(fifo.path), "the first is 5 at (0, 0, 2)"));
}

TEST_CASE("odd bytes of a bool are true and noted") {
  const Folder folder;
  const std::string path = folder / "m.npy";
  write_array(path, bool_tensor({2, 2}, {0, 1, 1, 1}));
  std::string bytes = bytes_of_file(path);
  bytes[bytes.size() - 1] = '\xff';
  bytes[bytes.size() - 2] = '\x02';
  std::ofstream(path, std::ios::binary) << bytes;
  const LoadedMask loaded = read_mask(path);
  CHECK(cells_of(loaded.mask) == Cells{0, 1, 1, 1});
  REQUIRE(loaded.notes.size() == 1);
  CHECK(loaded.notes[0] == path + ": 2 non-canonical bool bytes (neither 0 nor 1) count as true");
}

TEST_CASE("the limit is for the packed form and not for the file") {
  const Folder folder;
  const std::string path = folder / "m.npy";
  write_array(path, astype(bool_tensor({512, 512}, random_cells(512 * 512, 1)), DType::kFloat64));
  MaskReadOptions options;
  options.read.max_bytes = 50000;   // 2 MiB of file, 32 KiB of bits
  CHECK(read_mask(path, options).mask.count() > 0);
  options.read.max_bytes = 30000;
  CHECK(contains(error_of(path, options), "bytes when packed, over the limit of 30000"));
}

TEST_CASE("data that ends early is an error in files and pipes") {
  const Folder folder;
  const std::string path = folder / "m.npy";
  write_array(path, bool_tensor({2000, 2000}, random_cells(2000 * 2000, 1)));
  std::filesystem::resize_file(path, 3000000);
  CHECK(error_of(path) != "no error");
  const Fifo fifo(folder, path);
  CHECK(error_of(fifo.path) != "no error");
}

TEST_CASE("progress rises to 1") {
  const Folder folder;
  write_array(folder / "m.npy", bool_tensor({600, 600}, random_cells(600 * 600, 1)));
  std::vector<double> told;
  MaskReadOptions options;
  options.progress = [&](double fraction) { told.push_back(fraction); };
  const LoadedMask loaded = read_mask(folder / "m.npy", options);
  REQUIRE_FALSE(told.empty());
  CHECK(std::is_sorted(told.begin(), told.end()));
  CHECK(told.back() == 1.0);
  told.clear();
  MaskWriteOptions write;
  write.progress = options.progress;
  write_mask(folder / "o.npy", loaded.mask, write);
  REQUIRE_FALSE(told.empty());
  CHECK(told.back() == 1.0);
}

TEST_CASE("a written dense mask is the array that numpy would save") {
  const Folder folder;
  const DType dtype = GENERATE(from_range(std::begin(kAllTypes), std::end(kAllTypes)));
  const bool invert = GENERATE(false, true);
  CAPTURE(name(dtype), invert);
  Cells cells = random_cells(2 * 2 * 33 * 77, 8);
  const Mask mask = mask_from_dense(bool_tensor({2, 2, 33, 77}, cells));
  MaskWriteOptions options;
  options.dtype = dtype;
  options.keep_value_is_zero = invert;
  write_mask(folder / "m.npy", mask, options);
  if (invert) {
    for (auto& cell : cells) cell ^= 1;
  }
  write_array(folder / "expected.npy", astype(bool_tensor({2, 2, 33, 77}, cells), dtype));
  CHECK(bytes_of_file(folder / "m.npy") == bytes_of_file(folder / "expected.npy"));
  write_mask(folder / "m.npz", mask, options);
  CHECK(cells_of(read_mask(folder / "m.npz").mask) == cells);
}

TEST_CASE("a large mask is written in bands and read back") {
  const Folder folder;
  const Mask mask(diagonal_band(5000, 3001, -900, 300));
  write_mask(folder / "m.npy", mask, {});
  const LoadedMask back = read_mask(folder / "m.npy");
  CHECK(shape_text(back.mask) == "[B 1, H 1, Q 5000, K 3001]");
  CHECK(zip(Op::kXor, back.mask, mask).count() == 0);
}

TEST_CASE("masks without cells are written and read") {
  const Folder folder;
  const Mask mask(empty_plane(0, 5));
  write_mask(folder / "m.npy", mask, {});
  CHECK(shape_text(read_mask(folder / "m.npy").mask) == "[B 1, H 1, Q 0, K 5]");
  write_mask(folder / "m.npz", mask, {.kind = Kind::kRuns});
  CHECK(shape_text(read_mask(folder / "m.npz").mask) == "[B 1, H 1, Q 0, K 5]");
}

TEST_CASE("an existing file stays unless forced") {
  const Folder folder;
  const Mask mask(full_plane(2, 2));
  write_mask(folder / "m.npy", mask, {});
  CHECK_THROWS_AS(write_mask(folder / "m.npy", complement(mask), {}), Error);
  CHECK(read_mask(folder / "m.npy").mask.count() == 4);
  write_mask(folder / "m.npy", complement(mask), {.force = true});
  CHECK(read_mask(folder / "m.npy").mask.count() == 0);
}

TEST_CASE("kinds that cannot be written and rows over the limit are refused") {
  const Folder folder;
  const Mask mask(full_plane(2, 1000));
  CHECK_THROWS_AS(write_mask(folder / "m.npy", mask, {.kind = Kind::kSegments}), Error);
  CHECK_THROWS_AS(write_mask(folder / "m.npy", mask, {.max_bytes = 999}), Error);
  CHECK_FALSE(std::filesystem::exists(folder / "m.npy"));
}

TEST_CASE("runs go through an npz and a pipe") {
  const Folder folder;
  const Cells cells = random_cells(2 * 3 * 50 * 90, 9, 0.2);
  const Mask mask = mask_from_dense(bool_tensor({2, 3, 50, 90}, cells));
  write_mask(folder / "r.npz", mask, {.kind = Kind::kRuns});
  const LoadedMask loaded = read_mask(folder / "r.npz");
  CHECK(loaded.kind == Kind::kRuns);
  CHECK(loaded.array_shape == std::vector<Index>{2, 3, 50, 90});
  CHECK(cells_of(loaded.mask) == cells);
  CHECK(contains(error_of(folder / "r.npz", as(Kind::kDense)), "4 arrays (indptr, begin, end, shape)"));
  const Fifo fifo(folder, folder / "r.npz");
  CHECK(cells_of(read_mask(fifo.path).mask) == cells);
}

TEST_CASE("an array of an npz is chosen by its key") {
  const Folder folder;
  const Cells cells = random_cells(9 * 9, 1);
  std::vector<NamedTensor> arrays;
  arrays.push_back({"mask", bool_tensor({9, 9}, cells)});
  arrays.push_back({"ids", int_tensor({1, 4}, {0, 0, 2, -1})});
  const std::string path = folder / "m.npz";
  write_npz(path, arrays);
  CHECK(cells_of(read_mask(path + ":mask").mask) == cells);
  const LoadedMask ids = read_mask(path + ":ids");
  CHECK(ids.kind == Kind::kSegments);
  CHECK(ids.mask.count() == 5);
  CHECK(error_of(path) == path + ": 2 arrays (mask, ids); choose one: " + path + ":mask");
}

TEST_CASE("an array that fits more than one kind is refused with the kinds") {
  const Folder folder;
  const std::string path = folder / "a.npy";
  const auto message = [&](const Tensor& tensor) {
    write_array(path, tensor, {.force = true});
    const std::string text = error_of(path);
    const auto colon = text.find("say which: ");
    return colon == std::string::npos ? text : text.substr(colon + 11);
  };
  CHECK(message(bool_tensor({2, 3}, Cells(6))) == "--as dense, --as padding or --as key-padding");
  CHECK(message(Tensor(DType::kFloat32, {2, 3})) ==
        "--as dense, --as padding or --as key-padding");
  CHECK(message(int_tensor({2, 3}, {0, 0, 1, 1, 1, 1})) ==
        "--as dense, --as padding, --as key-padding or --as segments");
  CHECK(message(bool_tensor({3}, Cells(3))) == "--as padding or --as key-padding");
  CHECK(message(int_tensor({3}, {0, 3, 8})) == "--as segments or --as cu_seqlens");
  CHECK(message(int_tensor({4}, {0, 3, 5, 9})) ==
        "--as segments, --as cu_seqlens or --as pairs");
  CHECK(contains(message(int_tensor({4}, {0, 1, 2, 0})), "looks like position ids"));
  CHECK(contains(message(Tensor(DType::kBool, {1, 1, 1, 2, 2})), "is no mask"));
  CHECK(contains(message(int_tensor({2, 2}, {0, 1, 2, 3})), "--as segments"));
}

TEST_CASE("an array that fits one kind is taken for it") {
  const Folder folder;
  const std::string path = folder / "a.npy";
  const auto kind = [&](const Tensor& tensor) {
    write_array(path, tensor, {.force = true});
    return read_mask(path).kind;
  };
  CHECK(kind(int_tensor({2, 3}, {0, 0, 2, 1, 1, -1}, DType::kInt8)) == Kind::kSegments);
  CHECK(kind(int_tensor({5}, {0, 0, 1, 1, 2})) == Kind::kSegments);
  CHECK(kind(bool_tensor({3, 3}, Cells(9))) == Kind::kDense);
  CHECK(kind(bool_tensor({2, 3, 5}, Cells(30))) == Kind::kDense);
}

TEST_CASE("each kind reads as its rule says") {
  const Folder folder;
  const std::string path = folder / "a.npy";
  const auto load = [&](const Tensor& tensor, const MaskReadOptions& options) {
    write_array(path, tensor, {.force = true});
    return read_mask(path, options);
  };
  CHECK(cells_of(load(int_tensor({1, 3}, {1, 1, 0}), as(Kind::kPadding)).mask) ==
        Cells{1, 1, 0, 1, 1, 0, 0, 0, 0});
  CHECK(cells_of(load(int_tensor({1, 3}, {1, 1, 0}), as(Kind::kKeyPadding)).mask) ==
        Cells{1, 1, 0, 1, 1, 0, 1, 1, 0});
  CHECK(load(int_tensor({3}, {0, 3, 8}), as(Kind::kCuSeqlens)).mask.count() == 9 + 25);
  const LoadedMask pairs = load(int_tensor({4}, {0, 3, 2, 5}), as(Kind::kPairs));
  CHECK(shape_text(pairs.mask) == "[B 2, H 1, Q 5, K 5]");
  CHECK(pairs.notes.size() == 1);
  const LoadedMask segments = load(int_tensor({4}, {3, 3, 0, -1}), as(Kind::kSegments));
  CHECK(segments.mask.count() == 5);
  REQUIRE(segments.q_segment_ids);
  CHECK(segments.q_segment_ids->shape() == std::vector<Index>{1, 4});
  CHECK(as_int64(*segments.kv_segment_ids, "ids") == Values{3, 3, 0, -1});
  MaskReadOptions pad = as(Kind::kSegments);
  pad.pad_id = 3;
  CHECK(load(int_tensor({4}, {3, 3, 0, -1}), pad).mask.count() == 2);
  CHECK(contains(error_of(path, as(Kind::kRuns)), "one array cannot be runs"));
  CHECK(contains(error_of(path, as(Kind::kPadding)), "the first is 3 at (0,)"));
  CHECK(contains(error_of(path, as(Kind::kDense)), "a dense mask has the shape"));
  CHECK(error_of(path, as(Kind::kCuSeqlens)) == path + ": cu_seqlens starts with 3; expected 0");
}

TEST_CASE("two arrays give the ids of queries and of keys") {
  const Folder folder;
  write_array(folder / "q.npy", int_tensor({1, 3}, {0, 1, 2}));
  write_array(folder / "k,v.npy", int_tensor({1, 4}, {1, 1, 5, 2}));
  const std::string q = folder / "q.npy";
  const std::string kv = "'" + (folder / "k,v.npy") + "'";
  const LoadedMask loaded = read_mask("q=" + q + ",kv=" + kv);
  CHECK(loaded.kind == Kind::kSegments);
  CHECK(cells_of(loaded.mask) == Cells{0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1});
  CHECK(cells_of(read_mask("kv=" + kv + ",q=" + q).mask) == cells_of(loaded.mask));
  write_array(folder / "cu.npy", int_tensor({3}, {0, 1, 3}));
  write_array(folder / "ck.npy", int_tensor({3}, {0, 2, 4}));
  const std::string both = "q=" + (folder / "cu.npy") + ",kv=" + (folder / "ck.npy");
  CHECK(cells_of(read_mask(both, as(Kind::kCuSeqlens)).mask) ==
        Cells{1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1});
  CHECK(contains(error_of(both), "--as segments or --as cu_seqlens"));
  CHECK(contains(error_of(both, as(Kind::kDense)), "gives two arrays, but the kind dense has one"));
  CHECK(contains(error_of("q=a.npy"), "expected q=SOURCE,kv=SOURCE"));
  CHECK(contains(error_of("q=-,kv=-"), "standard input twice"));
}

TEST_CASE("a shape repeats axes of 1 and refuses others") {
  const Folder folder;
  const std::string path = folder / "m.npy";
  write_array(path, bool_tensor({3, 3}, random_cells(9, 1)));
  MaskReadOptions options;
  options.shape = std::vector<Index>{2, 4, 3, 3};
  const LoadedMask loaded = read_mask(path, options);
  CHECK(shape_text(loaded.mask) == "[B 2, H 4, Q 3, K 3]");
  CHECK(loaded.mask.distinct().size() == 1);
  options.shape = std::vector<Index>{1, 1, 3, 4};
  CHECK(error_of(path, options) ==
        path + ": the mask is [B 1, H 1, Q 3, K 3], but --shape asks for 1+1+3+4");
  options.shape = std::vector<Index>{1, 3, 3};
  CHECK(contains(error_of(path, options), "expected B+H+Q+K"));
  options.shape = std::vector<Index>{Index{1} << 40, Index{1} << 40, 3, 3};
  CHECK(contains(error_of(path, options), "too many"));
}

TEST_CASE("kinds have names that read back") {
  for (const Kind kind : all_kinds()) CHECK(kind_from_name(name(kind)) == kind);
  CHECK(kind_from_name("key_padding") == Kind::kKeyPadding);
  CHECK(kind_from_name("cu-seqlens") == Kind::kCuSeqlens);
  try {
    kind_from_name("desne");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) ==
          "unknown kind 'desne'; expected one of dense, padding, key-padding, segments, cu_seqlens, "
          "pairs, runs");
  }
}

TEST_CASE("files that are no arrays are refused") {
  const Folder folder;
  std::ofstream(folder / "t.npy") << "hello";
  CHECK(contains(error_of(folder / "t.npy"), "t.npy"));
  CHECK(contains(error_of(folder / "none.npy"), "none.npy"));
  write_array(folder / "m.npy", bool_tensor({3, 3}, Cells(9)));
  CHECK(error_of((folder / "m.npy") + ":key") != "no error");
}
