// Calls of libraries that can be written in several ways: the mask that is read is what the library
// computes.
#include <functional>
#include <string>
#include <vector>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/chain_text.h"
#include "support/catch_compat.h"
#include "translate/libraries.h"

namespace maskctl {
namespace {

using test::lib;
using Cells = std::function<bool(Index h, Index q, Index k)>;

void check_cells(const Library& library, const std::string& text, Index queries, Index keys,
                 const Cells& open) {
  INFO(text);
  const Chain chain = library.read(text);
  const Mask mask = maskctl::apply(full_mask(1, 3, queries, keys), chain);
  for (Index h = 0; h < 3; ++h) {
    for (Index q = 0; q < queries; ++q) {
      for (Index k = 0; k < keys; ++k) {
        INFO(to_text(chain) << " at h=" << h << " q=" << q << " k=" << k);
        REQUIRE((mask.plane(0, h)->count({q, q + 1}, {k, k + 1}) == 1) == open(h, q, k));
      }
    }
  }
}

// jax splash_attention_mask.py has LogicalOr, LogicalAnd and MultiHeadMask; make_*_mask gives the
// same rules as arrays.
TEST_CASE("splash: masks joined by | and & are read") {
  const Library& splash = lib("splash");
  check_cells(splash, "CausalMask((9, 9)) | LocalMask((9, 9), (1, 2), 0)", 9, 9,
              [](Index, Index q, Index k) { return k <= q || (k >= q - 1 && k <= q + 2); });
  check_cells(splash, "ChunkedCausalMask((9, 9), 4) | LocalMask((9, 9), (None, -2), 0)", 9, 9,
              [](Index, Index q, Index k) { return (q / 4 == k / 4 && k <= q) || k <= q - 2; });
  check_cells(splash,
              "(CausalMask((9, 9), offset=1) | LocalMask((9, 9), (0, 3), 0)) & LocalMask((9, 9), "
              "(4, 4), 0)",
              9, 9, [](Index, Index q, Index k) {
                return (k <= q + 1 || (k >= q && k <= q + 3)) && k >= q - 4 && k <= q + 4;
              });
}

TEST_CASE("splash: a mask for each head is read") {
  const Library& splash = lib("splash");
  const Cells each = [](Index h, Index q, Index k) { return h < 2 ? k <= q : k <= q && k > q - 3; };
  const std::string masks = "CausalMask((9, 9)), CausalMask((9, 9)), LocalMask((9, 9), (2, 0), 0)";
  check_cells(splash, "MultiHeadMask([" + masks + "])", 9, 9, each);
  check_cells(splash, "MultiHeadMask(masks=(" + masks + "))", 9, 9, each);
  check_cells(splash,
              "mask = CausalMask((9, 9))\nkernel = make_splash_mha(mask=MultiHeadMask([mask, mask, "
              "mask & LocalMask((9, 9), (2, None), 0)]), head_shards=1)\nkernel(q, k, v)",
              9, 9, each);
  check_cells(splash,
              "kernel = make_splash_mqa(MultiHeadMask([CausalMask((9, 9))] * 3))\nkernel(q, k, v)",
              9, 9, [](Index, Index q, Index k) { return k <= q; });
}

TEST_CASE("splash: shapes given by name, and masks given as arrays, are read") {
  const Library& splash = lib("splash");
  const Cells causal = [](Index, Index q, Index k) { return k <= q; };
  check_cells(splash, "CausalMask(shape=(5, 9))", 5, 9, causal);
  check_cells(splash, "make_causal_mask((5, 9))", 5, 9, causal);
  check_cells(splash, "make_causal_mask((5, 9), 2)", 5, 9,
              [](Index, Index q, Index k) { return k <= q + 2; });
  check_cells(splash, "make_local_attention_mask((5, 9), (2, 1), offset=1)", 5, 9,
              [](Index, Index q, Index k) { return k >= q - 1 && k <= q + 2; });
  check_cells(splash, "LocalMask(shape=(5, 9), window_size=(2, 0), offset=0)", 5, 9,
              [](Index, Index q, Index k) { return k >= q - 2 && k <= q; });
  check_cells(splash, "make_chunk_attention_mask((9, 9), 4)", 9, 9,
              [](Index, Index q, Index k) { return k <= q && q / 4 == k / 4; });
}

/// The queries or keys of a document.
struct Interval {
  Index begin, end;
};
Cells documents(const std::vector<Interval>& queries, const std::vector<Interval>& keys,
                const std::function<bool(Index from_end)>& keeps) {
  return [=](Index, Index q, Index k) {
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const bool inside =
          q >= queries[i].begin && q < queries[i].end && k >= keys[i].begin && k < keys[i].end;
      // The argument says how far the key is past the diagonal through the document's last query
      // and key.
      if (inside && keeps((k - keys[i].end) - (q - queries[i].end))) return true;
    }
    return false;
  };
}

// xformers attn_bias.py: _GappySeqInfo.intervals() gives start to start + length; padded keys start
// at i * kv_padding; the local and causal classes with padded keys count from the bottom right.
TEST_CASE("xformers: keys with gaps, and padded keys, are read") {
  const Library& xformers = lib("xformers");
  const auto all = [](Index) { return true; };
  const auto causal = [](Index past) { return past <= 0; };
  const std::vector<Interval> queries = {{0, 2}, {2, 3}, {3, 5}};
  const std::vector<Interval> gappy = {{1, 5}, {7, 9}, {9, 11}};
  const std::string starts = "([2, 1, 2], [1, 7, 9, 12], [4, 2, 2])";
  check_cells(xformers, "BlockDiagonalGappyKeysMask.from_seqlens" + starts, 5, 12,
              documents(queries, gappy, all));
  check_cells(xformers, "BlockDiagonalCausalWithOffsetGappyKeysMask.from_seqlens" + starts, 5, 12,
              documents(queries, gappy, causal));
  const std::vector<Interval> padded = {{0, 4}, {5, 7}, {10, 12}};
  const std::string lists = "([2, 1, 2], 5, [4, 2, 2])";
  const auto local = [](Index past) { return past >= -2 && past <= 1; };
  for (const char* name :
       {"BlockDiagonalPaddedKeysMask", "BlockDiagonalCausalWithOffsetPaddedKeysMask"}) {
    check_cells(xformers,
                std::string(name) + ".from_seqlens" + lists + ".make_local_attention(2, 1)", 5, 15,
                documents(queries, padded, local));
  }
  check_cells(xformers,
              "bias = BlockDiagonalPaddedKeysMask.from_seqlens" + lists +
                  "\nbias.make_local_attention(window_left=2, window_right=1)",
              5, 15, documents(queries, padded, local));
}

// jax/_src/nn/functions.py _apply_padding_mask: q < q_seqlen and k < kv_seqlen.
TEST_CASE("jax: lengths of queries are read, alone and beside lengths of keys") {
  check_cells(lib("jax"), "dot_product_attention(q, k, v, query_seq_lengths=jnp.array([3]))", 5, 7,
              [](Index, Index q, Index) { return q < 3; });
  check_cells(lib("jax"), "is_causal=True, query_seq_lengths=[4], key_value_seq_lengths=[2]", 5, 7,
              [](Index, Index q, Index k) { return q < 4 && k < 2 && k <= q; });
}

TEST_CASE("xformers: methods of a variable are read") {
  const std::string bias = "bias = fmha.attn_bias.BlockDiagonalMask.from_seqlens([2, 3], [4, 3])\n";
  const std::vector<Interval> queries = {{0, 2}, {2, 5}}, keys = {{0, 4}, {4, 7}};
  const auto causal = [](Index past) { return past <= 0; };
  check_cells(lib("xformers"), bias + "bias.make_causal_from_bottomright()", 5, 7,
              documents(queries, keys, causal));
  check_cells(lib("xformers"),
              bias +
                  "causal = bias.make_causal_from_bottomright()\n"
                  "memory_efficient_attention(q, k, v, attn_bias=causal)",
              5, 7, documents(queries, keys, causal));
}

}  // namespace
}  // namespace maskctl
