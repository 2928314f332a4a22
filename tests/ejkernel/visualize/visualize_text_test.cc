// Tests what drawings of masks as in ejkernel round away, what they cost, and what is refused.
#include "maskctl/ejkernel/visualize/visualize_text.h"

#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

/// Returns the line that draws the first row of blocks.
std::string first_row(const std::string& text) {
  const auto begin = text.find("||") + 2;
  return text.substr(begin, text.find("||", begin) - begin);
}

TEST_CASE("visualize text: one closed cell in a million is rounded away as in ejkernel",
          "[ejkernel]") {
  EjkernelOptions options;
  options.ascii = true;
  options.show_segments = false;
  options.max_rows = options.max_cols = 1;
  const auto with_one_closed = [&](Index n) {
    const PlanePtr plane = combine(Op::kSub, full_plane(n, n), rectangle(n, n, {5, 6}, {7, 8}));
    return first_row(visualize_text(*plane, {}, {}, options));
  };
  CHECK(with_one_closed(1024) == "##");
  CHECK(with_one_closed(512) == "..");
}

TEST_CASE("visualize text: one open cell in a million is rounded away only when averaged",
          "[ejkernel]") {
  EjkernelOptions options;
  options.ascii = true;
  options.show_segments = false;
  const PlanePtr plane = rectangle(1024, 1024, {5, 6}, {7, 8});
  options.max_rows = options.max_cols = 1;
  CHECK(first_row(visualize_text(*plane, {}, {}, options)) == "  ");
  options.q_block = options.kv_block = 1024;
  CHECK(first_row(visualize_text(*plane, {}, {}, options)) == "..");
}

TEST_CASE("visualize text: a million queries are drawn by counting only the blocks on the border",
          "[ejkernel]") {
  const Index n = 1000000;
  EjkernelOptions options;
  options.ascii = true;
  options.show_segments = false;
  options.max_rows = 2;
  options.max_cols = 4;
  const PlanePtr plane = rectangle(n, n, {0, n}, {0, 500032});
  CHECK(first_row(visualize_text(*plane, {}, {}, options)) == "####    ");
}

TEST_CASE("visualize text: masks without cells are drawn as an empty frame", "[ejkernel]") {
  EjkernelOptions options;
  CHECK(visualize_text(*empty_plane(0, 40), {}, {}, options) ==
        "Attention mask (batch=0, head=0) block=(32x32) mask_shape=(1, 1, 0, 40)\n"
        "             \n"
        "          \n"
        "          \n"
        "Legend mask: full='██'/##, partial='░░'/.., empty='  '\n"
        "Legend seg: left=Q block ID, top=KV block ID, PAD=-1, MIX=??\n");
  options.show_segments = false;
  CHECK(visualize_text(*empty_plane(1, 0), {}, {}, options) ==
        "Attention mask (batch=0, head=0) block=(32x32) mask_shape=(1, 1, 1, 0)\n"
        "    \n"
        "||||\n"
        "    \n"
        "Legend mask: full='██'/##, partial='░░'/.., empty='  '\n");
}

TEST_CASE("visualize text: a screen without rows, and too few ids, are refused", "[ejkernel]") {
  EjkernelOptions options;
  const std::vector<std::int32_t> few = {0}, enough(64, 0);
  CHECK_THROWS_AS(visualize_text(*full_plane(64, 64), few, enough, options), Error);
  options.max_rows = 0;
  CHECK_THROWS_AS(visualize_text(*full_plane(64, 64), {}, {}, options), Error);
  options.fit_in_screen = false;
  options.q_block = options.kv_block = 1;
  CHECK_THROWS_AS(visualize_text(*full_plane(100000, 100000), {}, {}, options), Error);
}

}  // namespace
}  // namespace maskctl
