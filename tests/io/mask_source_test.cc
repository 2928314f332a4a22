// Tests which array a SOURCE names, and which kind of array it is read as.
#include "io/mask_files.h"
#include "maskctl/io/kinds/kind.h"
#include "maskctl/io/masks/mask_io.h"
#include "support/catch_compat.h"

using namespace maskctl;
using namespace maskctl::test;

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
  CHECK(ids.kind == ArrayKind::kSegments);
  CHECK(ids.mask.count() == 5);
  const std::string list =
      path + ":mask (bool (9, 9): dense), " + path + ":ids (int64 (1, 4): segments)";
  CHECK(error_of(path) == path + ": 2 arrays: " + list);
}

TEST_CASE("the error about an array that fits several kinds lists the kinds") {
  const Folder folder;
  const std::string path = folder / "a.npy";
  const auto message = [&](const Tensor& tensor) {
    write_array(path, tensor, {.force = true});
    std::string kinds;
    for (const Remedy& remedy : remedies_of([&] { read_mask(path); })) {
      if (remedy.kind == Remedy::kReadAs) kinds.append(remedy.argument).append(" ");
    }
    return kinds.empty() ? error_of(path) : kinds;
  };
  CHECK(message(bool_tensor({2, 3}, Cells(6))) == "dense padding key-padding ");
  CHECK(message(Tensor(DType::kFloat32, {2, 3})) == "dense padding key-padding ");
  CHECK(message(int_tensor({2, 3}, {0, 0, 1, 1, 1, 1})) == "dense padding key-padding segments ");
  CHECK(message(bool_tensor({3}, Cells(3))) == "padding key-padding ");
  CHECK(message(int_tensor({3}, {0, 3, 8})) == "segments cu_seqlens ");
  CHECK(message(int_tensor({4}, {0, 3, 5, 9})) == "segments cu_seqlens pairs ");
  CHECK(contains(message(int_tensor({4}, {0, 1, 2, 0})), "positions segments"));
  CHECK(contains(message(Tensor(DType::kBool, {1, 1, 1, 2, 2})), "is not a mask"));
  CHECK(message(int_tensor({2, 2}, {0, 1, 2, 3})) == "segments ");
}

TEST_CASE("an array that fits one kind is read as that kind") {
  const Folder folder;
  const std::string path = folder / "a.npy";
  const auto kind = [&](const Tensor& tensor) {
    write_array(path, tensor, {.force = true});
    return read_mask(path).kind;
  };
  CHECK(kind(int_tensor({2, 3}, {0, 0, 2, 1, 1, -1}, DType::kInt8)) == ArrayKind::kSegments);
  CHECK(kind(int_tensor({5}, {0, 0, 1, 1, 2})) == ArrayKind::kSegments);
  CHECK(kind(bool_tensor({3, 3}, Cells(9))) == ArrayKind::kDense);
  CHECK(kind(bool_tensor({2, 3, 5}, Cells(30))) == ArrayKind::kDense);
}

TEST_CASE("bools whose rows share no token are no flags of padding") {
  const Folder folder;
  const std::string path = folder / "a.npy";
  write_array(path, bool_tensor({3, 4}, {1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1}));
  const LoadedMask windows = read_mask(path);
  CHECK(windows.kind == ArrayKind::kDense);
  REQUIRE(windows.notes.size() == 1);
  CHECK(contains(windows.notes.front(), "its rows would share no token"));
  // Prompts padded on the left with answers padded on the right share the tokens between.
  write_array(path, bool_tensor({2, 4}, {1, 1, 1, 0, 0, 1, 1, 1}), {.force = true});
  CHECK(contains(error_of(path), "fits several kinds"));
}

