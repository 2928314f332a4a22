// Masks in the syntax of other programs: the keys that they open, and errors with a caret.
#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/translate/translate.h"
#include "pipeline/pipeline_support.h"
#include "support/catch_compat.h"
#include "translate/libraries.h"

namespace maskctl {
namespace {

using test::lib;

std::string read(const Library& library, const std::string& text) {
  return to_text(library.read(text));
}

/// The open keys before and after the query's own, for a query far from the ends.
std::pair<Index, Index> sides(const Library& library, const std::string& text) {
  const Mask mask = maskctl::apply(Mask(full_plane(64, 64)), library.read(text));
  return {mask.plane(0, 0)->count({32, 33}, {0, 32}), mask.plane(0, 0)->count({32, 33}, {33, 64})};
}

TEST_CASE("a window of 4 is read as the keys that each library gives it") {
  using Sides = std::pair<Index, Index>;
  CHECK(sides(lib("hf"), "sliding_window=4") == Sides{3, 0});
  CHECK(sides(lib("hf"), "sliding_window=4, is_causal=False") == Sides{4, 4});
  CHECK(sides(lib("fa"), "causal=True, window_size=(4, 0)") == Sides{4, 0});
  CHECK(sides(lib("fa"), "window_size=(4, 4)") == Sides{4, 4});
  CHECK(sides(lib("fa"), "window_size=(-1, -1)") == Sides{32, 31});
  CHECK(sides(lib("fa"), "causal=True,window_size=(-1, 3)") == Sides{32, 0});
  CHECK(sides(lib("te"), "attn_mask_type=\"causal\", window_size=(4, 0)") == Sides{4, 0});
  CHECK(sides(lib("cudnn"), "diagonal_band_left_bound=4, diagonal_band_right_bound=0") ==
        Sides{3, 0});
  CHECK(sides(lib("xformers"), "LowerTriangularFromBottomRightLocalAttentionMask(4)") ==
        Sides{3, 0});
  CHECK(sides(lib("xformers"), "LocalAttentionFromBottomRightMask(4, 0)") == Sides{4, 0});
  CHECK(sides(lib("xformers"),
              "LocalAttentionFromBottomRightMask(window_left=4, window_right=2)") == Sides{4, 2});
  CHECK(sides(lib("flashinfer"), "causal=True, window_left=4") == Sides{4, 0});
  CHECK(sides(lib("flex"), "sliding_window(4)") == Sides{4, 0});
  CHECK(sides(lib("splash"), "LocalMask((4, 0))") == Sides{4, 0});
  CHECK(sides(lib("splash"), "LocalMask((4, 4)) & CausalMask()") == Sides{4, 0});
  CHECK(sides(lib("vllm"), "sliding_window=4") == Sides{3, 0});
  CHECK(sides(lib("ck_tile"), "t:4,0") == Sides{4, 0});
  CHECK(sides(lib("ck_tile"), "xt:4") == Sides{2, 1});
  CHECK(sides(lib("flashmask"), "window_size=4") == Sides{3, 0});
  CHECK(sides(lib("ejkernel"), "sliding_window=4") == Sides{4, 4});
  CHECK(sides(lib("ejkernel"), "causal=True, sliding_window=4") == Sides{4, 0});
  CHECK(sides(lib("ejkernel-flash"), "causal=True, sliding_window=(4, 0)") == Sides{4, 0});
  CHECK(sides(lib("ejkernel-ragged"), "sliding_window=4") == Sides{3, 0});
}

const std::string kSplashKernel =
    "mask = CausalMask((8, 8))\nkernel = make_splash_mha(MultiHeadMask([mask] * 2), head_shards=1, "
    "q_seq_shards=1)\na = jnp.array([0, 0, 0, 1, 1, 1, 1, 1])\n"
    "b = jnp.array([0, 0, 0, 0, 1, 1, 1, 1])\n";

TEST_CASE("splash: segment ids are read as documents by name or position, and None as no ids") {
  const auto with = [](const std::string& call) {
    return read(lib("splash"), kSplashKernel + call);
  };
  const std::string documents = with("kernel(q, k, v, segment_ids=SegmentIds(q=a, kv=a))");
  CHECK(documents.find("doc:lens=3+5") != std::string::npos);
  CHECK(with("kernel(q, k, v, SegmentIds(q=a, kv=a))") == documents);
  CHECK(with("kernel(q, k, v, SegmentIds(a, a))") == documents);
  CHECK(with("kernel(q, k, v, segment_ids=None)") == with("kernel(q, k, v)"));
  CHECK(with("kernel(q, k, v)").find("doc") == std::string::npos);
}

TEST_CASE("what translate writes for splash is read back as the same mask") {
  for (const char* pipeline :
       {"causal:align=bottom-right", "causal:align=top-left", "causal",
        "window:keys=5,align=top-left", "window:left=4,right=2,align=bottom-right",
        "window:left=4,align=bottom-right", "window:right=3", "chunk:size=8 | causal",
        "chunk:size=8 | window:keys=4"}) {
    INFO(pipeline);
    const Chain chain = test::bound(pipeline);
    const Translation there =
        translate(chain, lib("splash"), [](const Step& step) { return to_text(Chain{step}); });
    REQUIRE(there.ok());
    std::string code;
    for (const std::string& line : there.code) code += line + "\n";
    const Chain back = lib("splash").read(code);
    for (const auto& [queries, keys] : {std::pair<Index, Index>{24, 24}, {16, 24}}) {
      const Mask full(full_plane(queries, keys));
      const bool needs_align =
          queries != keys && std::string(pipeline).find("align") == std::string::npos;
      if (needs_align) continue;
      CHECK(zip(Op::kXor, maskctl::apply(full, chain), maskctl::apply(full, back)).count() == 0);
    }
  }
  CHECK(read(lib("splash"), "LocalMask((9, 9), (4, 2), offset=3)") ==
        read(lib("splash"), "mask = LocalMask(window_size=(4, 2), offset=3)"));
  CHECK(read(lib("splash"), "FullMask((Q_LEN, KV_LEN))") == "");
}

TEST_CASE("each library's arguments are read with its alignment") {
  CHECK(read(lib("fa"), "causal=True") == "causal:align=bottom-right");
  CHECK(read(lib("te"), "attn_mask_type=causal") == "causal:align=top-left");
  CHECK(read(lib("te"), "attn_mask_type='padding_causal_bottom_right'") ==
        "causal:align=bottom-right");
  CHECK(read(lib("cudnn"),
             "diagonal_alignment=cudnn.diagonal_alignment.TOP_LEFT, diagonal_band_right_bound=0") ==
        "causal:align=top-left");
  CHECK(read(lib("xformers"), "LowerTriangularMask()") == "causal:align=top-left");
  CHECK(read(lib("hf"), "attention_chunk_size=8") ==
        "causal:align=bottom-right | chunk:size=8,align=bottom-right");
  CHECK(read(lib("hf"), "sliding_window=None") == "causal:align=bottom-right");
}

TEST_CASE("ck_tile masks are read as its own runner reads them") {
  const auto text = [](const char* given) { return to_text(lib("ck_tile").read(given)); };
  CHECK(text("t") == "causal:align=top-left");
  CHECK(text("1") == "causal:align=top-left");
  CHECK(text("-mask=b") == "causal:align=bottom-right");
  CHECK(text("0") == "");
  CHECK(text("b:127,0") == "window:keys=128,align=bottom-right");
  CHECK(text("t:-1,3") == "window:right=3,align=top-left");
  CHECK(text("xb:5") == "window:left=2,right=2,align=bottom-right");
  CHECK(text("xt:-1") == "causal:align=top-left");
  CHECK(text("g:3,2") == "window:left=2,right=1,align=top-left");
  CHECK(text("b:127,0,4") ==
        "window:keys=128,align=bottom-right | sinks:n=4 | causal:align=bottom-right");
}

TEST_CASE("mask functions are read as chains in which steps that open keys come first") {
  const auto text = [](const char* given) { return to_text(lib("flex").read(given)); };
  CHECK(text("causal") == "causal:align=top-left");
  CHECK(text("causal_mask") == "causal:align=top-left");
  CHECK(text("and_masks(causal, generate_sliding_window(8))") ==
        "causal:align=top-left | window:keys=9,align=top-left");
  CHECK(text("and_masks(document(3+5), or_masks(prefix(2), causal))") ==
        "causal:align=top-left | prefix:n=2 | doc:lens=3+5");
  CHECK(text("generate_prefix_lm_mask(4)") == "causal:align=top-left | prefix:n=4");
  CHECK(text("or_masks(prefix(2), sinks(1))") == "not | prefix:n=2 | sinks:n=1");
  CHECK(text("and_masks(prefix(2), causal)") == "not | prefix:n=2 | causal:align=top-left");
  CHECK(text("and_masks(chunked(4), dilated(2), causal)") ==
        "chunk:size=4 | dilated:stride=2 | causal:align=top-left");
}

std::string failure_and_place(const Library& library, const std::string& text) {
  try {
    library.read(text);
  } catch (const PipelineError& error) {
    return std::string(error.what()) + "\n" + error.display();
  }
  return "";
}

TEST_CASE("the table of windows and the readers agree on the keys of every library") {
  const std::pair<const char*, Library> names[] = {
      {"hf", lib("hf")},         {"xformers", lib("xformers")},
      {"cudnn", lib("cudnn")},   {"flashmask", lib("flashmask")},
      {"vllm", lib("vllm")},     {"ejkernel-ragged", lib("ejkernel-ragged")},
      {"fa", lib("fa")},         {"flashinfer", lib("flashinfer")},
      {"splash", lib("splash")}, {"flex", lib("flex")}};
  int read_rows = 0;
  for (const WindowConvention& row : window_conventions()) {
    std::string api(row.api.substr(0, row.api.find(',')));
    const auto found =
        std::ranges::find_if(names, [&](const auto& entry) { return entry.first == api; });
    if (found == std::end(names)) continue;  // no library in the list above
    std::string text(row.parameter);
    for (std::size_t at = 0; (at = text.find('W', at)) != text.npos; ++at) {
      const bool name =
          at + 1 < text.size() && std::islower(static_cast<unsigned char>(text[at + 1]));
      if (!name) text.replace(at, 1, "4");
    }
    if (row.api.find("Causal") != row.api.npos) {
      text = "LowerTriangularFromBottomRightLocalAttentionMask(4)";
    }
    if (row.api == "hf, bidirectional") text += ", is_causal=False";
    if (row.api == "vllm, EncoderOnlyAttention") text = "EncoderOnlyAttention(" + text + ")";
    if (row.api.find("global and dilated") != row.api.npos) {
      text = "generate_dilated_sliding_window(4, 1)";
    }
    INFO(row.api << ": " << text);
    const auto [before, after] = sides(found->second, text);
    const step::Window want = window_of(row.rule, 4);
    CHECK(before == *want.left);
    // A window that bounds only the left side leaves the other side open: 31 keys here.
    CHECK((after == *want.right || after == 31));
    ++read_rows;
  }
  CHECK(read_rows >= 11);
}

TEST_CASE("definitions that refer to themselves or grow too large give an error") {
  CHECK(failure_and_place(lib("splash"), "mask = mask & CausalMask()\nmask") != "");
  CHECK(failure_and_place(lib("fa"),
                          "a = torch.tensor(b)\nb = torch.tensor(a)\n"
                          "flash_attn_varlen_func(q, k, v, a, b, 1, 1)")
            .find("list of numbers") != std::string::npos);
  std::string doubled = "m0 = q_idx >= kv_idx\n";
  for (int i = 1; i < 20; ++i) {
    const std::string last = "m" + std::to_string(i - 1);
    doubled += "m" + std::to_string(i) + " = " + last + " & " + last + "\n";
  }
  CHECK(failure_and_place(lib("flex"), doubled + "m19").find("more than 1000 parts") !=
        std::string::npos);
  std::string lambdas;
  for (int i = 0; i < 5000; ++i) lambdas += "lambda:";
  CHECK(failure_and_place(lib("flex"), lambdas).find("levels") != std::string::npos);
}

TEST_CASE("arguments of another library, or in another version's order, are refused") {
  const auto failure = [](const char* library, const std::string& text) {
    return failure_and_place(lib(library), text);
  };
  CHECK(failure("fa", "flash_attn_func(causal=True, head_shards=1)") ==
        "translate: unknown argument 'head_shards' of fa; known: causal, window_size, "
        "attention_chunk\n"
        "  flash_attn_func(causal=True, head_shards=1)\n"
        "                               ^");
  CHECK(
      failure("fa", "flash_attn_func(atention_chunk=4)").find("did you mean 'attention_chunk'?") !=
      std::string::npos);
  CHECK(failure("fa", "flash_attn_func(q, k, v, 0.0, None, True)").empty());
  CHECK(failure("fa", "flash_attn_func(q, k, v, None, True)").find("no value of softmax_scale") !=
        std::string::npos);
  CHECK(failure("te", "core_attention_bias_type='no_bias'").empty());
  CHECK(failure("cudnn", "attn_scale=0.5, is_inference=True").empty());
  CHECK(failure("flashinfer", "single_prefill_with_kv_cache(q, k, v, sm_scale=1)").empty());
  CHECK(failure("flashinfer", "plan(a, b, core_attention_bias_type=1)") != "");
  CHECK(failure("splash", "make_splash_mha(CausalMask((8, 8)), head_shards=1)").empty());
  CHECK(failure("splash", "make_splash_mha(CausalMask((8, 8)), causal=True)") != "");
  for (const char* call :
       {"mha(x, x, x, attn_mask=q_idx < kv_idx, ",
        "scaled_dot_product_attention(q, k, v, attn_mask=q_idx < kv_idx, ",
        "memory_efficient_attention(q, k, v, attn_bias=LowerTriangularMask(), "}) {
    const char* library = call[0] == 'm' ? (call[1] == 'h' ? "mha" : "xformers") : "sdpa";
    CHECK(failure(library, std::string(call) + "head_shards=1)").find("unknown argument") !=
          std::string::npos);
  }
}

TEST_CASE("arrays may be given by the library's names for them") {
  const std::pair<const char*, const char*> calls[] = {
      {"sdpa", "scaled_dot_product_attention(query=q, key=k, value=v, is_causal=True)"},
      {"jax", "dot_product_attention(query=q, key=k, value=v, is_causal=True)"},
      {"te", "DotProductAttention(query_layer=q, key_layer=k, value_layer=v)"},
      {"fa", "flash_attn_func(q=q, k=k, v=v, causal=True)"}};
  for (const auto& [library, call] : calls) {
    INFO(call);
    CHECK(to_text(lib(library).read(call)).starts_with("causal"));
  }
  CHECK(failure_and_place(lib("sdpa"), "scaled_dot_product_attention(query_layer=q)") != "");
}

TEST_CASE("methods of xformers may follow keywords, and are inherited by classes") {
  const auto read = [](const char* text) { return to_text(lib("xformers").read(text)); };
  const std::string padded = read(
      "BlockDiagonalPaddedKeysMask.from_seqlens([2, 3], 6, [4, 5]).make_local_attention(3, 1)");
  CHECK(padded == read("BlockDiagonalPaddedKeysMask.from_seqlens([2, 3], kv_padding=6, "
                       "kv_seqlen=[4, 5]).make_local_attention(3, 1)"));
  for (const char* method :
       {"make_causal()", "make_causal_from_bottomright()", "make_local_attention(2)",
        "make_local_attention_from_bottomright(2)"}) {
    const std::string base = "BlockDiagonalMask.from_seqlens([2, 3], [4, 5]).";
    for (const char* made :
         {"BlockDiagonalCausalMask.from_seqlens([2, 3], [4, 5]).",
          "attn_bias.BlockDiagonalCausalFromBottomRightMask.from_seqlens([2, 3], [4, 5]).",
          "BlockDiagonalMask.from_seqlens([2, 3], [4, 5]).make_causal()."}) {
      INFO(made << method);
      CHECK(read((std::string(made) + method).c_str()) == read((base + method).c_str()));
    }
  }
  const std::string call = "memory_efficient_attention(q, k, v, ";
  CHECK(failure_and_place(lib("xformers"), call + "LowerTriangularMask())")
            .find("give attn_bias by name") != std::string::npos);
  CHECK(failure_and_place(lib("xformers"), call + "None)").empty());
}

TEST_CASE("unread arguments that change the mask are refused, unless they have the default") {
  int arguments = 0;
  for (const Library* library : libraries()) {
    for (const Convention& row : library->calls) {
      if (row.documents || row.arguments.empty()) continue;
      for (const Argument& argument : row.arguments) {
        if (argument.meaning != ArgumentMeaning::kUnread) continue;
        const std::string dotted = std::string(row.module) + (row.module.empty() ? "" : ".");
        const auto text = [&](std::string_view value) {
          return dotted + std::string(row.call) + "(" + std::string(argument.name) + "=" +
                 std::string(value) + ")";
        };
        INFO(library->name << ": " << text("x"));
        CHECK(failure_and_place(*library, text("x")).find("not read") != std::string::npos);
        CHECK(failure_and_place(*library, text(argument.fallback)).empty());
        ++arguments;
      }
    }
  }
  CHECK(arguments > 40);
}

TEST_CASE("errors show the mistake with a caret") {
  CHECK(failure_and_place(lib("hf"), "sliding_widow=4") ==
        "translate: unknown argument 'sliding_widow' of hf; did you mean 'sliding_window'?\n"
        "  sliding_widow=4\n"
        "  ^");
  CHECK(failure_and_place(lib("fa"), "causal=maybe") ==
        "translate: expected True or False\n"
        "  causal=maybe\n"
        "         ^");
  CHECK(failure_and_place(lib("hf"), "sliding_window=0") ==
        "translate: 0: expected at least 1\n"
        "  sliding_window=0\n"
        "                 ^");
  CHECK(failure_and_place(lib("fa"), "window_size=(4").find("expected ','") != std::string::npos);
  CHECK(failure_and_place(lib("ck_tile"), "q:1,2").find("expected t, b, xt, xb or g") !=
        std::string::npos);
  CHECK(failure_and_place(lib("ck_tile"), "g:0,2").find("Y of at least 1") != std::string::npos);
  CHECK(failure_and_place(lib("flex"), "and_masks(causal").find("expected ',' or ')'") !=
        std::string::npos);
  CHECK(failure_and_place(lib("flex"), "casual").find("did you mean 'causal'?") !=
        std::string::npos);
  CHECK(failure_and_place(lib("flex"), "or_masks(causal, document(3))").find("or:FILE") !=
        std::string::npos);
  CHECK(failure_and_place(lib("xformers"), "SomeMask(3)").find("unknown call") !=
        std::string::npos);
  CHECK(failure_and_place(lib("splash"), kSplashKernel + "kernel(q, k, v, SegmentIds(q=a, kv=b))")
            .find("the same documents of queries and keys") != std::string::npos);
  CHECK(failure_and_place(lib("splash"), kSplashKernel + "kernel(q, k, v, SegmentIds(q=c, kv=c))")
            .find("the values of the ids are needed") != std::string::npos);
  CHECK(failure_and_place(lib("splash"), "LocalMask(4)").find("expected (L, R)") !=
        std::string::npos);
  CHECK(failure_and_place(lib("splash"), "LocalMask((4, x))").find("expected a whole number") !=
        std::string::npos);
  CHECK(failure_and_place(lib("splash"), "CausalMask(offset=KV)").find("KV_LEN - Q_LEN") !=
        std::string::npos);
  CHECK(failure_and_place(lib("splash"), "CausalMask() & LocalMask((1, 1), offset=KV_LEN - Q_LEN)")
            .find("one offset") != std::string::npos);
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "and_masks(";
  CHECK(failure_and_place(lib("flex"), deep).find("more than 64 levels") != std::string::npos);
}

}  // namespace
}  // namespace maskctl
