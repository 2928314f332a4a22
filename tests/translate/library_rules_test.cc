// What operators and servers compute of their arguments, on all small sizes. Each rule is written
// as the source or its documentation states it, and the source is named.
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
using test::code;
using test::lib;
using test::refused_with;
using test::written;

std::string number(Index n) { return std::to_string(n); }

Index drawn(Index low, Index high) {
  static std::mt19937 random(23);
  return low + static_cast<Index>(random() % static_cast<unsigned>(high - low + 1));
}

// onnx docs/Operators.md, Attention-25: offset = 0 without a cache; j <= i + offset if is_causal;
// p - left <= j <= p + right for each bound that is not -1.
TEST_CASE("onnx: windows of either side, and causal") {
  for (Index left = -1; left <= 3; ++left) {
    for (Index right = -1; right <= 3; ++right) {
      for (const bool causal : {false, true}) {
        check_read(lib("onnx"),
                   "op.Attention(Q, K, V, is_causal=" + number(causal) + ", left_window_size=" +
                       number(left) + ", right_window_size=" + number(right) + ")",
                   [=](Index q, Index k, Index, Index) {
                     return (!causal || k <= q) && (left < 0 || k >= q - left) &&
                            (right < 0 || k <= q + right);
                   });
      }
    }
  }
}

TEST_CASE("onnx: a mask and flags are joined, lengths alone are padding") {
  check_read(lib("onnx"),
             "mask = q_idx // 2 == kv_idx // 2\nAttention(q, k, v, attn_mask=mask, is_causal=1)",
             [](Index q, Index k, Index, Index) { return q / 2 == k / 2 && k <= q; });
  check_chain(
      lib("onnx").read("nonpad_kv_seqlen=[3]"), [](Index, Index k, Index, Index) { return k < 3; },
      5, 7);
  // With a diagonal they move it: the numbers of queries are needed.
  CHECK(
      refused_with(lib("onnx"), "is_causal=1, nonpad_kv_seqlen=[3]").find("aligned to the last") !=
      std::string::npos);
  CHECK(refused_with(lib("onnx"), "past_key=past").find("past_key") != std::string::npos);
}

// onnxruntime gqa_attention_base.h: a query at position p of T sees the keys before p + 1, of which
// the last local_window_size; p = T - S + s.
TEST_CASE("onnxruntime: the window counts the query's own key") {
  for (Index window = -1; window <= 5; ++window) {
    if (window == 0) continue;
    check_read(lib("onnxruntime"),
               "GroupQueryAttention(query, key, value, local_window_size=" + number(window) + ")",
               [=](Index s, Index k, Index queries, Index keys) {
                 const Index length = keys - queries + s + 1;
                 const Index start = window > 0 && length > window ? length - window : 0;
                 return k >= start && k < length;
               });
  }
  check_read(lib("onnxruntime"), "causal=0", [](Index, Index, Index, Index) { return true; });
  CHECK(refused_with(lib("onnxruntime"), "causal=0, local_window_size=3").find("refuses") !=
        std::string::npos);
  CHECK(!refused_with(lib("onnxruntime"), "local_window_size=0").empty());
}

// mlx/fast.cpp: q_idx = arange(offset, qL + offset) with offset = kL - qL; open where q_idx >=
// k_idx.
TEST_CASE("mlx: causal is aligned to the last key, an array is as it is") {
  check_read(lib("mlx"), "mx.fast.scaled_dot_product_attention(q, k, v, scale=s, mask=\"causal\")",
             [](Index q, Index k, Index queries, Index keys) { return q + keys - queries >= k; });
  check_read(lib("mlx"), "mx.fast.scaled_dot_product_attention(q, k, v, scale=s)",
             [](Index, Index, Index, Index) { return true; });
  check_read(lib("mlx"), "mask = q_idx >= kv_idx\nscaled_dot_product_attention(q, k, v, mask=mask)",
             [](Index q, Index k, Index, Index) { return q >= k; });
  CHECK(refused_with(lib("mlx"), "mask=\"bidirectional\"").find("causal") != std::string::npos);
  CHECK(code(written("causal:align=bottom-right", lib("mlx"))).find("mask=\"causal\"") !=
        std::string::npos);
  CHECK(code(written("causal:align=top-left", lib("mlx"))).find("mx.array(mask)") !=
        std::string::npos);
}

// sglang radix_attention.py: sliding_window_size or -1; flashattention_backend.py: flash-attn gets
// (size, 0), both ends included, and causal.
TEST_CASE("sglang: the size counts the keys before the query's own, and 0 is none") {
  for (Index size = -1; size <= 4; ++size) {
    check_read(lib("sglang"),
               "RadixAttention(8, 64, scale, 8, 0, sliding_window_size=" + number(size) + ")",
               [=](Index q, Index k, Index queries, Index keys) {
                 const Index past = k - (q + keys - queries);
                 return past <= 0 && (size <= 0 || past >= -size);
               });
  }
  CHECK(!written("window:keys=1", lib("sglang")).ok());
  CHECK(code(written("window:keys=128", lib("sglang"))).find("sliding_window_size=127") !=
        std::string::npos);
}

