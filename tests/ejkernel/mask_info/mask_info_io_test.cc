// Tests storing a MaskInfo in an .npz file and loading it again.
#include "maskctl/ejkernel/mask_info/mask_info_io.h"

#include "ejkernel/mask_info/info_support.h"
#include "io/array_support.h"
#include "maskctl/io/formats/npz/npz.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/mask/equal/shared_planes.h"

using namespace maskctl;
using namespace maskctl::info_test;
using maskctl::test::contains;
using maskctl::test::error_of;
using maskctl::test::Scratch;

namespace {

bool same_array(const Array& a, const Array& b) {
  if (!a || !b) return !a && !b;
  return a->dtype() == b->dtype() && a->shape() == b->shape() &&
         std::ranges::equal(a->bytes(), b->bytes());
}

bool same_mask(const std::optional<MaskArray>& a, const std::optional<MaskArray>& b) {
  if (!a || !b) return !a && !b;
  if (a->dtype() != b->dtype() || a->shape() != b->shape() || a->lazy() != b->lazy()) return false;
  if (!a->lazy()) return std::ranges::equal(a->tensor().bytes(), b->tensor().bytes());
  const Mask x = a->mask(), y = b->mask();
  for (Index n = 0; n < x.batch(); ++n) {
    for (Index h = 0; h < x.heads(); ++h) {
      if (!same_cells(*x.plane(n, h), *y.plane(n, h))) return false;
    }
  }
  return true;
}

void check_same(const MaskInfo& info, const MaskInfo& again) {
  const MaskInfoFields &a = info.fields(), &b = again.fields();
  CHECK(same_mask(a.attention_mask, b.attention_mask));
  CHECK(same_array(a.q_segment_ids, b.q_segment_ids));
  CHECK(same_array(a.kv_segment_ids, b.kv_segment_ids));
  CHECK(same_array(a.cu_seqlens_q, b.cu_seqlens_q));
  CHECK(same_array(a.cu_seqlens_kv, b.cu_seqlens_kv));
  CHECK(same_array(a.q_positions, b.q_positions));
  CHECK(same_array(a.kv_positions, b.kv_positions));
  CHECK(a.baked_in == b.baked_in);
  CHECK(a.axes == b.axes);
  CHECK(again.repr() == info.repr());
}

void check_round_trip(const MaskInfo& info, const std::string& name = "m.npz") {
  const Scratch scratch;
  INFO(name);
  write_mask_info(scratch / name, info);
  check_same(info, read_mask_info(scratch / name));
}

/// The arrays of a stored MaskInfo, which tests change to make a file that must be refused.
struct Stored {
  std::vector<NamedTensor> arrays;

  explicit Stored(const MaskInfo& info) {
    const Scratch scratch;
    write_mask_info(scratch / "m.npz", info);
    const NpzArchive archive(ByteSource(scratch / "m.npz"));
    for (const std::string& key : archive.keys()) arrays.push_back({key, archive.read(key)});
  }
  Tensor& operator[](const std::string& key) {
    for (auto& array : arrays) {
      if (array.name == key) return array.tensor;
    }
    return arrays.emplace_back(NamedTensor{key, Tensor()}).tensor;
  }
  void remove(const std::string& key) {
    std::erase_if(arrays, [&](const NamedTensor& array) { return array.name == key; });
  }
  std::string error() const {
    const Scratch scratch;
    write_npz(scratch / "m.npz", arrays);
    const std::string text = error_of([&] { read_mask_info(scratch / "m.npz"); });
    if (text != "no error") CHECK(text.starts_with(scratch / "m.npz"));
    return text;
  }
};

MaskInfo chained() {
  return MaskInfo::from_segments(i32({2, 5}, {1, 1, 2, 2, -1, 0, 0, 0, 3, 3}))
      .apply_causal()
      .apply_sliding_window(std::pair<Index, Index>{2, 1});
}

Tensor text(const std::string& bytes) {
  Tensor out(DType::kUInt8, {static_cast<Index>(bytes.size())});
  std::ranges::copy(bytes, out.as<char>().begin());
  return out;
}

}  // namespace

