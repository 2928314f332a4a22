// Tests what libraries compute where their conventions may surprise, on all small sizes. Each rule
// is written here as the library's source or documentation states it, and the source is named.
#include <functional>
#include <string>
#include <vector>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/translate/translate.h"
#include "pipeline/pipeline_support.h"
#include "support/catch_compat.h"
#include "translate/library_rule.h"

namespace maskctl {
namespace {

using test::lib;

using test::check_chain;
using test::check_read;
using test::code;
using test::refused_with;
using test::Rule;
using test::written;

Index floored(Index n, Index size) { return floor_div(n, size); }

// In transformers masking_utils.py _preprocess_mask_arguments looks for documents in position_ids
// where there is neither a cache nor an attention_mask.
TEST_CASE("transformers: with a cache, position_ids do not separate documents") {
  const auto read = [](const std::string& more, const char* ids = "[[0, 1, 0, 1]]") {
    return to_text(lib("hf").read("create_causal_mask(config=config, attention_mask=None, " + more +
                                  "position_ids=torch.tensor(" + ids + "))"));
  };
  const std::string packed = "causal | doc:lens=2+2", alone = "causal:align=bottom-right";
  for (const std::string name : {"cache", "past_key_values"}) {
    CHECK(read(name + "=None, ") == packed);
    CHECK(read(name + "=DynamicCache(config=config), ") == alone);
    CHECK(read(name + "=made, ", "[[0, 1, 2, 3]]") == alone);
    CHECK_THROWS_WITH(read(name + "=made, "), Catch::Contains("write " + name + "=None"));
  }
  CHECK(read("") == packed);
  CHECK(to_text(lib("hf").read("cache = DynamicCache()\ncreate_causal_mask(cache=cache, "
                               "position_ids=torch.tensor([[0, 1, 0]]))")) == alone);
}

// In transformers masking_utils.py create_bidirectional_mask passes no position_ids on, so that
// documents stay unseen; create_causal_mask applies packed_sequence_mask_function.
TEST_CASE("transformers: documents without causal are written as and_mask_function") {
  for (const char* pipeline : {"doc:lens=3+2", "doc:lens=3+2 | window:both=1"}) {
    const Translation hf = written(pipeline, lib("hf"));
    INFO(code(hf));
    REQUIRE(hf.ok());
    CHECK(code(hf).find("and_mask_function=pattern") != std::string::npos);
    CHECK(code(hf).find("position_ids") == std::string::npos);
  }
  const Translation causal = written("doc:lens=3+2 | causal", lib("hf"));
  CHECK(code(causal).find("position_ids = torch.tensor([[0, 1, 2, 0, 1]]") != std::string::npos);
  // masking_utils.py has the cache as cache from 5.24 on, as past_key_values before.
  CHECK(code(causal).find("mask_kwargs.keys() & [\"cache\", \"past_key_values\"]") !=
        std::string::npos);
  CHECK(to_text(lib("hf").read(code(causal))) == "causal | doc:lens=3+2");
  // Bidirectional functions ignore position_ids.
  CHECK(to_text(lib("hf").read("create_bidirectional_mask(**mask_kwargs, position_ids="
                               "torch.tensor([[0, 1, 2, 0, 1]]))")) == "");
}

// TransformerEngine dot_product_attention.py: forward() takes what __init__ was given where its own
// argument is None.
TEST_CASE("Transformer Engine: arguments of the constructor count in the call") {
  const auto read = [](const std::string& constructor, const std::string& call) {
    return to_text(lib("te").read("attention = DotProductAttention(8, 64, " + constructor +
                                  ")\nattention(q, k, v" + call + ")"));
  };
  const std::string window = "window:keys=5,align=bottom-right";
  CHECK(read("attn_mask_type=\"causal_bottom_right\", window_size=(4, 0)", "") == window);
  CHECK(read("attn_mask_type=\"causal_bottom_right\", window_size=(7, 0)",
             ", window_size=(4, 0)") == window);
  CHECK_THROWS_WITH(lib("te").read("attention = DotProductAttention(8, 64, \"causal\")\n"
                                   "attention(q, k, v)"),
                    Catch::Contains("give arguments of DotProductAttention by name"));
}

// jax splash_attention_mask.py: LocalMask(shape, window_size, offset) keeps
// left: q + offset - left <= k, right: q + offset + right >= k; CausalMask(shape, offset) keeps
// q + offset >= k. The offset may stand by position.
TEST_CASE("splash: an offset by position is added to the query") {
  for (Index offset = -3; offset <= 3; ++offset) {
    const std::string number = std::to_string(offset);
    check_read(lib("splash"), "CausalMask((7, 7), " + number + ")",
               [=](Index q, Index k, Index, Index) { return q + offset >= k; });
    for (Index left = 0; left <= 3; ++left) {
      for (Index right = 0; right <= 2; ++right) {
        check_read(lib("splash"),
                   "LocalMask((7, 7), (" + std::to_string(left) + ", " + std::to_string(right) +
                       "), " + number + ")",
                   [=](Index q, Index k, Index, Index) {
                     return q + offset - left <= k && q + offset + right >= k;
                   });
      }
    }
  }
}

// xformers attn_bias.py: _materialize_causal_mask is tril(shift) and triu(shift - window + 1), with
// shift = K - Q where from_bottomright; LocalAttentionFromBottomRightMask keeps
// -left <= k - (q + K - Q) <= right.
TEST_CASE("xformers: each class is read with its alignment") {
  struct Class {
    const char* name;
    bool bottom, local;
  };
  for (const Class& one :
       {Class{"LowerTriangularMask", false, false},
        Class{"LowerTriangularFromBottomRightMask", true, false},
        Class{"LowerTriangularFromBottomRightLocalAttentionMask", true, true},
        Class{"BlockDiagonalCausalMask", false, false},
        Class{"BlockDiagonalCausalFromBottomRightMask", true, false},
        Class{"BlockDiagonalCausalLocalAttentionMask", false, true},
        Class{"BlockDiagonalCausalLocalAttentionFromBottomRightMask", true, true},
        Class{"BlockDiagonalCausalWithOffsetPaddedKeysMask", true, false},
        Class{"BlockDiagonalCausalLocalAttentionPaddedKeysMask", true, true},
        Class{"BlockDiagonalCausalWithOffsetGappyKeysMask", true, false},
        Class{"PagedBlockDiagonalCausalWithOffsetPaddedKeysMask", true, false},
        Class{"PagedBlockDiagonalCausalWithOffsetGappyKeysMask", true, false}}) {
    for (Index window = 1; window <= (one.local ? 4 : 1); ++window) {
      const std::string numbers = one.local ? "(" + std::to_string(window) + ")" : "()";
      check_read(lib("xformers"), one.name + numbers,
                 [&](Index q, Index k, Index queries, Index keys) {
                   const Index shift = one.bottom ? keys - queries : 0;
                   return k - q <= shift && (!one.local || k - q >= shift - window + 1);
                 });
    }
  }
  check_read(lib("xformers"), "LocalAttentionFromBottomRightMask(2, 1)",
             [](Index q, Index k, Index queries, Index keys) {
               const Index distance = k - (q + keys - queries);
               return distance >= -2 && distance <= 1;
             });
}

/// Checks that document i sees its own keys as the rule says for its sizes, and nothing else. With
/// a stride the keys of document i start at i * key_stride.
void check_documents(const Library& library, const std::string& text,
                     const std::vector<Index>& q_lengths, const std::vector<Index>& k_lengths,
                     Index key_stride, const Rule& rule) {
  INFO(text);
  Index queries = 0, keys = 0;
  for (std::size_t i = 0; i < q_lengths.size(); ++i) {
    queries += q_lengths[i];
    keys += key_stride > 0 ? key_stride : k_lengths[i];
  }
  check_chain(
      library.read(text),
      [&](Index q, Index k, Index, Index) {
        Index q_start = 0, k_start = 0;
        for (std::size_t i = 0; i < q_lengths.size(); ++i) {
          const bool mine = q >= q_start && q < q_start + q_lengths[i];
          if (mine) {
            return k >= k_start && k < k_start + k_lengths[i] &&
                   rule(q - q_start, k - k_start, q_lengths[i], k_lengths[i]);
          }
          q_start += q_lengths[i];
          k_start += key_stride > 0 ? key_stride : k_lengths[i];
        }
        return false;
      },
      queries, keys);
}

TEST_CASE("xformers: from_seqlens opens a block of its own for each document") {
  const Rule top = [](Index q, Index k, Index, Index) { return k <= q; };
  const Rule bottom = [](Index q, Index k, Index Q, Index K) { return k <= q + K - Q; };
  const std::vector<Index> q = {2, 1, 3}, k = {4, 3, 3};
  const std::string lists = "([2, 1, 3], [4, 3, 3])";
  const Library& x = lib("xformers");
  const Rule all = [](Index, Index, Index, Index) { return true; };
  check_documents(x, "BlockDiagonalMask.from_seqlens" + lists, q, k, 0, all);
  check_documents(x, "BlockDiagonalMask.from_seqlens" + lists + ".make_causal()", q, k, 0, top);
  check_documents(x, "BlockDiagonalMask.from_seqlens" + lists + ".make_causal_from_bottomright()",
                  q, k, 0, bottom);
  check_documents(x, "fmha.BlockDiagonalCausalMask.from_seqlens" + lists, q, k, 0, top);
  check_documents(x, "BlockDiagonalMask.from_seqlens(q_seqlen=[2, 3]).make_local_attention(2)",
                  {2, 3}, {2, 3}, 0,
                  [](Index i, Index j, Index, Index) { return j <= i && j > i - 2; });
  check_documents(
      x, "BlockDiagonalCausalWithOffsetPaddedKeysMask.from_seqlens([2, 1, 3], 5, [4, 3, 3])", q, k,
      5, bottom);
}

// transformers: chunked_overlay counts q_idx from the first cached token, (q + K - Q) // size;
// flash-attention hopper/mask.h counts row_idx + seqlen_k - seqlen_q.
TEST_CASE("chunks are counted along the bottom-right diagonal in transformers and flash-attn") {
  for (Index size = 1; size <= 5; ++size) {
    const auto same = [size](Index q, Index k, Index queries, Index keys) {
      return floored(q + keys - queries, size) == floored(k, size);
    };
    const std::string number = std::to_string(size);
    check_read(lib("hf"), "attention_chunk_size=" + number,
               [&](Index q, Index k, Index queries, Index keys) {
                 return same(q, k, queries, keys) && k <= q + keys - queries;
               });
    check_read(lib("fa"), "attention_chunk=" + number, same);
    check_read(lib("fa"), "causal=True, attention_chunk=" + number,
               [&](Index q, Index k, Index queries, Index keys) {
                 return same(q, k, queries, keys) && k <= q + keys - queries;
               });
  }
}

// In transformers remap_positions_for_packed_sequence gives chunked_overlay positions inside
// documents; flash-attn's varlen kernels know one sequence at a time.
TEST_CASE("chunks counted over all documents cannot be arguments, chunks inside documents can") {
  const Translation fa = written("doc:lens=3+5 | chunk:size=4 | causal", lib("fa"));
  CHECK(!fa.ok());
  CHECK(fa.refusal.find("counted from each document's start") != std::string::npos);
  CHECK(written("within:lens=3+5{chunk:size=4 | causal}", lib("fa")).ok());
  const Translation over = written("doc:lens=3+5 | chunk:size=4 | causal", lib("hf"));
  CHECK(code(over).find("position_ids") == std::string::npos);
  CHECK(code(over).find("and_mask_function") != std::string::npos);
  const Translation inside = written("within:lens=3+5{chunk:size=4 | causal}", lib("hf"));
  CHECK(code(inside).find("position_ids") != std::string::npos);
  check_documents(lib("hf"), code(inside), {3, 5}, {3, 5}, 0,
                  [](Index q, Index k, Index, Index) { return k <= q && q / 4 == k / 4; });
}

// ejkernel types/mask.py: apply_chunked keeps q // size == k // size and k <= q.
TEST_CASE("ejkernel: chunk_size also makes the mask causal") {
  for (Index size = 1; size <= 5; ++size) {
    check_read(lib("ejkernel"), "chunk_size=" + std::to_string(size),
               [=](Index q, Index k, Index, Index) { return k <= q && q / size == k / size; });
  }
}

// TransformerEngine dot_product_attention.py and utils.py: attn_mask_type is "causal" by default;
// causal types set the right side to 0 and decide the alignment; no_mask is bottom-right unless
// bottom_right_diagonal is False; check_set_window_size takes (-1, 0) for (-1, -1) without causal
// and asserts on other one-sided windows.
TEST_CASE("Transformer Engine: the mask type overrides window and alignment") {
  const auto band = [](bool bottom, Index left, Index right) -> Rule {
    return [=](Index q, Index k, Index queries, Index keys) {
      const Index distance = k - q - (bottom ? keys - queries : 0);
      return (left < 0 || distance >= -left) && (right < 0 || distance <= right);
    };
  };
  const Library& te = lib("te");
  check_read(te, "", band(false, -1, 0));
  check_read(te, "window_size=(3, 2)", band(false, 3, 0));
  check_read(te, "window_size=(3, 2), bottom_right_diagonal=True", band(false, 3, 0));
  check_read(te, "bottom_right_diagonal=False, attn_mask_type='causal_bottom_right'",
             band(true, -1, 0));
  check_read(te, "attn_mask_type='causal_bottom_right', window_size=(2, 0)", band(true, 2, 0));
  check_read(te, "attn_mask_type='no_mask', window_size=(2, 1)", band(true, 2, 1));
  check_read(te, "attn_mask_type='no_mask', window_size=(2, 1), bottom_right_diagonal=False",
             band(false, 2, 1));
  check_read(te, "attn_mask_type='no_mask', window_size=(-1, 0)", band(true, -1, -1));
  CHECK(
      refused_with(te, "attn_mask_type='no_mask', window_size=(3, -1)").find("refuses a window") !=
      std::string::npos);
  const std::string sided = code(written("window:left=3,align=bottom-right", te));
  CHECK(sided.find("window_size=(3, 2**30)") != std::string::npos);
  check_read(te, sided, band(true, 3, -1));
}

// torch: is_causal is tril(diagonal=0); causal_lower_right is tril(diagonal=K - Q).
// jax/_src/nn/functions.py: tril, and q - left <= k <= q + right, from the first row.
TEST_CASE("torch SDPA and jax.nn: causal masks and windows are aligned as in their sources") {
  check_read(lib("sdpa"), "scaled_dot_product_attention(q, k, v, is_causal=True)",
             [](Index q, Index k, Index, Index) { return k <= q; });
  check_read(lib("sdpa"), "scaled_dot_product_attention(q, k, v, attn_mask=None, is_causal=True)",
             [](Index q, Index k, Index, Index) { return k <= q; });
  CHECK(refused_with(lib("sdpa"),
                     "scaled_dot_product_attention(q, k, v, attn_mask=kv_idx < 3, is_causal=True)")
            .find("together are refused") != std::string::npos);
  CHECK(refused_with(lib("sdpa"), "scaled_dot_product_attention(q, k, v, None, 0.0, True)")
            .find("by name") != std::string::npos);
  check_read(
      lib("fa"), "flash_attn_func(q, k, v, 0.0, None, True, (2, 0))",
      [](Index q, Index k, Index Q, Index K) { return k <= q + K - Q && k >= q + K - Q - 2; });
  check_read(lib("jax"),
             "dot_product_attention(q, k, v, mask=kv_idx < 3, is_causal=True, local_window_size=1)",
             [](Index q, Index k, Index, Index) { return k < 3 && k <= q && k >= q - 1; });
  check_read(lib("sdpa"), "causal_lower_right(3, 5)",
             [](Index q, Index k, Index Q, Index K) { return k <= q + K - Q; });
  check_read(lib("sdpa"), "causal_upper_left(3, 5)",
             [](Index q, Index k, Index, Index) { return k <= q; });
  check_read(lib("mha"), "mha(x, x, x, attn_mask=kv_idx > q_idx)",
             [](Index q, Index k, Index, Index) { return k <= q; });
  check_read(lib("jax"), "dot_product_attention(q, k, v, local_window_size=2)",
             [](Index q, Index k, Index, Index) { return k >= q - 2 && k <= q + 2; });
  check_read(lib("jax"), "is_causal=True, local_window_size=(2, 1)",
             [](Index q, Index k, Index, Index) { return k >= q - 2 && k <= q; });
}

// attn_gym/masks: dilated_sliding_window.py, global_sliding_window.py, document_mask.py.
TEST_CASE("attention-gym: dilated, global and document masks are read") {
  check_read(lib("flex"), "lambda b, h, q_idx, kv_idx: (q_idx >= kv_idx) & (q_idx - kv_idx < 3)",
             [](Index q, Index k, Index, Index) { return k <= q && q - k < 3; });
  const auto square = [](const std::string& text, const Rule& rule) {
    INFO(text);
    check_chain(lib("flex").read(text), rule, 7, 7);
  };
  square("generate_dilated_sliding_window(window_size=4, dilation=2)",
         [](Index q, Index k, Index, Index) {
           return std::abs(q - k) <= 4 && std::abs(q - k) % 2 == 0;
         });
  square(
      "is_global = torch.tensor([1, 0, 0, 0, 1, 0, 0])\ngenerate_global_sliding_window(1, "
      "is_global)",
      [](Index q, Index k, Index, Index) {
        return std::abs(q - k) <= 1 || q == 0 || k == 0 || q == 4 || k == 4;
      });
  square(
      "generate_global_sliding_window(1, torch.tensor([False, False, False, True, False, False, "
      "False]))",
      [](Index q, Index k, Index, Index) { return std::abs(q - k) <= 1 || q == 3 || k == 3; });
  square("generate_packed_causal_doc_mask_mod(torch.tensor([0, 3, 7]))",
         [](Index q, Index k, Index, Index) { return (q < 3) == (k < 3) && k <= q; });
  square("lambda b, h, q, k: (q % 3 == k % 3) & (q >= k)",
         [](Index q, Index k, Index, Index) { return q % 3 == k % 3 && k <= q; });
  square("lambda b, h, q, k: k % 2 != q % 2",
         [](Index q, Index k, Index, Index) { return q % 2 != k % 2; });
  CHECK_THROWS_AS(lib("flex").read("lambda b, h, q, k: q % 3 == k % 2"), Error);
  CHECK_THROWS_AS(lib("flex").read("lambda b, h, q, k: (q + 1) % 3 == k % 3"), Error);
  square(
      "offsets = torch.tensor([0, 3, 7])\n"
      "generate_doc_mask_mod(generate_prefix_lm_mask(1), offsets)",
      [](Index q, Index k, Index, Index) {
        const Index start = q < 3 ? 0 : 3;
        return (q < 3) == (k < 3) && (k <= q || k - start < 1);
      });
}

}  // namespace
}  // namespace maskctl
