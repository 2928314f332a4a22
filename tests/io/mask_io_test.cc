// Dense masks and runs, written to and read from files and pipes, against the same arrays in
// memory.
#include "maskctl/io/masks/mask_io.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <span>

#include "io/mask_files.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"

using namespace maskctl;
using namespace maskctl::test;

TEST_CASE("a dense file of any dtype and layout is read as the array in memory") {
  const Folder folder;
  const DType dtype = GENERATE(from_range(numpy_dtypes()));
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
  CHECK(loaded.kind == ArrayKind::kDense);
  CHECK(loaded.dtype == name(dtype));
  CHECK(loaded.array_shape == shape);
  CHECK(loaded.notes.empty());
  CHECK(cells_of(loaded.mask) == cells);
  const Fifo fifo(folder, path);
  CHECK(cells_of(read_mask(fifo.path).mask) == cells);
}

TEST_CASE("rows that are longer than a piece are read in parts") {
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

TEST_CASE("keep_value 0 inverts dense and padding masks") {
  const Folder folder;
  const Cells cells = random_cells(2 * 70 * 70, 6);
  Cells inverted = cells;
  for (auto& cell : inverted) cell ^= 1;
  write_array(folder / "m.npy", bool_tensor({2, 70, 70}, cells));
  MaskReadOptions options;
  options.keep_value_is_zero = true;
  CHECK(cells_of(read_mask(folder / "m.npy", options).mask) == inverted);
  write_array(folder / "p.npy", int_tensor({1, 4}, {0, 0, 1, 0}));
  options.as = ArrayKind::kKeyPadding;
  options.shape = std::vector<Index>{1, 1, 1, 4};
  CHECK(cells_of(read_mask(folder / "p.npy", options).mask) == Cells{1, 1, 0, 1});
  options.as = ArrayKind::kSegments;
  CHECK(contains(error_of(folder / "p.npy", options), "0 cannot mean open in the kind segments"));
}

TEST_CASE("the error about a value other than 0 and 1 names the first one") {
  const Folder folder;
  const std::string path = folder / "m.npy";
  Tensor bias(DType::kFloat32, {5, 5});
  bias.as<float>()[3] = -INFINITY;
  bias.as<float>()[9] = 7;
  write_array(path, bias);
  CHECK(contains(error_of(path), "values other than 0 and -inf, the first is 7 at (1, 4)"));
  bias.as<float>()[1] = 1;
  write_array(path, bias, {.force = true});
  const std::string expected = path +
                               ": values other than 0 and 1, the first is -inf at (0, 3); "
                               "expected a 0/1 mask, but this may be an additive one";
  CHECK(error_of(path) == expected);
  CHECK(offers(Remedy::kReadAs, [&] { read_mask(path); }));
  save(path, bias, true, false);
  CHECK(contains(error_of(path), "the first is -inf at (0, 3)"));
  Int64s many(2 * 300 * 300, 1);
  many[300 * 300 + 5 * 300 + 6] = -3;
  many[300 * 300 + 290 * 300] = 9;
  save(path, int_tensor({2, 300, 300}, many), false, true);
  CHECK(contains(error_of(path),
                 "the first is -3 at (1, 5, 6); expected a 0/1 mask, but these may be ids"));
  save(path, int_tensor({1, 1, 3, 2}, {3, 0, 3, 1, 3, 2}), false, true);
  CHECK(
      contains(error_of(path), "expected a 0/1 mask, but these may be FlashMask's limits of rows"));
}

TEST_CASE("a bad value in a pipe is an error even if the writer does not finish") {
  const Folder folder;
  const std::string path = folder / "m.npy";
  Int64s many(8 * 300 * 300, 1);
  many[2] = 5;
  write_array(path, int_tensor({8, 300, 300}, many));
  const Fifo fifo(folder, path, 1 << 20);  // gives 1 MiB of the 5.76 MB of the file
  CHECK(contains(error_of(fifo.path), "the first is 5 at (0, 0, 2)"));
}

TEST_CASE("bytes of a bool other than 0 and 1 count as true, with a note") {
  const Folder folder;
  const std::string path = folder / "m.npy";
  write_array(path, bool_tensor({2, 2}, {0, 1, 1, 1}));
  std::string bytes = slurp(path);
  bytes[bytes.size() - 1] = '\xff';
  bytes[bytes.size() - 2] = '\x02';
  std::ofstream(path, std::ios::binary) << bytes;
  const LoadedMask loaded = read_mask(path);
  CHECK(cells_of(loaded.mask) == Cells{0, 1, 1, 1});
  REQUIRE(loaded.notes.size() == 1);
  CHECK(loaded.notes[0] == path + ": 2 non-canonical bool bytes (neither 0 nor 1) count as true");
}

TEST_CASE("the limit of memory counts the packed mask, not the file") {
  const Folder folder;
  const std::string path = folder / "m.npy";
  write_array(path, astype(bool_tensor({512, 512}, random_cells(512 * 512, 1)), DType::kFloat64));
  MaskReadOptions options;
  options.read.max_bytes = 50000;  // the file has 2 MiB, the mask's bits have 32 KiB
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

TEST_CASE("the reported progress increases to 1") {
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

TEST_CASE("the rows of the first batch and head are passed on while a mask is read") {
  const Folder folder;
  const Index queries = 700, keys = 130, words = 3;
  const Cells cells = random_cells(2 * queries * keys, 21);
  write_array(folder / "m.npy", bool_tensor({1, 2, queries, keys}, cells));
  std::mutex mutex;
  Cells seen(as_size(queries * keys), 2);
  MaskReadOptions options;
  options.keep_value_is_zero = true;
  options.rows_read = [&](const RowsRead& rows) {
    const std::lock_guard lock(mutex);
    CHECK(std::ranges::equal(rows.shape, std::vector<Index>{1, 2, queries, keys}));
    REQUIRE(std::ssize(rows.words) == rows.queries.size() * words);
    for (Index q = rows.queries.begin; q < rows.queries.end; ++q) {
      for (Index k = 0; k < keys; ++k) {
        const auto word = rows.words[as_size((q - rows.queries.begin) * words + k / 64)];
        seen[as_size(q * keys + k)] = (word >> (k % 64) & 1) == 0;
      }
    }
  };
  read_mask(folder / "m.npy", options);
  CHECK(std::ranges::equal(seen, std::span(cells).first(seen.size())));
}

TEST_CASE("a dense mask is written with the bytes that numpy would save") {
  const Folder folder;
  const DType dtype = GENERATE(from_range(numpy_dtypes()));
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
  CHECK(slurp(folder / "m.npy") == slurp(folder / "expected.npy"));
  write_mask(folder / "m.npz", mask, options);
  CHECK(cells_of(read_mask(folder / "m.npz").mask) == cells);
}

TEST_CASE("a large mask is written in ranges of rows and read back") {
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
  write_mask(folder / "m.npz", mask, {.kind = ArrayKind::kRuns});
  CHECK(shape_text(read_mask(folder / "m.npz").mask) == "[B 1, H 1, Q 0, K 5]");
}

TEST_CASE("an existing file is kept unless force is set") {
  const Folder folder;
  const Mask mask(full_plane(2, 2));
  write_mask(folder / "m.npy", mask, {});
  CHECK_THROWS_AS(write_mask(folder / "m.npy", complement(mask), {}), Error);
  CHECK(read_mask(folder / "m.npy").mask.count() == 4);
  write_mask(folder / "m.npy", complement(mask), {.force = true});
  CHECK(read_mask(folder / "m.npy").mask.count() == 0);
}

TEST_CASE("kinds that cannot be written, and rows beyond the limit, are refused") {
  const Folder folder;
  const Mask mask(full_plane(2, 1000));
  CHECK_THROWS_AS(write_mask(folder / "m.npy", mask, {.kind = ArrayKind::kSegments}), Error);
  CHECK_THROWS_AS(write_mask(folder / "m.npy", mask, {.max_bytes = 999}), Error);
  CHECK_FALSE(std::filesystem::exists(folder / "m.npy"));
}

TEST_CASE("runs are written to an .npz and to a pipe, and read back") {
  const Folder folder;
  const Cells cells = random_cells(2 * 3 * 50 * 90, 9, 0.2);
  const Mask mask = mask_from_dense(bool_tensor({2, 3, 50, 90}, cells));
  write_mask(folder / "r.npz", mask, {.kind = ArrayKind::kRuns});
  const LoadedMask loaded = read_mask(folder / "r.npz");
  CHECK(loaded.kind == ArrayKind::kRuns);
  CHECK(loaded.array_shape == std::vector<Index>{2, 3, 50, 90});
  CHECK(cells_of(loaded.mask) == cells);
  CHECK(contains(error_of(folder / "r.npz", as(ArrayKind::kDense)), ": 4 arrays: "));
  const Fifo fifo(folder, folder / "r.npz");
  CHECK(cells_of(read_mask(fifo.path).mask) == cells);
}