TEST_CASE("stored fields are read back, and fields that were not stored are None") {
  check_round_trip(MaskInfo());
  check_round_trip(chained());
  check_round_trip(MaskInfo::from_segments(row({1, 1, 2})));
  check_round_trip(MaskInfo::from_cu_seqlens(list({0, 3, 1, 4}), 5, list_array({0, 2, 0, 6}), 6));
  check_round_trip(MaskInfo({.cu_seqlens_kv = list_array({0, 3})}));
  check_round_trip(MaskInfo::from_random(2, 33, 70, 0.3, 5));
  MaskInfo filled = chained();
  filled.get_or_compute_positions();
  filled.get_or_compute_qkv_cu_seqlens(DType::kInt64);
  check_round_trip(filled);
}

TEST_CASE("masks of every rank and dtype are stored and read back") {
  const auto info_of = [](MaskArray mask) { return MaskInfo({.attention_mask = std::move(mask)}); };
  check_round_trip(info_of(MaskArray(bools({2, 3}, {1, 0, 1, 0, 0, 1}))));
  check_round_trip(info_of(MaskArray(bools({3, 1, 2}, {1, 0, 1, 0, 0, 1}))));
  check_round_trip(info_of(MaskArray(bools({1, 3, 1, 2}, {1, 0, 1, 0, 0, 1}))));
  check_round_trip(info_of(MaskArray(bools({1, 1, 1, 1, 3}, {1, 0, 1}))));
  check_round_trip(info_of(MaskArray(i32({1, 1, 2, 2}, {7, 0, -1, 2}))));
  check_round_trip(info_of(MaskArray(bools({0, 1, 2, 2}, {}))));
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kInt32, DType::kFloat32}) {
    check_round_trip(chained().to_dtype(dtype));
  }
}

TEST_CASE("flags and axis names of every form are stored and read back") {
  MaskInfo::Replacement fields;
  fields.baked_in = BakedInMasks{.chunked = true, .token_type_ids = true};
  fields.batch_axis = AxisName();
  fields.qheads_axis = AxisName("");
  fields.kvheads_axis = AxisName(std::vector<std::string>{});
  fields.sequence_axis = AxisName(std::vector<std::string>{"a b", "", "\xC3\xA4"});
  check_round_trip(chained().replace(fields));

  fields.batch_axis = AxisName(std::string("a\0b", 3));
  const MaskInfo zero_byte = chained().replace(fields);
  CHECK(contains(error_of([&] { check_round_trip(zero_byte); }), "axis name 'a\\x00b'"));
}

TEST_CASE("a mask of a million tokens is stored as runs") {
  Tensor ids(DType::kInt32, {1, Index{1} << 18});
  for (Index i = 0; i < ids.elements(); ++i) {
    ids.as<std::int32_t>()[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i / 900);
  }
  MaskInfo info = MaskInfo::from_segments(ids).apply_causal();
  const Scratch scratch;
  write_mask_info(scratch / "m.npz", info);
  const MaskInfo again = read_mask_info(scratch / "m.npz");
  CHECK(again.fields().attention_mask->lazy());
  CHECK(again.fields().attention_mask->mask().count() == info.attention_mask().mask().count());
  CHECK(contains(error_of([&] { write_mask_info(scratch / "n.npz", info, {}, 1000); }), "1000"));
  CHECK(contains(error_of([&] { write_mask_info(scratch / "m.npz", info); }), "m.npz"));
  CHECK(scratch.entries() == 1);
}

