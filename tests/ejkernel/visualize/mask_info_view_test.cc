// Tests which plane and ids visualize() shows, and what it refuses. Its text is tested by the
// golden cases and by visualize_text_test.cc.
#include "maskctl/ejkernel/visualize/mask_info_view.h"

#include "ejkernel/mask_info/info_support.h"
#include "maskctl/base/error.h"
#include "maskctl/ejkernel/visualize/visualize_text.h"

using namespace maskctl;
using namespace maskctl::info_test;

namespace {

/// Makes a mask in which query q of batch b, head h, sees keys k < q + b + 2 * h.
MaskInfo heads_info() {
  Tensor cells(DType::kBool, {2, 2, 4, 4});
  for (Index i = 0; i < cells.elements(); ++i) {
    const Index b = i / 32, h = i / 16 % 2, q = i / 4 % 4, k = i % 4;
    cells.as<std::uint8_t>()[static_cast<std::size_t>(i)] = k <= q + b + 2 * h - 1;
  }
  return MaskInfo({.attention_mask = MaskArray(cells)});
}

}  // namespace

TEST_CASE("visualize draws the plane and the ids of the chosen batch and head") {
  MaskInfo info = heads_info();
  for (Index b = 0; b < 2; ++b) {
    for (Index h = 0; h < 2; ++h) {
      const Mask mask = info.attention_mask().mask();
      EjkernelOptions options;
      options.q_block = options.kv_block = 1;
      options.batch = b;
      options.head = h;
      options.ascii = true;
      options.mask_shape = {2, 2, 4, 4};
      CHECK(visualize(info, {.block_size = Index{1}, .batch = b, .head = h, .charset = "ascii"}) ==
            visualize_text(*mask.plane(b, h), std::nullopt, std::nullopt, options));
    }
  }
  CHECK_FALSE(info.fields().q_segment_ids);
}

TEST_CASE("visualize shows stored ids, and those of the head if heads have their own") {
  MaskInfo info = heads_info();
  const std::string computed = visualize(info, {.block_size = std::pair<Index, Index>{4, 1}});
  info = info.replace({.q_segment_ids = make_array(i32({2, 4}, Values(8, 57)))});
  const std::string text = visualize(info, {.block_size = std::pair<Index, Index>{4, 1}});
  CHECK(text.find("    57 ||") != std::string::npos);
  CHECK(computed.find("    57 ||") == std::string::npos);

  Values per_head(16, 3);
  std::fill(per_head.begin() + 4, per_head.begin() + 8, 4);
  info = info.replace({.q_segment_ids = make_array(i32({2, 2, 4}, per_head))});
  CHECK(visualize(info, {.block_size = Index{4}, .head = 1}).find("     4 ||") !=
        std::string::npos);
  CHECK(visualize(info, {.block_size = Index{4}, .head = 0}).find("     3 ||") !=
        std::string::npos);
  CHECK(visualize(info, {.show_segments = false}).find("Legend seg") == std::string::npos);
}

TEST_CASE("visualize reads an array of rank 3 as one plane per batch entry") {
  MaskInfo info({.attention_mask = MaskArray(bools({2, 1, 1}, {0, 1}))});
  CHECK(visualize(info).find("mask_shape=(2, 1, 1, 1)") != std::string::npos);
  const VisualizeOptions second{.block_size = Index{1}, .batch = 1};
  CHECK(visualize(info, second).find("||██||") != std::string::npos);
  CHECK(visualize(info, {.block_size = Index{1}}).find("||  ||") != std::string::npos);
}

TEST_CASE("visualize refuses other ranks and indices out of range") {
  MaskInfo flat({.attention_mask = MaskArray(bools({2, 3}, Values(6, 1)))});
  CHECK(python_error_of([&] {
          visualize(flat);
        }).starts_with("ValueError: Visualization requires a 4D attention mask"));
  MaskInfo info = heads_info();
  CHECK(python_error_of([&] { visualize(info, {.batch = 2}); }) ==
        "IndexError: Batch index out of range. Requested batch=2, but valid range is [0, 2). The "
        "attention mask has batch_size=2.");
  CHECK(python_error_of([&] { visualize(info, {.head = -1}); }) ==
        "IndexError: Head index out of range. Requested head=-1, but valid range is [0, 2). The "
        "attention mask has 2 head(s).");
  MaskInfo few_ids = info.replace({.q_segment_ids = row_array({1, 1, 1, 1})});
  CHECK_THROWS_AS(visualize(few_ids, {.batch = 1}), Error);
  MaskInfo short_ids = info.replace({.q_segment_ids = make_array(i32({2, 1}, {1, 1}))});
  CHECK_THROWS_AS(visualize(short_ids, {.block_size = Index{1}}), Error);
}
