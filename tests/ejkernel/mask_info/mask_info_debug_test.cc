// Tests the lines that MaskInfo prints in its debug mode, also for nested calls.
#include "ejkernel/mask_info/info_support.h"

namespace maskctl::info_test {
namespace {

using Lines = std::vector<std::string>;

/// Returns the lines that a call prints in debug mode, without "[MaskInfo Debug] " at their start.
template <typename F>
Lines lines_of(F&& f) {
  Lines lines;
  set_debug_sink([&](std::string_view line) {
    const std::string_view mark = "[MaskInfo Debug] ";
    REQUIRE(line.starts_with(mark));
    lines.emplace_back(line.substr(mark.size()));
  });
  set_debug_mode(true);
  f();
  set_debug_mode(false);
  set_debug_sink({});
  REQUIRE(lines.size() >= 2);
  CHECK(lines.front() == "Debug mode enabled");
  CHECK(lines.back() == "Debug mode disabled");
  return {lines.begin() + 1, lines.end() - 1};
}

TEST_CASE("debug mode is off by default, and then prints nothing") {
  CHECK_FALSE(get_debug_mode());
  Lines lines;
  set_debug_sink([&](std::string_view line) { lines.emplace_back(line); });
  MaskInfo::from_segments(row({1})).apply_causal();
  CHECK(lines.empty());
  set_debug_mode(true);
  CHECK(get_debug_mode());
  set_debug_mode(false);
  CHECK(lines ==
        Lines{"[MaskInfo Debug] Debug mode enabled", "[MaskInfo Debug] Debug mode disabled"});
  set_debug_sink({});
}

TEST_CASE("a chain prints its calls, property reads and nested calls in order") {
  const Lines lines = lines_of([] { MaskInfo::from_segments(row({1, 1, 2})).apply_causal(); });
  CHECK(lines == Lines{"Calling type.from_segments()", "Calling MaskInfo.apply_causal()",
                       "Property access: q_len", "Property access: kv_len",
                       "Calling MaskInfo.get_or_compute_attention_mask()",
                       "Calling tuple.segment_ids_to_mask()", "Calling MaskInfo.replace()"});
}

TEST_CASE("apply_chunked prints that it reads the lengths again") {
  MaskInfo info({.attention_mask = MaskArray(bools({1, 1, 2, 2}, {1, 0, 1, 1}))});
  const Lines lines = lines_of([&] { info.apply_chunked(2); });
  CHECK(lines == Lines{"Calling MaskInfo.apply_chunked()", "Property access: q_len",
                       "Property access: kv_len",
                       "Calling MaskInfo.get_or_compute_attention_mask()", "Property access: q_len",
                       "Property access: kv_len", "Calling MaskInfo.get_or_compute_segment_ids()",
                       "Calling ArrayImpl.mask_to_segment_ids()", "Property access: q_len",
                       "Property access: kv_len", "Calling MaskInfo.replace()"});
}

TEST_CASE("a property prints what it reads; some properties are not traced") {
  MaskInfo info = MaskInfo::from_segments(row({1, 1, 2}));
  CHECK(lines_of([&] { (void)info.shape(); }) ==
        Lines{"Property access: shape", "Property access: batch_size", "Property access: q_len",
              "Property access: kv_len"});
  CHECK(lines_of([&] { (void)info.bias(); }) ==
        Lines{"Property access: bias", "Calling MaskInfo.create_bias()",
              "Calling MaskInfo.get_or_compute_attention_mask()",
              "Calling tuple.segment_ids_to_mask()"});
  CHECK(lines_of([&] { info.q_attention_mask(); }) == Lines{"Property access: q_segment_ids"});
  CHECK(lines_of([&] {
          (void)info.repr();
          (void)info.is_self_attention();
          (void)info.baked_in_masks();
          info.q_position_ids();
          (void)MaskInfo::from_segments;
        }).empty());
}

TEST_CASE("the error about unknown lengths reads the lengths again, and prints that") {
  MaskInfo empty;
  CHECK(lines_of([&] { CHECK_THROWS(empty.apply_causal()); }) ==
        Lines{"Calling MaskInfo.apply_causal()", "Property access: q_len", "Property access: q_len",
              "Property access: kv_len"});
}

TEST_CASE("constructors print the functions that they call") {
  CHECK(lines_of([] {
          MaskInfo::from_cu_seqlens(list({0, 2}), 3);
        }) ==
        Lines{"Calling type.from_cu_seqlens()", "Calling ArrayImpl.qkv_cu_seqlens_to_qkv_masks()",
              "Calling ArrayImpl.cu_seqlens_to_mask()", "Calling ArrayImpl.cu_seqlens_to_mask()"});
  CHECK(lines_of([] {
          MaskInfo::dynamic_init({.input_ids_shape = Shape{1, 2}});
        }) == Lines{"Calling type.dynamic_init()", "Calling type.from_segments()"});
  CHECK(lines_of([] {
          MaskInfo::from_attention_mask(MaskArray(bools({1, 2}, {1, 0})));
        }) == Lines{"Calling type.from_attention_mask()", "Calling tuple.segment_ids_to_mask()"});
}

}  // namespace
}  // namespace maskctl::info_test
