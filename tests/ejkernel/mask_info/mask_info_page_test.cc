// Tests every snippet of ejkernel's documentation of MaskInfo, in its order. Where the
// documentation and the source of ejkernel disagree, the source is followed.
#include <limits>

#include "ejkernel/mask_info/info_support.h"
#include "maskctl/ejkernel/mask_info/sharding.h"
#include "maskctl/ejkernel/visualize/mask_info_view.h"

namespace maskctl::info_test {
namespace {

/// Returns a rule: a cell is open if query and key have equal ids above -1.
auto same_segment(Values q, Values kv) {
  return [q = std::move(q), kv = std::move(kv)](Index, Index, Index i, Index j) {
    const auto a = q[static_cast<std::size_t>(i)], b = kv[static_cast<std::size_t>(j)];
    return a == b && a > -1;
  };
}

Tensor lower_triangle(Index n, bool inverted) {
  Tensor out(DType::kBool, {1, n, n});
  for (Index q = 0; q < n; ++q) {
    for (Index k = 0; k < n; ++k) {
      out.as<std::uint8_t>()[static_cast<std::size_t>(q * n + k)] = (k <= q) != inverted;
    }
  }
  return out;
}

TEST_CASE("the examples of the MaskInfo page hold: from segment ids") {
  const Values single{0, 0, 0, 0, -1, -1};
  MaskInfo info = MaskInfo::from_segments(row(single));
  check_cells(info.attention_mask(), {1, 1, 6, 6}, same_segment(single, single));

  const Values many{1, 1, 2, 2, 3, 3, 3, -1};
  info = MaskInfo::from_segments(row(many));
  check_cells(info.attention_mask(), {1, 1, 8, 8}, same_segment(many, many));

  const Values q{1, 1, 2, 2}, kv{1, 1, 1, 2, 2, 2};
  info = MaskInfo::from_segments(row(q), row_array(kv));
  check_cells(info.attention_mask(), {1, 1, 4, 6}, same_segment(q, kv));
  CHECK_FALSE(info.is_self_attention());
}

TEST_CASE("the examples of the MaskInfo page hold: from attention masks of each rank") {
  MaskInfo info =
      MaskInfo::from_attention_mask(MaskArray(i32({2, 5}, {1, 1, 1, 0, 0, 1, 1, 0, 0, 0})));
  check_cells(info.attention_mask(), {2, 1, 5, 5}, [](Index b, Index, Index q, Index k) {
    const Index length = b == 0 ? 3 : 2;
    return q < length && k < length;
  });
  CHECK(values(info.q_segment_ids()) == Values{0, 0, 0, -1, -1, 0, 0, -1, -1, -1});

  const auto causal = [](Index, Index, Index q, Index k) { return k <= q; };
  info = MaskInfo::from_attention_mask(MaskArray(lower_triangle(8, false)));
  check_cells(info.attention_mask(), {1, 1, 8, 8}, causal);

  info = MaskInfo::from_attention_mask(MaskArray(bools({2, 8, 64, 64}, Values(2 * 8 * 4096, 1))));
  check_cells(info.attention_mask(), {2, 8, 64, 64}, [](Index, Index, Index, Index) { return 1; });
  CHECK(info.shape() == std::array<std::optional<Index>, 3>{2, 64, 64});

  info = MaskInfo::from_attention_mask(MaskArray(lower_triangle(8, true)), false);
  check_cells(info.attention_mask(), {1, 1, 8, 8}, causal);
}

TEST_CASE("the examples of the MaskInfo page hold: from cumulative lengths") {
  const std::vector<Index> q_ends{3, 5, 4}, kv_ends{6, 8, 7};
  const auto both = [](const std::vector<Index>& q_end, const std::vector<Index>& kv_end) {
    return [&](Index b, Index, Index q, Index k) {
      return q < q_end[static_cast<std::size_t>(b)] && k < kv_end[static_cast<std::size_t>(b)];
    };
  };
  const Tensor cu_q = list({0, 3, 0, 5, 0, 4});
  MaskInfo info = MaskInfo::from_cu_seqlens(cu_q, 5);
  check_cells(info.attention_mask(), {3, 1, 5, 5}, both(q_ends, q_ends));
  info = MaskInfo::from_cu_seqlens(cu_q, 5, list_array({0, 6, 0, 8, 0, 7}), 8);
  check_cells(info.attention_mask(), {3, 1, 5, 8}, both(q_ends, kv_ends));
}

TEST_CASE("the examples of the MaskInfo page hold: a random mask") {
  MaskInfo info = MaskInfo::from_random(2, 128, 256, 0.5, 42);
  CHECK(info.attention_mask().shape() == Shape{2, 1, 128, 256});
  const Index open = info.attention_mask().mask().count();
  CHECK(std::abs(open - 2 * 128 * 256 / 2) < 1000);  // 1000 is eight standard deviations
}

TEST_CASE("the examples of the MaskInfo page hold: dynamic_init()") {
  const auto all = [](Index, Index, Index, Index) { return true; };
  MaskInfo ids = MaskInfo::dynamic_init({.input_ids_shape = Shape{2, 4}});
  check_cells(ids.attention_mask(), {2, 1, 4, 4}, all);
  MaskInfo mask =
      MaskInfo::dynamic_init({.attention_mask = MaskArray(i32({2, 4}, {1, 1, 1, 0, 1, 1, 0, 0}))});
  check_cells(mask.attention_mask(), {2, 1, 4, 4},
              [](Index b, Index, Index q, Index k) { return q < 3 - b && k < 3 - b; });
  CHECK(MaskInfo::dynamic_init({.mask_info = &mask}).repr() == mask.repr());
  MaskInfo embeds = MaskInfo::dynamic_init({.inputs_embeds_shape = Shape{2, 4, 16}});
  CHECK(embeds.repr() == MaskInfo::dynamic_init({.input_ids_shape = Shape{2, 4}}).repr());
}

TEST_CASE("the examples of the MaskInfo page hold: properties") {
  const Values ids{1, 1, 2, 2, -1};
  MaskInfo info = MaskInfo::from_segments(row(ids));
  CHECK(info.batch_size() == 1);
  CHECK(info.q_len() == 5);
  CHECK(info.kv_len() == 5);
  CHECK(info.shape() == std::array<std::optional<Index>, 3>{1, 5, 5});
  check_cells(info.attention_mask(), {1, 1, 5, 5}, same_segment(ids, ids));
  CHECK(values(info.q_segment_ids()) == ids);
  CHECK(values(info.kv_segment_ids()) == ids);
  for (const Array& cu : {info.cu_seqlens_q(), info.cu_seqlens_kv()}) {
    Values counts = values(cu);
    CHECK(counts.size() == 129);
    CHECK(counts[1] == 0);  // no token has id 0
    CHECK(counts[2] == 2);
    CHECK(counts[3] == 4);
    CHECK(counts[128] == 4);
  }
  CHECK(values(info.q_lens()) == Values{0, 2, 2});
  CHECK(values(info.kv_lens()) == Values{0, 2, 2});
  CHECK(values(info.q_attention_mask()) == Values{1, 1, 1, 1, 0});
  CHECK(values(info.q_position_ids()) == Values{0, 1, 0, 1, -1});

  const Tensor bias = info.bias();
  const Tensor half = info.create_bias(DType::kFloat16);
  CHECK(half.dtype() == DType::kFloat16);
  for (std::size_t i = 0; i < 25; ++i) {
    const bool open = ids[i / 5] == ids[i % 5] && ids[i / 5] > -1;
    CHECK(bias.as<float>()[i] == (open ? 0.0f : std::numeric_limits<float>::lowest()));
    // 0xFBFF is the least finite float16, not -inf.
    CHECK(half.as<std::uint16_t>()[i] == (open ? 0 : 0xFBFF));
  }
}

TEST_CASE("the examples of the MaskInfo page hold: causal masks") {
  const Values ids{1, 1, 1, 1, 1, 1, 2, 2};
  const auto same = same_segment(ids, ids);
  MaskInfo info = MaskInfo::from_segments(row(ids));
  check_cells(info.apply_causal().attention_mask(), {1, 1, 8, 8},
              [&](Index b, Index h, Index q, Index k) { return same(b, h, q, k) && k <= q; });
  check_cells(info.apply_causal(Index{5}).attention_mask(), {1, 1, 8, 8},
              [&](Index b, Index h, Index q, Index k) { return same(b, h, q, k) && k <= q + 5; });
  MaskInfo three = MaskInfo::from_segments(i32({3, 8}, Values(24, 0)));
  check_cells(three.apply_causal(list_array({0, 2, 4})).attention_mask(), {3, 1, 8, 8},
              [](Index b, Index, Index q, Index k) { return k <= q + 2 * b; });
}

TEST_CASE("the examples of the MaskInfo page hold: sliding windows") {
  MaskInfo info = MaskInfo::from_segments(row(Values(600, 0)));
  check_cells(info.apply_sliding_window(Index{256}).attention_mask(), {1, 1, 600, 600},
              [](Index, Index, Index q, Index k) { return k >= q - 256 && k <= q + 256; });
  check_cells(info.apply_sliding_window(std::pair<Index, Index>{512, 0}).attention_mask(),
              {1, 1, 600, 600},
              [](Index, Index, Index q, Index k) { return k >= q - 512 && k <= q; });

  const Index position = 400;
  MaskInfo decode = info.apply_sliding_window(Index{256}, {.mode = "decode", .index = position});
  // The slice has min(2 * 256 + 1, 600) keys and begins at clip(400 - 256, 0, 600 - 513) = 87.
  check_cells(decode.attention_mask(), {1, 1, 1, 513},
              [&](Index, Index, Index, Index k) { return 87 + k >= position - 256; });

  MaskInfo prefill = info.apply_sliding_window(Index{256}, {.mode = "prefill"});
  check_cells(prefill.attention_mask(), {1, 1, 600, 256}, [](Index, Index, Index q, Index k) {
    return 344 + k >= q - 256 && 344 + k <= q + 256;
  });
  CHECK(prefill.kv_len() == 256);
  CHECK(prefill.q_len() == 600);
}

TEST_CASE("the examples of the MaskInfo page hold: chunks") {
  MaskInfo info = MaskInfo::from_segments(row(Values(300, 0)));
  MaskInfo chunked = info.apply_chunked(128);
  check_cells(chunked.attention_mask(), {1, 1, 300, 300},
              [](Index, Index, Index q, Index k) { return q / 128 == k / 128 && k <= q; });
  const Values ids = values(chunked.q_segment_ids());
  CHECK(ids[127] == 1);
  CHECK(ids[128] == 2);
  CHECK(ids[299] == 3);
}

TEST_CASE("the examples of the MaskInfo page hold: token types") {
  const Values types{1, 1, 2, 2, 0, 0}, ids{0, 0, 0, 1, 1, -1};
  const auto base = same_segment(ids, ids);
  const auto equal = [&](Index q, Index k, bool zero_keys) {
    const auto a = types[static_cast<std::size_t>(q)], b = types[static_cast<std::size_t>(k)];
    return a == b && a != 0 && (zero_keys || b != 0);
  };
  MaskInfo info = MaskInfo::from_segments(row(ids));
  MaskInfo typed = info.apply_token_type_ids(row(types));
  check_cells(typed.attention_mask(), {1, 1, 6, 6}, [&](Index b, Index h, Index q, Index k) {
    return base(b, h, q, k) || equal(q, k, true);
  });
  CHECK(values(typed.q_segment_ids()) == ids);
  typed = info.apply_token_type_ids(row(types), nullptr,
                                    {.combine = "intersect", .zero_policy = "both"});
  check_cells(typed.attention_mask(), {1, 1, 6, 6}, [&](Index b, Index h, Index q, Index k) {
    return base(b, h, q, k) && equal(q, k, false);
  });
  CHECK(values(typed.q_segment_ids()) == Values{1, 1, 2, 2, -1, -1});
}

TEST_CASE("the examples of the MaskInfo page hold: key lengths") {
  MaskInfo info = MaskInfo::from_segments(i32({3, 200}, Values(600, 0)));
  const Tensor lengths = list({100, 150, 80});
  CHECK(python_error_of([&] { info.apply_kv_lengths(lengths); }) ==
        "ValueError: q_len must be provided.");
  const Values length = values(lengths);
  MaskInfo limited = info.apply_kv_lengths(lengths, {.q_len = 200});
  check_cells(limited.attention_mask(), {3, 1, 200, 200}, [&](Index b, Index, Index, Index k) {
    return k < length[static_cast<std::size_t>(b)];
  });
  limited =
      info.apply_kv_lengths(lengths, {.q_len = 1, .sliding_window = 256, .end_index = Index{90}});
  check_cells(limited.attention_mask(), {3, 1, 1, 200}, [&](Index b, Index, Index, Index k) {
    return k < length[static_cast<std::size_t>(b)];
  });
  CHECK(limited.q_len() == 1);
}

TEST_CASE("the examples of the MaskInfo page hold: conversions") {
  const Values ids{1, 1, 2, -1};
  MaskInfo info = MaskInfo::from_segments(row(ids));
  info = info.materialize_attention_mask();
  info = info.materialize_segment_ids();
  CHECK(info.fields().attention_mask->lazy());
  info = info.to_dtype(DType::kFloat16);
  CHECK(info.attention_mask().dtype() == DType::kFloat16);
  const QkvMasks masks = info.get_qkv_masks();
  for (const Array& side : {masks.q, masks.kv}) {
    CHECK(side->dtype() == DType::kBool);
    const auto flags = side->as<std::uint8_t>();
    CHECK(std::vector<int>(flags.begin(), flags.end()) == std::vector<int>{1, 1, 1, 0});
  }
  check_cells(masks.attention, {1, 1, 4, 4}, same_segment(ids, ids));
  const QkvArrays positions = info.get_or_compute_positions();
  const std::int32_t pad = std::numeric_limits<std::int32_t>::max();
  CHECK(values(positions.q) == Values{0, 1, 0, -1});
  CHECK(values(positions.kv) == Values{0, 1, 0, pad});
  const QkvArrays cu = info.get_or_compute_qkv_cu_seqlens();
  CHECK(values(cu.q)[3] == 3);
  CHECK(values(cu.kv) == values(cu.q));
}

TEST_CASE("the examples of the MaskInfo page hold: shardings") {
  const Mesh mesh{{"dp", "tp"}, {2, 4}};
  MaskInfo info = MaskInfo::from_segments(i32({2, 8}, Values(16, 0)));
  CHECK(python_error_of([&] {
          get_shardings(info, mesh);
        }).starts_with("ValueError: Invalid axis name configuration. Axis 'fsdp'"));
  info = info.replace({.batch_axis = AxisName("dp")});
  MaskSharding split = get_shardings(info, mesh);
  CHECK_FALSE(split.attention_mask);
  CHECK(to_text(split.q_segment_ids.value()) == "PartitionSpec('dp', None)");
  CHECK(python_error_of([&] {
          get_shardings(info, mesh, true);
        }).starts_with("ValueError: Invalid axis name configuration. Axis 'sp'"));
  const Mesh with_sequence{{"dp", "sp", "tp"}, {2, 4, 1}};
  split = get_shardings(info, with_sequence, true);
  CHECK(to_text(split.kv_segment_ids.value()) == "PartitionSpec('dp', 'sp')");

  MaskInfoExtras extras;
  extras.axes.batch = std::vector<std::string>{"dp", "fsdp"};
  extras.axes.sequence = std::string("sp");
  extras.axes.qheads = std::string("tp");
  MaskInfo custom = MaskInfo::from_segments(row({0, 0}), nullptr, false, extras);
  CHECK(custom.fields().axes == AxisNames{});  // the axes of the example are the defaults
}

TEST_CASE("the examples of the MaskInfo page hold: visualization") {
  Values ids(128, 1);
  std::fill(ids.begin() + 64, ids.end(), 2);
  MaskInfo info = MaskInfo::from_segments(row(ids));
  CHECK(visualize(info).starts_with(
      "Attention mask (batch=0, head=0) block=(32x32) mask_shape=(1, 1, 128, 128)\n"));
  // As in ejkernel's source, labels on the left are padded to six columns and those on top are
  // joined.
  CHECK(visualize(info, {.block_size = Index{32},
                         .batch = 0,
                         .head = 0,
                         .charset = "unicode",
                         .show_segments = true}) ==
        "Attention mask (batch=0, head=0) block=(32x32) mask_shape=(1, 1, 128, 128)\n"
        "         01010202\n"
        "        ========  \n"
        "     1 ||████    ||\n"
        "     1 ||████    ||\n"
        "     2 ||    ████||\n"
        "     2 ||    ████||\n"
        "        ========  \n"
        "Legend mask: full='██'/##, partial='░░'/.., empty='  '\n"
        "Legend seg: left=Q block ID, top=KV block ID, PAD=-1, MIX=??\n");
}

TEST_CASE("the examples of the MaskInfo page hold: flattening as a JAX tree, and its process()") {
  MaskInfo info = MaskInfo::from_segments(row({1, 1, -1}));
  // In Python this is tree_unflatten(tree_flatten(info)).
  MaskInfo again(MaskInfoFields(info.fields()));
  const Values mask = values(again.q_attention_mask());
  const std::vector<float> x{1.5f, -2.0f, 3.0f};
  std::vector<float> out;
  for (std::size_t i = 0; i < 3; ++i) out.push_back(x[i] * static_cast<float>(mask[i]));
  CHECK(out == std::vector<float>{1.5f, -2.0f, 0.0f});
}

TEST_CASE("the examples of the MaskInfo page hold: debug mode") {
  std::vector<std::string> lines;
  set_debug_sink([&](std::string_view line) { lines.emplace_back(line); });
  set_debug_mode(true);
  MaskInfo::from_segments(row({1, 1, 2, 2}));
  CHECK(get_debug_mode());
  set_debug_mode(false);
  set_debug_sink({});
  CHECK_FALSE(get_debug_mode());
  CHECK(lines == std::vector<std::string>{"[MaskInfo Debug] Debug mode enabled",
                                          "[MaskInfo Debug] Calling type.from_segments()",
                                          "[MaskInfo Debug] Debug mode disabled"});
}

TEST_CASE("the examples of the MaskInfo page hold: best practices") {
  MaskInfo info = MaskInfo::from_segments(row({1, 1, 2, 2}));
  const QkvArrays ids = info.get_or_compute_segment_ids();
  CHECK(values(ids.q) == Values{1, 1, 2, 2});
  CHECK(values(ids.kv) == Values{1, 1, 2, 2});
  CHECK_FALSE(info.fields().attention_mask);
  check_cells(info.attention_mask(), {1, 1, 4, 4},
              [](Index, Index, Index q, Index k) { return q / 2 == k / 2; });

  MaskInfo chained =
      MaskInfo::from_segments(row({1, 1, 2, 2})).apply_causal().apply_sliding_window(Index{256});
  check_cells(chained.attention_mask(), {1, 1, 4, 4},
              [](Index, Index, Index q, Index k) { return q / 2 == k / 2 && k <= q; });
  CHECK(chained.baked_in_masks() == BakedInMasks{.causal = true, .sliding_window = true});
  for (int layer = 0; layer < 3; ++layer) {
    CHECK(chained.attention_mask().mask().count() == 6);
  }
}

}  // namespace
}  // namespace maskctl::info_test