TEST_CASE("files with missing, unknown or malformed arrays are refused") {
  const Stored good(chained());
  CHECK(good.error() == "no error");
  for (const char* key : {"maskinfo", "baked_in", "axes.kind", "axes.count", "axes.names",
                          "attention_mask.begin", "attention_mask.end", "attention_mask.shape",
                          "attention_mask.rank", "attention_mask.dtype"}) {
    Stored bad = good;
    bad.remove(key);
    CHECK(contains(bad.error(), key));
    bad[key] = Tensor(DType::kFloat32, {2});
    CHECK(bad.error() != "no error");
  }
  Stored without_indptr = good;
  without_indptr.remove("attention_mask.indptr");
  CHECK(contains(without_indptr.error(), "unknown array 'attention_mask."));
  Stored extra = good;
  extra["extra"] = list({1});
  CHECK(contains(extra.error(), "unknown array 'extra'"));
  Stored twice = good;
  twice["attention_mask"] = bools({1, 1}, {1});
  CHECK(contains(twice.error(), "dense"));
}

TEST_CASE("values out of range are refused") {
  const Stored good(chained());
  const auto spoil = [&](const std::string& key, Tensor tensor) {
    Stored bad = good;
    bad[key] = std::move(tensor);
    return bad.error();
  };
  CHECK(contains(spoil("maskinfo", list({2})), "version 2"));
  CHECK(contains(spoil("attention_mask.rank", list({3})), "rank is 3"));
  CHECK(contains(spoil("attention_mask.rank", list({-1})), "rank is -1"));
  CHECK(contains(spoil("attention_mask.dtype", text("int33")), "'int33'"));
  CHECK(contains(spoil("attention_mask.dtype", text("\x1b[2J")), "'\\x1b[2J'"));
  CHECK(contains(spoil("axes.kind", list({3, 1, 1, 1})), "kind 3"));
  CHECK(contains(spoil("axes.kind", list({0, 1, 1, 1})), "kind 0 with 2 names"));
  CHECK(contains(spoil("axes.count", list({-1, 1, 1, 1})), "-1"));
  CHECK(contains(spoil("axes.count", list({1 << 30, 1, 1, 1})), "axes.count"));
  CHECK(contains(spoil("axes.count", list({2, 1, 1, 2})), "fewer names"));
  CHECK(contains(spoil("axes.names", text(std::string("a\0b\0c\0d\0e\0f\0", 12))), "more names"));
  CHECK(contains(spoil("axes.names", text("dp")), "fewer names"));
  Tensor begin = Stored(good)["attention_mask.begin"];
  begin.as<std::int32_t>()[0] = -5;
  CHECK(spoil("attention_mask.begin", begin) != "no error");
}

TEST_CASE("methods of a loaded MaskInfo throw an Error if its arrays do not fit each other") {
  Stored odd(chained());
  odd["q_segment_ids"] = list({1, 2});
  odd["kv_positions"] = i32({1, 1}, {0});
  const Scratch scratch;
  write_npz(scratch / "m.npz", odd.arrays);
  MaskInfo info = read_mask_info(scratch / "m.npz");
  CHECK_THROWS_AS(info.apply_kv_lengths(list({1, 1}), {.q_len = 1}), Error);
  CHECK_THROWS_AS(info.apply_sliding_window(Index{1}, {.mode = "decode", .index = Index{0}}),
                  Error);
  CHECK_THROWS_AS(info.q_position_ids(), Error);
  CHECK_THROWS_AS(info.get_qkv_masks(), Error);
}

TEST_CASE("a MaskInfo can be stored in every container, and in a group of it") {
  Tensor ids(DType::kInt32, {1, 6});
  const std::int32_t values[] = {1, 1, 2, 2, 2, -1};
  std::copy(std::begin(values), std::end(values), ids.as<std::int32_t>().begin());
  MaskInfo info = MaskInfo::from_segments(ids).apply_causal();
  for (const char* name : {"m.npz", "m.npz:batch", "m.safetensors", "m.safetensors:batch", "m.h5",
                           "m.h5:/run/batch"}) {
    check_round_trip(info, name);
    check_round_trip(MaskInfo(), name);
  }
}