TEST_CASE("each kind of array is read by its own rule") {
  const Folder folder;
  const std::string path = folder / "a.npy";
  const auto load = [&](const Tensor& tensor, const MaskReadOptions& options) {
    write_array(path, tensor, {.force = true});
    return read_mask(path, options);
  };
  CHECK(cells_of(load(int_tensor({1, 3}, {1, 1, 0}), as(ArrayKind::kPadding)).mask) ==
        Cells{1, 1, 0, 1, 1, 0, 0, 0, 0});
  CHECK(cells_of(load(int_tensor({1, 3}, {1, 1, 0}), as(ArrayKind::kKeyPadding)).mask) ==
        Cells{1, 1, 0, 1, 1, 0, 1, 1, 0});
  CHECK(load(int_tensor({3}, {0, 3, 8}), as(ArrayKind::kCuSeqlens)).mask.count() == 9 + 25);
  const LoadedMask pairs = load(int_tensor({4}, {0, 3, 2, 5}), as(ArrayKind::kPairs));
  CHECK(shape_text(pairs.mask) == "[B 2, H 1, Q 5, K 5]");
  CHECK(pairs.notes.size() == 1);
  const LoadedMask segments = load(int_tensor({4}, {3, 3, 0, -1}), as(ArrayKind::kSegments));
  CHECK(segments.mask.count() == 5);
  REQUIRE(segments.q_segment_ids);
  CHECK(segments.q_segment_ids->shape() == std::vector<Index>{1, 4});
  CHECK(as_int64(*segments.kv_segment_ids, "ids") == Int64s{3, 3, 0, -1});
  MaskReadOptions pad = as(ArrayKind::kSegments);
  pad.pad_id = 3;
  CHECK(load(int_tensor({4}, {3, 3, 0, -1}), pad).mask.count() == 2);
  CHECK(contains(error_of(path, as(ArrayKind::kRuns)), "one array cannot be runs"));
  CHECK(contains(error_of(path, as(ArrayKind::kPadding)), "the first is 3 at (0,)"));
  CHECK(contains(error_of(path, as(ArrayKind::kDense)), "a dense mask has the shape"));
  CHECK(error_of(path, as(ArrayKind::kCuSeqlens)) ==
        path + ": cu_seqlens starts with 3; expected 0");
}

TEST_CASE("two arrays are read as the ids of queries and of keys") {
  const Folder folder;
  write_array(folder / "q.npy", int_tensor({1, 3}, {0, 1, 2}));
  write_array(folder / "k,v.npy", int_tensor({1, 4}, {1, 1, 5, 2}));
  const std::string q = folder / "q.npy";
  const std::string kv = "'" + (folder / "k,v.npy") + "'";
  const LoadedMask loaded = read_mask("q=" + q + ",kv=" + kv);
  CHECK(loaded.kind == ArrayKind::kSegments);
  CHECK(cells_of(loaded.mask) == Cells{0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1});
  CHECK(cells_of(read_mask("kv=" + kv + ",q=" + q).mask) == cells_of(loaded.mask));
  write_array(folder / "cu.npy", int_tensor({3}, {0, 1, 3}));
  write_array(folder / "ck.npy", int_tensor({3}, {0, 2, 4}));
  const std::string both = "q=" + (folder / "cu.npy") + ",kv=" + (folder / "ck.npy");
  CHECK(cells_of(read_mask(both, as(ArrayKind::kCuSeqlens)).mask) ==
        Cells{1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1});
  CHECK(contains(error_of(both), "fit several kinds"));
  CHECK(contains(error_of(both, as(ArrayKind::kDense)),
                 "gives two arrays, but the kind dense has one"));
  CHECK(contains(error_of("q=a.npy"), "expected q=SOURCE,kv=SOURCE"));
  CHECK(contains(error_of("q=-,kv=-"), "standard input twice"));
}

TEST_CASE("a given shape repeats axes of extent 1, and does not change others") {
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
        path + ": the mask is [B 1, H 1, Q 3, K 3], but the shape asked for is 1+1+3+4");
  options.shape = std::vector<Index>{1, 3, 3};
  CHECK(contains(error_of(path, options), "expected B+H+Q+K"));
  options.shape = std::vector<Index>{Index{1} << 40, Index{1} << 40, 3, 3};
  CHECK(contains(error_of(path, options), "too many"));
}

TEST_CASE("names of kinds are read back") {
  for (const ArrayKind kind : all_kinds()) CHECK(kind_from_name(name(kind)) == kind);
  CHECK(kind_from_name("key_padding") == ArrayKind::kKeyPadding);
  CHECK(kind_from_name("cu-seqlens") == ArrayKind::kCuSeqlens);
  CHECK(error_of([] { kind_from_name("desne"); }) ==
        "unknown kind 'desne'; expected one of dense, padding, key-padding, segments, positions, "
        "cu_seqlens, pairs, bias, blockmap, flex, fa4, bsr, bits, runs, mask-info, token-types, "
        "index-lists, flashmask, flashmask-causal, intervals, slices, request-bits, tree-bits, "
        "cu_seqlens-padded, ragged-offsets, mask");
}

TEST_CASE("files that are not arrays are refused") {
  const Folder folder;
  std::ofstream(folder / "t.npy") << "hello";
  CHECK(contains(error_of(folder / "t.npy"), "t.npy"));
  CHECK(contains(error_of(folder / "none.npy"), "none.npy"));
  write_array(folder / "m.npy", bool_tensor({3, 3}, Cells(9)));
  CHECK(error_of((folder / "m.npy") + ":key") != "no error");
}
