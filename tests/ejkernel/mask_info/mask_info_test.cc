// Tests MaskInfo: which fields are set, which caches a call fills, and what replace() keeps.
#include <limits>

#include "ejkernel/mask_info/info_support.h"

namespace maskctl::info_test {
namespace {

/// Returns a letter for each field that is stored: M for the mask, Q and K for ids, c and d for
/// cu_seqlens, p and r for positions (of queries, of keys).
std::string stored(const MaskInfo& info) {
  const MaskInfoFields& f = info.fields();
  std::string out;
  if (f.attention_mask) out += 'M';
  if (f.q_segment_ids) out += 'Q';
  if (f.kv_segment_ids) out += 'K';
  if (f.cu_seqlens_q) out += 'c';
  if (f.cu_seqlens_kv) out += 'd';
  if (f.q_positions) out += 'p';
  if (f.kv_positions) out += 'r';
  return out;
}

MaskInfo packed() { return MaskInfo::from_segments(row({1, 1, 2, 2, -1})); }

MaskInfo mask_only() {
  return MaskInfo({.attention_mask = MaskArray(bools({1, 1, 2, 3}, {1, 0, 0, 0, 1, 1}))});
}

TEST_CASE("constructors store their arguments, and compute nothing that ejkernel does not") {
  CHECK(stored(packed()) == "QK");
  CHECK(stored(MaskInfo::from_segments(row({1, 0, 3}), nullptr, true)) == "MQK");
  CHECK(stored(MaskInfo::from_attention_mask(MaskArray(bools({1, 3}, {1, 1, 0})))) == "MQK");
  CHECK(stored(MaskInfo::from_cu_seqlens(list({0, 3, 0, 5}), 5)) == "QKcd");
  CHECK(stored(MaskInfo::from_random(1, 4)) == "M");
  CHECK(stored(MaskInfo()).empty());
  CHECK(stored(MaskInfo::from_segments(row({0}), nullptr, false,
                                       {.q_positions = row_array({7})})) == "QKp");
}

TEST_CASE("reading a property fills its cache and those of the properties that it reads") {
  MaskInfo info = packed();
  info.attention_mask();
  CHECK(stored(info) == "MQK");
  info = packed();
  info.cu_seqlens_kv();
  CHECK(stored(info) == "QKcd");
  info = packed();
  info.get_or_compute_positions();
  CHECK(stored(info) == "QKpr");
  info = mask_only();
  info.get_or_compute_positions();
  CHECK(stored(info) == "MQKpr");
  info = mask_only();
  info.q_position_ids();
  CHECK(stored(info) == "MQK");
  info = mask_only();
  info.bias();
  info.q_lens();
  CHECK(stored(info) == "M");
}

TEST_CASE("filling a cache of a copy does not change the original") {
  MaskInfo info = packed();
  MaskInfo copy = info;
  copy.attention_mask();
  copy.cu_seqlens_q();
  CHECK(stored(copy) == "MQKcd");
  CHECK(stored(info) == "QK");
  CHECK(copy.fields().q_segment_ids == info.fields().q_segment_ids);
}

TEST_CASE("methods fill the mask cache of their object; apply_chunked also fills its ids") {
  MaskInfo info = packed();
  CHECK(stored(info.apply_causal()) == "MQK");
  CHECK(stored(info) == "MQK");
  MaskInfo mask = mask_only();
  const MaskInfo causal = mask.apply_causal();
  CHECK(stored(causal) == "M");
  CHECK(stored(mask) == "M");
  CHECK(stored(mask.apply_chunked(2)) == "MQK");
  CHECK(stored(mask) == "MQK");
  CHECK(stored(causal) == "M");
}

TEST_CASE("the cached mask has the dtype of the first request") {
  MaskInfo info = packed();
  info.get_or_compute_attention_mask(DType::kFloat32);
  CHECK(info.attention_mask().dtype() == DType::kFloat32);
  CHECK(info.get_or_compute_attention_mask().dtype() == DType::kBool);
}

TEST_CASE("to_dtype changes nothing if the mask cast to bool has the wanted dtype already") {
  MaskInfo floats = packed().to_dtype(DType::kFloat32);
  CHECK(floats.attention_mask().dtype() == DType::kFloat32);
  CHECK(floats.to_dtype(DType::kBool).attention_mask().dtype() == DType::kFloat32);

  MaskInfo numbers({.attention_mask = MaskArray(i32({1, 1, 1, 3}, {0, 2, -5}))});
  CHECK(values(numbers.attention_mask().tensor()) == Values{0, 2, -5});
  CHECK(values(numbers.to_dtype(DType::kInt32).attention_mask().tensor()) == Values{0, 1, 1});
}

TEST_CASE("reading ids of one side computes those of both sides from the mask, over given ones") {
  MaskInfo info({.attention_mask = MaskArray(bools({1, 1, 2, 2}, {1, 0, 0, 0})),
                 .q_segment_ids = row_array({7, 7})});
  MaskInfo untouched = info;
  CHECK(values(untouched.q_segment_ids()) == Values{7, 7});
  CHECK(values(info.kv_segment_ids()) == Values{0, -1});
  CHECK(values(info.q_segment_ids()) == Values{0, -1});
}

TEST_CASE("cumulative lengths are accepted in three forms") {
  MaskInfo segments = packed();
  const Array counts = segments.cu_seqlens_q();
  CHECK(counts->shape() == Shape{129});
  Values first = values(counts);
  first.resize(5);
  CHECK(first == Values{0, 0, 2, 4, 4});

  MaskInfo mask = mask_only();
  CHECK(values(mask.cu_seqlens_q()) == Values{0, 2});
  CHECK(values(mask.cu_seqlens_kv()) == Values{0, 3});
  MaskInfo with_ids = mask_only();
  with_ids.q_segment_ids();
  CHECK(with_ids.cu_seqlens_q()->shape() == Shape{129});

  MaskInfo pairs = MaskInfo::from_cu_seqlens(list({0, 3, 0, 5}), 5);
  CHECK(values(pairs.cu_seqlens_q()) == Values{0, 3, 0, 5});
  CHECK(pairs.apply_causal().cu_seqlens_q()->shape() == Shape{129});

  MaskInfo one_side({.cu_seqlens_kv = list_array({0, 4, 9})});
  CHECK(one_side.batch_size() == 2);
  CHECK(values(one_side.cu_seqlens_q()) == Values{0, 4, 9});
  const QkvArrays wide = one_side.get_or_compute_qkv_cu_seqlens(DType::kInt64, 7);
  CHECK(wide.q->dtype() == DType::kInt64);
  CHECK(wide.q->shape() == Shape{3});
}

TEST_CASE("replacing the mask or ids drops cumulative lengths unless new ones are given too") {
  const MaskInfo info = MaskInfo::from_cu_seqlens(list({0, 3}), 4);
  CHECK(stored(info.replace({})) == "QKcd");
  CHECK(stored(info.replace({.q_positions = row_array({0, 1, 2, 3})})) == "QKcdp");
  CHECK(stored(info.replace({.q_segment_ids = row_array({0, 0, 0, 0})})) == "QK");
  CHECK(stored(info.replace({.attention_mask = MaskArray(bools({1, 1, 4, 4}, Values(16, 1)))})) ==
        "MQK");
  const MaskInfo stale =
      info.replace({.kv_segment_ids = row_array({0, 0, 0, 0}), .cu_seqlens_q = list_array({0, 9})});
  CHECK(stored(stale) == "QKcd");
  CHECK(values(stale.fields().cu_seqlens_q) == Values{0, 9});
  CHECK(values(stale.fields().cu_seqlens_kv) == Values{0, 3});

  const MaskInfo axes = info.replace({.baked_in = BakedInMasks{.chunked = true},
                                      .batch_axis = AxisName("dp"),
                                      .sequence_axis = AxisName()});
  CHECK(axes.fields().axes.batch == AxisName("dp"));
  CHECK(axes.fields().axes.sequence == AxisName());
  CHECK(axes.fields().axes.qheads == AxisName("tp"));
  CHECK(axes.baked_in_masks() == BakedInMasks{.chunked = true});
}

TEST_CASE("lengths are counted per id if an id is above 0, else per batch entry") {
  CHECK(values(packed().q_lens()) == Values{0, 2, 2});
  MaskInfo padded = MaskInfo::from_segments(i32({2, 3}, {0, 0, -1, 0, -1, -1}));
  CHECK(values(padded.q_lens()) == Values{2, 1});
  CHECK_FALSE(padded.is_multi_sequence());
  CHECK(packed().is_multi_sequence());
  CHECK(mask_only().q_lens() == nullptr);
  CHECK_FALSE(mask_only().is_multi_sequence());
  MaskInfo huge = MaskInfo::from_segments(row({std::numeric_limits<std::int32_t>::max()}));
  CHECK_THROWS_WITH(huge.q_lens(), Catch::Contains("2147483647"));
}

TEST_CASE("repr() lists shapes and flags") {
  CHECK(MaskInfo().repr() == "MaskInfo(self_attn=False)");
  CHECK(packed().repr() ==
        "MaskInfo(q_segment_ids.shape=(1, 5), kv_segment_ids.shape=(1, 5), self_attn=True)");
  CHECK(mask_only().apply_causal().apply_sliding_window(Index{1}).repr() ==
        "MaskInfo(attention_mask.shape=(1, 1, 2, 3), self_attn=False, "
        "baked_in=['causal', 'sliding_window'])");
}

TEST_CASE("flattening and unflattening keeps every field and computes nothing") {
  MaskInfo info = MaskInfo::from_segments(row({1, 1, 2, -1}), row_array({1, 2, 2}), false,
                                          {.q_positions = row_array({0, 1, 0, -1}),
                                           .kv_positions = nullptr,
                                           .axes = {.batch = AxisName("x")}})
                      .apply_causal();
  const MaskInfoFields children = info.fields();
  MaskInfo again{MaskInfoFields(children)};
  CHECK(stored(again) == stored(info));
  CHECK(stored(again) == "MQKp");
  CHECK(again.fields().q_segment_ids == children.q_segment_ids);
  CHECK(again.baked_in_masks() == info.baked_in_masks());
  CHECK(again.fields().axes == info.fields().axes);
  CHECK(again.repr() == info.repr());
}

TEST_CASE("masks of other ranks fail as ejkernel's unpacking of four extents fails") {
  MaskInfo flat({.attention_mask = MaskArray(bools({1, 2, 2}, {1, 1, 1, 1}))});
  CHECK(python_error_of([&] { flat.apply_causal(); }) ==
        "ValueError: not enough values to unpack (expected 4, got 3)");
  CHECK(python_error_of([&] { flat.apply_sliding_window(Index{1}); }) ==
        "ValueError: not enough values to unpack (expected 4, got 3)");
  MaskInfo deep({.attention_mask = MaskArray(bools({1, 1, 1, 1, 1}, {1}))});
  CHECK(python_error_of([&] { deep.apply_causal(); }) ==
        "ValueError: too many values to unpack (expected 4)");
  // apply_chunked() does not fail: it broadcasts [B,Q,K] & [1,1,Q,K].
  MaskInfo chunked = flat.apply_chunked(1);
  check_cells(chunked.attention_mask(), {1, 1, 2, 2},
              [](Index, Index, Index q, Index k) { return q == k; });
  MaskInfo square({.attention_mask = MaskArray(bools({2, 2}, {1, 0, 1, 1}))});
  MaskInfo wide = square.apply_chunked(1);
  CHECK(wide.fields().attention_mask->shape() == Shape{1, 1, 2, 2});
  // Ids [Q] are broadcast against [batch, Q], where batch is Q.
  CHECK(wide.fields().q_segment_ids->shape() == Shape{2, 2});
}

TEST_CASE("offsets wrap around as int32 does") {
  const std::int32_t most = std::numeric_limits<std::int32_t>::max();
  MaskInfo info = MaskInfo::from_segments(row({0, 0, 0, 0}));
  check_cells(info.apply_causal(Index{most} - 1).attention_mask(), {1, 1, 4, 4},
              [](Index, Index, Index q, Index) { return q <= 1; });
  const auto wrapped = [](Index value) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
  };
  for (const Index offset : {Index{most} - 2, Index{0}, -Index{most} - 1, Index{-2}}) {
    for (const Index left : {Index{0}, Index{1}, Index{most}}) {
      for (const Index right : {Index{0}, Index{2}, Index{most}}) {
        MaskInfo windowed =
            info.apply_sliding_window(std::pair{left, right}, {.offset = PerBatch(offset)});
        check_cells(windowed.attention_mask(), {1, 1, 4, 4}, [&](Index, Index, Index q, Index k) {
          return k >= wrapped(wrapped(offset + q) - left) &&
                 k <= wrapped(wrapped(offset + q) + right);
        });
      }
    }
  }
  CHECK(python_error_of([&] { info.apply_causal(Index{most} + 1); }).starts_with("ValueError"));
}

TEST_CASE("apply_causal with several offsets turns a single batch entry into several") {
  MaskInfo info = MaskInfo::from_segments(row({0, 0, 0}));
  MaskInfo grown = info.apply_causal(list_array({0, 1, -1}));
  check_cells(grown.attention_mask(), {3, 1, 3, 3},
              [](Index b, Index, Index q, Index k) { return k <= q + (b == 2 ? -1 : b); });
  MaskInfo two = MaskInfo::from_segments(i32({2, 1}, {0, 0}));
  CHECK(python_error_of([&] { two.apply_causal(list_array({0, 1, 2})); }).starts_with("TypeError"));
}

TEST_CASE("the end of the query window may differ from the key lengths") {
  MaskInfo info = MaskInfo::from_segments(i32({2, 6}, Values(12, 0)));
  MaskInfo cut = info.apply_kv_lengths(
      list({4, 6}), {.q_len = 2, .sliding_window = 3, .end_index = PerBatch(list_array({3, 5}))});
  // The slice has queries 1 and 2 of batch 0, 3 and 4 of batch 1; keys 1 to 3 of batch 0, 3 to 5 of
  // batch 1.
  check_cells(cut.attention_mask(), {2, 1, 2, 3}, [](Index, Index, Index, Index) { return true; });
  CHECK(values(cut.kv_segment_ids()) == Values(6, 0));

  MaskInfo whole = info.apply_kv_lengths(list({4, 6}), {.q_len = 1, .end_index = Index{6}});
  CHECK(values(whole.kv_segment_ids()) == Values{0, 0, 0, 0, -1, -1, 0, 0, 0, 0, 0, 0});
  MaskInfo seed = info.apply_kv_lengths(list({4, 6}), {.q_len = 1});
  CHECK(values(seed.kv_segment_ids()) == Values(12, 0));
  CHECK(seed.baked_in_masks() == BakedInMasks{});
}

TEST_CASE("seeds of random masks are taken modulo 2 to the 32") {
  const auto cells = [](std::int64_t seed) {
    MaskInfo info = MaskInfo::from_random(2, 9, 11, 0.4, seed);
    const Tensor dense = info.attention_mask().tensor();
    const auto bytes = dense.as<std::uint8_t>();
    return std::vector<std::uint8_t>(bytes.begin(), bytes.end());
  };
  CHECK(cells(7) == cells((std::int64_t{1} << 32) + 7));
  CHECK(cells(-1) == cells(0xFFFFFFFF));
  CHECK(cells(7) != cells(8));
  CHECK(python_error_of([] { MaskInfo::from_random(1, 2, {}, 2.0); }) ==
        "ValueError: Invalid sparsity value. Expected a float in the range [0.0, 1.0] (where 0.0 = "
        "full attention, 1.0 = fully masked), but got 2.0. Please provide a valid sparsity level "
        "between 0 and 1.");
}

}  // namespace
}  // namespace maskctl::info_test