TEST_CASE("two MaskInfos can be stored in one file, each in its group") {
  const Scratch scratch;
  const MaskInfo empty;
  MaskInfo info = MaskInfo::from_random(1, 5);
  for (const std::string suffix : {".npz:", ".safetensors:", ".h5:/"}) {
    INFO(suffix);
    const std::string file = scratch / ("m" + suffix);
    write_mask_info(file + "a", info);
    WriteOptions append;
    append.append = true;
    write_mask_info(file + "b", empty, append);
    check_same(info, read_mask_info(file + "a"));
    check_same(empty, read_mask_info(file + "b"));
  }
}

TEST_CASE("reading a stored MaskInfo as a mask also returns the MaskInfo") {
  const Scratch scratch;
  const MaskInfo packed = MaskInfo::from_segments(row({1, 1, 2, 2, -1}));
  MaskInfo causal = MaskInfo(packed).apply_causal();
  for (const char* name : {"m.npz", "m.h5:/masks/one", "m.safetensors", "n.npz:group"}) {
    INFO(name);
    write_mask_info(scratch / name, packed);
    MaskReadOptions any, as_info;
    any.objects = as_info.objects = {&kStoredMaskInfo};
    as_info.as = ArrayKind::kMaskInfo;
    for (const MaskReadOptions& options : {any, as_info}) {
      const LoadedMask loaded = read_mask(scratch / name, options);
      CHECK(loaded.kind == ArrayKind::kMaskInfo);
      CHECK(loaded.array_shape == std::vector<Index>{1, 1, 5, 5});
      CHECK(same_mask(MaskArray(loaded.mask), MaskInfo(packed).attention_mask()));
      check_same(packed, mask_info_of(loaded));
    }
  }
  write_mask_info(scratch / "c.npz", causal);
  MaskReadOptions as_info;
  as_info.objects = {&kStoredMaskInfo};
  CHECK(read_mask(scratch / "c.npz", as_info).mask.count() == 6);
  write_array(scratch / "a.npy", Tensor(DType::kBool, {2, 2}));
  as_info.as = ArrayKind::kMaskInfo;
  CHECK(contains(error_of([&] { read_mask(scratch / "a.npy", as_info); }),
                 "not a stored MaskInfo, which is a container with an array 'maskinfo'"));
}

TEST_CASE("reading segment ids as a MaskInfo gives the object of from_segments") {
  const Scratch scratch;
  const Tensor packed = row({1, 1, 2, -1}), keys = row({2, 1});
  write_array(scratch / "ids.npy", packed);
  const ArrayRef two[] = {{"q", &packed}, {"kv", &keys}};
  write_arrays(scratch / "both.npz", two);
  MaskReadOptions segments;
  segments.as = ArrayKind::kSegments;
  check_same(MaskInfo::from_segments(packed),
             mask_info_of(read_mask(scratch / "ids.npy", segments)));
  check_same(MaskInfo::from_segments(packed, make_array(keys)),
             mask_info_of(read_mask(scratch / "both.npz", segments)));
  write_array(scratch / "a.npy", Tensor(DType::kBool, {2, 2}));
  const LoadedMask dense = read_mask(scratch / "a.npy");
  CHECK_FALSE(dense.object.has_value());
  check_same(MaskInfo::from_attention_mask(MaskArray(dense.mask)), mask_info_of(dense));
}

TEST_CASE("a file without a MaskInfo is reported as such") {
  const Scratch scratch;
  write_array(scratch / "a.npy", Tensor(DType::kBool, {2, 2}));
  write_array(scratch / "a.npz", Tensor(DType::kBool, {2, 2}));
  CHECK(read_mask(scratch / "a.npz").kind == ArrayKind::kDense);
  CHECK(contains(error_of([&] { read_mask_info(scratch / "a.npy"); }), "no array 'maskinfo'"));
}
