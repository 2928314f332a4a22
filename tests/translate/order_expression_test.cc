// Mask functions of blocks, stretched keys, numbered trees and positions: what is read has the
// cells of the expression.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "support/rounds.h"
#include "translate/library_rule.h"

namespace maskctl {
namespace {

using test::check_chain;
using test::check_read;
using test::lib;
using test::refused_with;

class OrderDraws {
 public:
  Index operator()(Index low, Index high) {
    return low + static_cast<Index>(random_() % static_cast<unsigned>(high - low + 1));
  }

 private:
  std::mt19937 random_{29};
};

std::string listed(const std::vector<Index>& values) {
  std::string out;
  for (const Index value : values) out += (out.empty() ? "" : ", ") + std::to_string(value);
  return "torch.tensor([" + out + "])";
}

bool holds(Index a, const std::string& sign, Index b) {
  if (sign == "<=") return a <= b;
  if (sign == "<") return a < b;
  if (sign == ">=") return a >= b;
  if (sign == ">") return a > b;
  return (a == b) == (sign == "==");
}

const std::vector<std::string> kOrderSigns = {"<=", "<", ">=", ">", "==", "!="};

TEST_CASE("blocks of queries and keys compare as their numbers do") {
  OrderDraws draw;
  for (int round = 0; round < test::rounds(300); ++round) {
    const Index size = draw(1, 4), shift = draw(-3, 3), by = draw(-2, 2);
    const std::string sign = kOrderSigns[static_cast<std::size_t>(draw(0, 5))];
    const std::string n = std::to_string(size);
    const std::string rows = "(q_idx + " + std::to_string(shift) + ") // " + n;
    const std::string text =
        draw(0, 1) == 0 ? rows + " - kv_idx // " + n + " " + sign + " " + std::to_string(by)
                        : rows + " " + sign + " kv_idx // " + n + " + " + std::to_string(by);
    check_read(lib("flex"), text, [&](Index q, Index k, Index, Index) {
      return holds(floor_div(q + shift, size) - k / size, sign, by);
    });
  }
  CHECK(to_text(lib("flex").read("q_idx // 4 >= kv_idx // 4")) == "block-causal:size=4");
  const auto code = test::code(test::written("block-causal:size=4", lib("flex")));
  CHECK(to_text(lib("flex").read(code)) == "block-causal:size=4");
}

TEST_CASE("keys that stand for several tokens are compressed") {
  OrderDraws draw;
  for (int round = 0; round < test::rounds(200); ++round) {
    const Index stride = draw(2, 4), plus = draw(-3, 5);
    const std::string sign = kOrderSigns[static_cast<std::size_t>(draw(0, 3))];
    check_read(
        lib("flex"),
        "kv_idx * " + std::to_string(stride) + " + " + std::to_string(plus) + " " + sign + " q_idx",
        [&](Index q, Index k, Index, Index) { return holds(k * stride + plus, sign, q); });
  }
  CHECK(to_text(lib("flex").read("(kv_idx + 1) * 32 <= q_idx + 1")) ==
        "compressed:size=32,stride=32");
}

TEST_CASE("a tree by its numbering is a tree") {
  OrderDraws draw;
  for (int round = 0; round < test::rounds(200); ++round) {
    const Index tokens = draw(1, 9);
    std::vector<Index> parents, tin(static_cast<std::size_t>(tokens)), tout = tin;
    for (Index i = 0; i < tokens; ++i) parents.push_back(draw(-1, i - 1));
    // Numbers tokens in the order of a walk that goes down first, children in any order.
    Index next = draw(0, 3);
    const auto walk = [&](const auto& self, Index token) -> void {
      tin[static_cast<std::size_t>(token)] = next++;
      for (Index child = tokens; child-- > 0;) {
        if (parents[static_cast<std::size_t>(child)] == token) self(self, child);
      }
      tout[static_cast<std::size_t>(token)] = next;
    };
    for (Index i = 0; i < tokens; ++i) {
      if (parents[static_cast<std::size_t>(i)] < 0) walk(walk, i);
    }
    const std::string arrays = "tin = " + listed(tin) + "\ntout = " + listed(tout) + "\n";
    const std::string terms[] = {"(tin[kv_idx] <= tin[q_idx])", "(tout[kv_idx] > tin[q_idx])"};
    const bool swap = draw(0, 1) == 1;
    const std::string text = arrays + terms[swap] + " & " + terms[!swap];
    INFO(text);
    const Chain chain = lib("flex").read(text);
    CHECK(to_text(chain).starts_with("tree:lens="));
    check_chain(
        chain,
        [&](Index q, Index k, Index, Index) {
          while (q > k) q = parents[static_cast<std::size_t>(q)];
          return q == k;
        },
        tokens, tokens);
  }
  CHECK(refused_with(lib("flex"), "(tin[kv_idx] <= tin[q_idx]) & (tin[q_idx] < tout[kv_idx])")
            .find("the values of tin are needed") != std::string::npos);
}

TEST_CASE("positions in any order compare") {
  OrderDraws draw;
  for (int round = 0; round < test::rounds(200); ++round) {
    std::vector<Index> positions;
    for (Index n = draw(1, 7); n > 0; --n) positions.push_back(draw(0, 12));
    const std::string sign = kOrderSigns[static_cast<std::size_t>(draw(0, 3))];
    const auto size = static_cast<Index>(positions.size());
    const std::string text =
        "position = " + listed(positions) + "\nposition[kv_idx] " + sign + " position[q_idx]";
    INFO(text);
    const auto at = [&](Index i) { return positions[static_cast<std::size_t>(i)]; };
    check_chain(
        lib("flex").read(text),
        [&](Index q, Index k, Index, Index) { return holds(at(k), sign, at(q)); }, size, size);
  }
}

TEST_CASE("one of two masks is their exclusive or") {
  check_read(lib("flex"), "(q_idx >= kv_idx) ^ True",
             [](Index q, Index k, Index, Index) { return k > q; });
  CHECK(refused_with(lib("flex"), "(q_idx >= kv_idx) ^ (q_idx // 2 == kv_idx // 2)")
            .find("cannot be one chain") != std::string::npos);
}

// attention-gym 0.0.17 masks/natten.py, shared_prefix.py and block_diffusion.py.
TEST_CASE("attention-gym's neighbourhoods, shared prefixes and block diffusion") {
  check_chain(
      lib("flex").read("generate_natten(4, 4, 3, 2)"),
      [](Index q, Index k, Index, Index) {
        const auto near = [](Index at, Index key) {
          const Index centre = std::clamp<Index>(at, 1, 2);
          return key >= centre - 1 && key <= centre + 1;
        };
        return near(q / 4, k / 4) && near(q % 4, k % 4);
      },
      16, 16);
  CHECK(!refused_with(lib("flex"), "generate_natten(4, 5, 3, 3)").empty());
  const std::vector<Index> offsets = {0, 3, 5, 6, 8, 10}, prefix = {0, 0, 0, 3, 3};
  check_chain(
      lib("flex").read("generate_shared_prefix_mask_mod(" + listed(offsets) + ", " +
                       listed(prefix) + ")"),
      [&](Index q, Index k, Index, Index) {
        const auto of = std::upper_bound(offsets.begin(), offsets.end(), q) - 1;
        const auto document = static_cast<std::size_t>(of - offsets.begin());
        const auto shared = static_cast<std::size_t>(prefix[document]);
        const bool own = k >= offsets[document] && k <= q;
        return own || (document != shared && k >= offsets[shared] && k < offsets[shared + 1]);
      },
      10, 10);
  check_chain(
      lib("flex").read("generate_block_diffusion_mask(6, 2)"),
      [](Index q, Index k, Index, Index) {
        const bool noised_q = q < 6, noised_k = k < 6;
        const Index a = q % 6 / 2, b = k % 6 / 2;
        return (a == b && noised_q == noised_k) || (a > b && noised_q && !noised_k) ||
               (a >= b && !noised_q && !noised_k);
      },
      12, 12);
}

// flash-attention tests/cute/mask_mod_definitions.py at 0251105a, by its formulas.
TEST_CASE("mask functions of flash-attn 4 read as others do") {
  const auto read = [](const std::string& body) {
    return "@cute.jit\ndef mask_mod(batch, head, m_idx, n_idx, seqlen_info, aux_tensors):\n" + body;
  };
  check_read(lib("flex"),
             read("    offset = seqlen_info.seqlen_k - seqlen_info.seqlen_q\n"
                  "    offset_ssa = utils.scalar_to_ssa(offset, cutlass.Int32)\n"
                  "    return n_idx <= (m_idx + offset_ssa)\n"),
             [](Index q, Index k, Index queries, Index keys) { return k <= q + keys - queries; });
  check_read(lib("flex"),
             read("    size = utils.scalar_to_ssa(3, cutlass.Int32)\n"
                  "    return (m_idx // size) == (n_idx // size)\n"),
             [](Index q, Index k, Index, Index) { return q / 3 == k / 3; });
}

TEST_CASE("names of masks are aligned to the first row, as expressions are") {
  check_read(lib("flex"), "causal_mask", [](Index q, Index k, Index, Index) { return k <= q; });
  check_read(lib("flex"), "generate_sliding_window(2)",
             [](Index q, Index k, Index, Index) { return k <= q && q - k <= 2; });
  check_read(lib("flex"), "generate_prefix_lm_mask(3)",
             [](Index q, Index k, Index, Index) { return k <= q || k < 3; });
  CHECK(to_text(lib("flex").read("causal_mask")) == "causal:align=top-left");
}

}  // namespace
}  // namespace maskctl