// keras grouped_query_attention.py: cumsum rows >= cumsum columns, and abs(row - column) < window.
TEST_CASE("keras: a layer's window has the same number of keys on both sides") {
  for (const std::string layer : {"GroupQueryAttention", "MultiHeadAttention"}) {
    for (Index window = 1; window <= 4; ++window) {
      for (const bool causal : {false, true}) {
        check_read(lib("keras"),
                   "layer = keras.layers." + layer + "(sliding_window=" + number(window) +
                       ")\nlayer(x, x, use_causal_mask=" + (causal ? "True" : "False") + ")",
                   [=](Index q, Index k, Index, Index) {
                     return std::abs(q - k) < window && (!causal || q >= k);
                   });
      }
    }
  }
  check_read(lib("keras"), "keras.ops.dot_product_attention(q, k, v, is_causal=True)",
             [](Index q, Index k, Index, Index) { return q >= k; });
}

// scaled-dot-product-attention.rst: triu(-inf, k=1) if causal, else attention_mask.
TEST_CASE("openvino: a mask beside causal is ignored") {
  const std::string mask = "mask = q_idx // 3 == kv_idx // 3\n";
  check_read(lib("openvino"),
             mask + "scaled_dot_product_attention(q, k, v, attention_mask=mask[None], causal=True)",
             [](Index q, Index k, Index, Index) { return k <= q; });
  check_read(lib("openvino"), mask + "scaled_dot_product_attention(q, k, v, attention_mask=mask)",
             [](Index q, Index k, Index, Index) { return q / 3 == k / 3; });
}

// TensorRT-LLM vanilla.py generate_sliding_window_mask: k <= position and k > position - window.
TEST_CASE("tensorrt-llm: causal unless FULL, the window counts the query's own key") {
  for (Index window = 1; window <= 4; ++window) {
    check_read(lib("tensorrt-llm"),
               "attention.forward(q, k, v, metadata, attention_window_size=" + number(window) + ")",
               [=](Index q, Index k, Index queries, Index keys) {
                 const Index position = keys - queries + q;
                 return k <= position && k > position - window;
               });
  }
  check_read(lib("tensorrt-llm"), "attention_mask=PredefinedAttentionMask.FULL",
             [](Index, Index, Index, Index) { return true; });
  CHECK(refused_with(lib("tensorrt-llm"),
                     "attention_mask=PredefinedAttentionMask.FULL, attention_window_size=4")
            .find("no effect") != std::string::npos);
}

// Megatron-LM utils.py get_sliding_window_causal_mask: triu(K - Q - L) and tril(K - Q + R).
TEST_CASE("megatron: a window has keys before the query's own, and no other side") {
  for (Index left = 0; left <= 4; ++left) {
    check_chain(
        lib("megatron").read("TransformerConfig(window_size=(" + number(left) + ", 0))"),
        [=](Index q, Index k, Index, Index) { return k >= q - left && k <= q; }, 7, 7);
  }
  for (const char* window : {"(-1, 0)", "(4, 2)", "(4, -1)"}) {
    CHECK(!refused_with(lib("megatron"), std::string("window_size=") + window).empty());
  }
  CHECK(refused_with(lib("megatron"), "window_size=(4, 0), window_attn_skip_freq=4")
            .find("window_attn_skip_freq") != std::string::npos);
  CHECK(!written("causal:align=bottom-right", lib("megatron")).ok());
}

/// Lengths of documents with a window, as flash-attn places them: to the last key of each.
void check_packed(const std::string& name, const std::string& call, bool after) {
  for (int round = 0; round < test::rounds(60); ++round) {
    std::vector<Index> queries, keys;
    std::string ends_q = "0", ends_k = "0";
    Index all_q = 0, all_k = 0;
    for (Index i = drawn(1, 3); i > 0; --i) {
      keys.push_back(drawn(1, 4));
      queries.push_back(drawn(1, after ? keys.back() : 4));
      ends_q += ", " + number(all_q += queries.back());
      ends_k += ", " + number(all_k += keys.back());
    }
    const Index left = drawn(-1, 3), right = drawn(after ? -1 : 0, after ? 2 : 0);
    std::string text = call;
    const auto put = [&](const std::string& place, const std::string& value) {
      text.replace(text.find(place), place.size(), value);
    };
    put("ENDS_Q", ends_q);
    put("ENDS_K", ends_k);
    put("LEFT", number(left));
    put("RIGHT", number(right));
    INFO(text);
    check_chain(
        lib(name).read(text),
        [&](Index q, Index k, Index, Index) {
          for (std::size_t i = 0; i < queries.size(); ++i) {
            if (q < queries[i]) {
              const Index past = k - (q + keys[i] - queries[i]);
              return k >= 0 && k < keys[i] && (left < 0 || past >= -left) &&
                     (right < 0 || past <= right);
            }
            q -= queries[i];
            k -= keys[i];
          }
          return false;
        },
        all_q, all_k);
  }
}

