// Compares the drawings of masks with texts that ejkernel itself printed.
#include "maskctl/ejkernel/visualize/visualize_text.h"
#include "support/catch_compat.h"
#include "support/twin.h"

namespace maskctl {
namespace {

/// Returns ids from pairs of an id and its count.
std::vector<std::int32_t> ids(const std::vector<std::pair<std::int32_t, int>>& runs) {
  std::vector<std::int32_t> out;
  for (const auto& [id, count] : runs) out.insert(out.end(), static_cast<std::size_t>(count), id);
  return out;
}

PlanePtr segments(const std::vector<std::int32_t>& q, const std::vector<std::int32_t>& k) {
  return twin::plane_of_matrix(twin::matrix(
      static_cast<Index>(q.size()), static_cast<Index>(k.size()), [&](Index i, Index j) {
        const auto id = q[static_cast<std::size_t>(i)];
        return id >= 0 && id == k[static_cast<std::size_t>(j)];
      }));
}

PlanePtr cells(const std::vector<std::string>& rows) {
  return twin::plane_of_matrix(
      twin::matrix(static_cast<Index>(rows.size()), static_cast<Index>(rows.front().size()),
                   [&](Index q, Index k) {
                     return rows[static_cast<std::size_t>(q)][static_cast<std::size_t>(k)] == '#';
                   }));
}

TEST_CASE("visualize text equals ejkernel's: ascii without segments", "[ejkernel]") {
  const auto q = ids({{0, 1}});
  const PlanePtr plane = segments(q, q);
  const EjkernelOptions options{.q_block = 2,
                                .kv_block = 2,
                                .fit_in_screen = false,
                                .max_rows = 7,
                                .max_cols = 7,
                                .ascii = true,
                                .show_segments = false,
                                .mask_shape = {1, 1, 1, 1}};
  CHECK(visualize_text(*plane, q, q, options) ==
        "Attention mask (batch=0, head=0) block=(2x2) mask_shape=(1, 1, 1, 1)\n"
        "  ==  \n"
        "||..||\n"
        "  ==  \n"
        "Legend mask: full='██'/##, partial='░░'/.., empty='  '\n");
}

TEST_CASE("visualize text equals ejkernel's: padding on the left and ragged last blocks",
          "[ejkernel]") {
  const auto q = ids({{-1, 19}, {0, 34}, {1, 22}});
  const PlanePtr plane = segments(q, q);
  const EjkernelOptions options{
      .q_block = 64, .kv_block = 4, .batch = 1, .max_rows = 8, .mask_shape = {2, 1, 75, 75}};
  CHECK(visualize_text(*plane, q, q, options) ==
        "Attention mask (batch=1, head=0) block=(64x4) mask_shape=(2, 1, 75, 75)\n"
        "                 ??0000000000000000??01010101??\n"
        "        ======================================  \n"
        "   MIX ||        ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░||\n"
        "   MIX ||                          ░░░░░░░░░░░░||\n"
        "        ======================================  \n"
        "Legend mask: full='██'/##, partial='░░'/.., empty='  '\n"
        "Legend seg: left=Q block ID, top=KV block ID, PAD=-1, MIX=??\n");
}

TEST_CASE("visualize text equals ejkernel's: one block larger than the mask", "[ejkernel]") {
  const auto q = ids({{1, 2}, {3, 1}, {2, 1}, {3, 1}, {-1, 1}, {0, 1}});
  const PlanePtr plane = segments(q, q);
  const EjkernelOptions options{.q_block = 8,
                                .kv_block = 8,
                                .batch = 1,
                                .fit_in_screen = false,
                                .max_rows = 15,
                                .mask_shape = {3, 1, 7, 7}};
  CHECK(visualize_text(*plane, q, q, options) ==
        "Attention mask (batch=1, head=0) block=(8x8) mask_shape=(3, 1, 7, 7)\n"
        "         ??\n"
        "        ==  \n"
        "   MIX ||░░||\n"
        "        ==  \n"
        "Legend mask: full='██'/##, partial='░░'/.., empty='  '\n"
        "Legend seg: left=Q block ID, top=KV block ID, PAD=-1, MIX=??\n");
}

TEST_CASE("visualize text equals ejkernel's: cross attention and averaged columns", "[ejkernel]") {
  const auto q = ids({{0, 3}, {1, 1}, {2, 8}, {3, 7}, {4, 3}, {-1, 8}});
  const auto k = ids({{0, 36}, {-1, 9}});
  const PlanePtr plane = segments(q, k);
  const EjkernelOptions options{.q_block = 3,
                                .kv_block = 2,
                                .max_cols = 10,
                                .ascii = true,
                                .show_segments = false,
                                .mask_shape = {4, 1, 30, 45}};
  CHECK(visualize_text(*plane, q, k, options) ==
        "Attention mask (batch=0, head=0) block=(3x2) mask_shape=(4, 1, 30, 45)\n"
        "  ================  \n"
        "||############    ||\n"
        "||                ||\n"
        "||                ||\n"
        "||                ||\n"
        "||                ||\n"
        "||                ||\n"
        "||                ||\n"
        "||                ||\n"
        "||                ||\n"
        "||                ||\n"
        "  ================  \n"
        "Legend mask: full='██'/##, partial='░░'/.., empty='  '\n");
}

TEST_CASE("visualize text equals ejkernel's: a dense mask that is not symmetric", "[ejkernel]") {
  const PlanePtr plane = cells({"#.####", "#.####", "######", "######", "####.#", "######"});
  const auto q = ids({{0, 6}}), k = ids({{0, 6}});
  const EjkernelOptions options{
      .q_block = 2, .kv_block = 2, .head = 1, .fit_in_screen = false, .mask_shape = {2, 2, 6, 6}};
  CHECK(visualize_text(*plane, q, k, options) ==
        "Attention mask (batch=0, head=1) block=(2x2) mask_shape=(2, 2, 6, 6)\n"
        "         000000\n"
        "        ======  \n"
        "     0 ||░░████||\n"
        "     0 ||██████||\n"
        "     0 ||████░░||\n"
        "        ======  \n"
        "Legend mask: full='██'/##, partial='░░'/.., empty='  '\n"
        "Legend seg: left=Q block ID, top=KV block ID, PAD=-1, MIX=??\n");
}

TEST_CASE("visualize text equals ejkernel's: ids of a causal mask, and averaged rows",
          "[ejkernel]") {
  const PlanePtr plane =
      cells({"###.............", "####............", "#####...........", "######..........",
             "#######.........", "########........", "#########.......", "##########......",
             "###########.....", "############....", "#############...", "##############..",
             "###############.", "################", "################", "################"});
  const EjkernelOptions options{.q_block = 2,
                                .kv_block = 2,
                                .max_rows = 4,
                                .max_cols = 16,
                                .ascii = true,
                                .mask_shape = {3, 1, 16, 16}};
  CHECK(visualize_text(*plane, {}, {}, options) ==
        "Attention mask (batch=0, head=0) block=(2x2) mask_shape=(3, 1, 16, 16)\n"
        "         00??????????????\n"
        "        ================  \n"
        "   MIX ||##....          ||\n"
        "   MIX ||######....      ||\n"
        "   MIX ||##########....  ||\n"
        "   MIX ||##############..||\n"
        "        ================  \n"
        "Legend mask: full='██'/##, partial='░░'/.., empty='  '\n"
        "Legend seg: left=Q block ID, top=KV block ID, PAD=-1, MIX=??\n");
}

TEST_CASE("visualize text equals ejkernel's: ids computed from empty rows and ragged blocks",
          "[ejkernel]") {
  const PlanePtr plane =
      cells({".##....#.#.....#...#....#", ".##....#...#..##...#.....", ".........................",
             ".#.....##.....##...#....#", ".##....##..##.##...#....#", ".........................",
             ".##....###..#.#....#....#", ".........................", "..#....##..##..#...#....#",
             ".##....###.##......#....#", ".........................", ".........................",
             ".##....###..#.##...#.....", ".#.......#..#.#....#....#", "..#....##..##.##...#.....",
             ".........................", ".##....##..##..#...#.....", ".........................",
             ".........................", ".#.....##..##.##........#", "..#....##...#...........#",
             ".........................", ".#.....###..#.##...#.....", ".#......##.##..#........#",
             ".#.....#.#.#..##...#....."});
  const EjkernelOptions options{
      .q_block = 2, .kv_block = 7, .ascii = true, .mask_shape = {3, 1, 25, 25}};
  CHECK(visualize_text(*plane, {}, {}, options) ==
        "Attention mask (batch=0, head=0) block=(2x7) mask_shape=(3, 1, 25, 25)\n"
        "         ????????\n"
        "        ========  \n"
        "   MIX ||........||\n"
        "   MIX ||........||\n"
        "   MIX ||........||\n"
        "   MIX ||........||\n"
        "   MIX ||........||\n"
        "   PAD ||        ||\n"
        "   MIX ||........||\n"
        "   MIX ||......  ||\n"
        "   MIX ||......  ||\n"
        "   MIX ||........||\n"
        "   MIX ||....  ..||\n"
        "   MIX ||........||\n"
        "   MIX ||......  ||\n"
        "        ========  \n"
        "Legend mask: full='██'/##, partial='░░'/.., empty='  '\n"
        "Legend seg: left=Q block ID, top=KV block ID, PAD=-1, MIX=??\n");
}

TEST_CASE("visualize text equals ejkernel's: a block size of 0 counts as 1", "[ejkernel]") {
  const auto q = ids({{0, 35}, {1, 12}, {2, 33}, {-1, 5}});
  const PlanePtr plane = segments(q, q);
  const EjkernelOptions options{.q_block = 0,
                                .kv_block = 0,
                                .max_rows = 7,
                                .max_cols = 9,
                                .ascii = true,
                                .mask_shape = {1, 1, 85, 85}};
  CHECK(visualize_text(*plane, q, q, options) ==
        "Attention mask (batch=0, head=0) block=(1x1) mask_shape=(1, 1, 85, 85)\n"
        "         000000????020202  \n"
        "        ==================  \n"
        "     0 ||######..          ||\n"
        "     0 ||######..          ||\n"
        "   MIX ||..........        ||\n"
        "   MIX ||      ..........  ||\n"
        "     2 ||        ..######  ||\n"
        "     2 ||        ..######  ||\n"
        "   MIX ||        ........  ||\n"
        "        ==================  \n"
        "Legend mask: full='██'/##, partial='░░'/.., empty='  '\n"
        "Legend seg: left=Q block ID, top=KV block ID, PAD=-1, MIX=??\n");
}

TEST_CASE("visualize text equals ejkernel's: a screen of one cell", "[ejkernel]") {
  const auto q = ids({{0, 1}, {1, 1}, {2, 3}});
  const PlanePtr plane = segments(q, q);
  const EjkernelOptions options{
      .q_block = 2, .kv_block = 2, .max_rows = 1, .max_cols = 1, .mask_shape = {2, 1, 5, 5}};
  CHECK(visualize_text(*plane, q, q, options) ==
        "Attention mask (batch=0, head=0) block=(2x2) mask_shape=(2, 1, 5, 5)\n"
        "         ??\n"
        "        ==  \n"
        "   MIX ||░░||\n"
        "        ==  \n"
        "Legend mask: full='██'/##, partial='░░'/.., empty='  '\n"
        "Legend seg: left=Q block ID, top=KV block ID, PAD=-1, MIX=??\n");
}

TEST_CASE("visualize text equals ejkernel's: averaged rows only", "[ejkernel]") {
  const auto q = ids({{0, 11}, {1, 10}, {2, 5}, {3, 3}, {4, 4}, {-1, 11}});
  const PlanePtr plane = segments(q, q);
  const EjkernelOptions options{.q_block = 1,
                                .kv_block = 1,
                                .batch = 2,
                                .max_rows = 3,
                                .max_cols = 1000,
                                .mask_shape = {3, 1, 44, 44}};
  CHECK(
      visualize_text(*plane, q, q, options) ==
      "Attention mask (batch=2, head=0) block=(1x1) mask_shape=(3, 1, 44, 44)\n"
      "         000000000000000000000001010101010101010101020202020203030304040404                 "
      "     \n"
      "        "
      "========================================================================================  \n"
      "   MIX ||░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░                                         "
      "     ||\n"
      "   MIX ||                      ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░                 "
      "     ||\n"
      "   MIX ||                                                          ░░░░░░░░                 "
      "     ||\n"
      "        "
      "========================================================================================  \n"
      "Legend mask: full='██'/##, partial='░░'/.., empty='  '\n"
      "Legend seg: left=Q block ID, top=KV block ID, PAD=-1, MIX=??\n");
}

TEST_CASE("visualize text equals ejkernel's: ids above 99, and padding", "[ejkernel]") {
  const auto q = ids({{12345, 65}, {-1, 10}});
  const PlanePtr plane = segments(q, q);
  const EjkernelOptions options{.q_block = 3,
                                .kv_block = 3,
                                .max_rows = 20,
                                .max_cols = 20,
                                .ascii = true,
                                .mask_shape = {2, 1, 75, 75}};
  CHECK(visualize_text(*plane, q, q, options) ==
        "Attention mask (batch=0, head=0) block=(3x3) mask_shape=(2, 1, 75, 75)\n"
        "         45454545454545454545??    \n"
        "        ==========================  \n"
        " 12345 ||####################..    ||\n"
        " 12345 ||####################..    ||\n"
        " 12345 ||####################..    ||\n"
        " 12345 ||####################..    ||\n"
        " 12345 ||####################..    ||\n"
        " 12345 ||####################..    ||\n"
        " 12345 ||####################..    ||\n"
        " 12345 ||####################..    ||\n"
        " 12345 ||####################..    ||\n"
        " 12345 ||####################..    ||\n"
        "   MIX ||......................    ||\n"
        "   PAD ||                          ||\n"
        "   PAD ||                          ||\n"
        "        ==========================  \n"
        "Legend mask: full='██'/##, partial='░░'/.., empty='  '\n"
        "Legend seg: left=Q block ID, top=KV block ID, PAD=-1, MIX=??\n");
}

TEST_CASE("visualize text equals ejkernel's: negative ids", "[ejkernel]") {
  const auto q = ids({{12345, 2}, {-2, 2}, {-3, 9}, {3, 16}, {-1, 11}});
  const PlanePtr plane = segments(q, q);
  const EjkernelOptions options{.q_block = 1,
                                .kv_block = 1,
                                .max_rows = 20,
                                .max_cols = 20,
                                .ascii = true,
                                .mask_shape = {4, 1, 40, 40}};
  CHECK(visualize_text(*plane, q, q, options) ==
        "Attention mask (batch=0, head=0) block=(1x1) mask_shape=(4, 1, 40, 40)\n"
        "         45??97979797??03030303030303??          \n"
        "        ========================================  \n"
        " 12345 ||##                                      ||\n"
        "   MIX ||                                        ||\n"
        "    -3 ||                                        ||\n"
        "    -3 ||                                        ||\n"
        "    -3 ||                                        ||\n"
        "    -3 ||                                        ||\n"
        "   MIX ||            ..................          ||\n"
        "     3 ||            ..##############..          ||\n"
        "     3 ||            ..##############..          ||\n"
        "     3 ||            ..##############..          ||\n"
        "     3 ||            ..##############..          ||\n"
        "     3 ||            ..##############..          ||\n"
        "     3 ||            ..##############..          ||\n"
        "     3 ||            ..##############..          ||\n"
        "   MIX ||            ..................          ||\n"
        "   PAD ||                                        ||\n"
        "   PAD ||                                        ||\n"
        "   PAD ||                                        ||\n"
        "   PAD ||                                        ||\n"
        "   PAD ||                                        ||\n"
        "        ========================================  \n"
        "Legend mask: full='██'/##, partial='░░'/.., empty='  '\n"
        "Legend seg: left=Q block ID, top=KV block ID, PAD=-1, MIX=??\n");
}

}  // namespace
}  // namespace maskctl