// torch/nn/attention/varlen.py hands cu_seq_q, cu_seq_k and (left, right) to flash-attn.
TEST_CASE("varlen: windows of which -1 is no end and 0 the query's own key") {
  check_packed("varlen",
               "varlen_attn(query, key, value, cu_seq_q=[ENDS_Q], cu_seq_k=[ENDS_K], max_q=4, "
               "max_k=4, window_size=(LEFT, RIGHT))",
               false);
  check_packed("varlen",
               "varlen_attn(query, key, value, cu_seq_q=[ENDS_Q], cu_seq_k=[ENDS_K], max_q=4, "
               "max_k=4, window_size=(LEFT, RIGHT))",
               true);
  CHECK(code(written("doc:lens=3+2 | causal", lib("varlen"))).find("window_size=(-1, 0)") !=
        std::string::npos);
}

// MagiAttention functools.py infer_attn_mask_from_cu_seqlens: slices of the last queries and keys.
TEST_CASE("magi: a window inside each document, aligned to its last key") {
  const std::string key =
      "magi_attn_varlen_key(cu_seqlens_q=[ENDS_Q], cu_seqlens_k=[ENDS_K], window_size=(LEFT, "
      "RIGHT))";
  check_packed("magi", key, false);
  check_packed("magi", key, true);
  const std::string longer = "cu_seqlens_q=[0, 4], cu_seqlens_k=[0, 2], window_size=(1, 1)";
  CHECK(refused_with(lib("magi"), longer).find("leave out the first queries") != std::string::npos);
  CHECK(refused_with(lib("magi"),
                     "cu_seqlens_q=[0, 4], cu_seqlens_k=[0, 4], causal=True, "
                     "window_size=(1, 0)")
            .find("refuses") != std::string::npos);
}

// natten csrc reference/mask.hpp get_win_start and get_win_end, of one dimension: the leader of a
// group of strides; a window moved inwards at the borders, or ending at the query.
bool in_window(Index q, Index k, Index length, Index window, Index stride, bool causal) {
  const Index group = q / stride * stride;
  if (causal) {
    const Index leader = std::min(group + stride - 1, length - 1);
    return k >= std::max<Index>(leader - window + 1, 0) && k <= q;
  }
  const Index leader = std::min(group + stride / 2, length - 1);
  const Index right = window / 2 + window % 2 - 1;
  Index start = std::max<Index>(leader - window / 2, 0);
  if (leader + right >= length) start += length - right - leader - 1;
  return k >= start && k < start + window;
}

TEST_CASE("natten: windows, strides and dilation of one to three dimensions") {
  for (int round = 0; round < test::rounds(200); ++round) {
    const Index dimensions = drawn(1, 3);
    std::vector<Index> extent, window, stride, dilation, causal;
    std::string shape, windows, strides, dilations, flags;
    for (Index i = 0; i < dimensions; ++i) {
      window.push_back(drawn(2, 3));
      stride.push_back(drawn(1, window.back()));
      dilation.push_back(drawn(1, 2));
      causal.push_back(drawn(0, 1));
      extent.push_back(drawn(window.back() * dilation.back(), 6));
      shape += number(extent.back()) + ", ";
      windows += number(window.back()) + ", ";
      strides += number(stride.back()) + ", ";
      dilations += number(dilation.back()) + ", ";
      flags += causal.back() ? "True, " : "False, ";
    }
    const std::string text = "q = torch.empty((1, " + shape + "4, 64))\nna" + number(dimensions) +
                             "d(q, k, v, kernel_size=(" + windows + "), stride=(" + strides +
                             "), dilation=(" + dilations + "), is_causal=(" + flags + "))";
    Index tokens = 1;
    for (const Index n : extent) tokens *= n;
    INFO(text);
    const Chain chain = lib("natten").read(text);
    const auto rule = [&](Index q, Index k, Index, Index) {
      bool open = true;
      for (std::size_t i = extent.size(); i-- > 0;) {
        const Index x = q % extent[i], y = k % extent[i], d = dilation[i];
        const Index length = (extent[i] - x % d + d - 1) / d;
        open = open && x % d == y % d &&
               in_window(x / d, y / d, length, window[i], stride[i], causal[i] == 1);
        q /= extent[i];
        k /= extent[i];
      }
      return open;
    };
    check_chain(chain, rule, tokens, tokens);
    const Translation back =
        translate(chain, lib("natten"), [](const Step& step) { return to_text(Chain{step}); });
    REQUIRE(back.ok());
    CHECK(to_text(lib("natten").read(code(back))) == to_text(chain));
  }
  CHECK(refused_with(lib("natten"), "na2d(q, k, v, kernel_size=3)").find("the grid is not known") !=
        std::string::npos);
  CHECK(refused_with(lib("natten"), "na1d(q, k, v, kernel_size=1)").find("at least 2") !=
        std::string::npos);
  CHECK(!written("causal:align=bottom-right", lib("natten")).ok());
  CHECK(to_text(lib("natten").read("na1d(q, k, v, kernel_size=5, is_causal=True)")) ==
        "window:keys=5");
}

}  // namespace
}  // namespace maskctl
