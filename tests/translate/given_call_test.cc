// Calls that a program makes: the mask that the rows of a library read from values, and what they
// do not read. tests/python/test_library_calls.py goes over every argument of flash-attn.
#include "maskctl/translate/given_call.h"

#include <string>
#include <vector>

#include "maskctl/base/error.h"
#include "support/catch_compat.h"
#include "translate/libraries.h"

namespace maskctl {
namespace {

using test::lib;
using Given = std::vector<GivenArgument>;

GivenArgument numbers(const std::string& name, const std::vector<Index>& values) {
  return {name, GivenArray{{static_cast<Index>(values.size())}, values}};
}

/// The open cells of the mask, or what is not read.
std::string cells_or_unread(const std::string& function, const Given& given) {
  const GivenCall call = read_call(lib("fa"), function, given, {8, 8});
  std::string out;
  for (const std::string& name : call.unread) out += (out.empty() ? "" : " ") + name;
  return out.empty() ? std::to_string(call.mask.count()) : out;
}

TEST_CASE("the arguments of a call are read as the library's row says") {
  CHECK(cells_or_unread("flash_attn_func", {{"causal", "True"}, {"attention_chunk", "4"}}) == "20");
  CHECK(cells_or_unread("flash_attn_func", {{"causal", "False"}, {"dropout_p", "0.1"}}) == "64");
  const Given packed = {numbers("cu_seqlens_q", {0, 4, 8}),
                        numbers("cu_seqlens_k", {0, 4, 8}),
                        numbers("seqused_k", {2, 4}),
                        {"causal", "True"}};
  CHECK(cells_or_unread("flash_attn_varlen_func", packed) == "13");
  const Given cached = {numbers("cache_seqlens", {3, 8}), {"causal", "True"}};
  CHECK(cells_or_unread("flash_attn_with_kvcache", cached) == std::to_string(6 + 36));
}

TEST_CASE("unread arguments that change the mask are named, unless they have the default") {
  const std::string dotted = "flash_attn.cute.flash_attn_func";
  CHECK(cells_or_unread(dotted, {{"mask_mod", GivenObject{}}}) == "mask_mod");
  CHECK(cells_or_unread(dotted, {{"mask_mod", "None"}}) == "64");
  CHECK(cells_or_unread(dotted, {{"mask_mod", GivenObject{}, true}}) == "64");
  CHECK(cells_or_unread(dotted, {{"new_rule", "4"}, {"page", GivenArray{{2, 3}, {}}}}) ==
        "new_rule=4 page");
  CHECK(cells_or_unread(dotted, {{"new_rule", "4", true}}) == "64");
  CHECK(cells_or_unread("flash_attn_func", {{"sink_token_length", "0"}}) == "64");
  CHECK(cells_or_unread("flash_attn_func", {{"sink_token_length", "2"}}) == "sink_token_length=2");
  CHECK(cells_or_unread("flash_attn_varlen_func",
                        {{"cu_seqlens_q", GivenArray{{3}, {}}}, numbers("cu_seqlens_k", {0, 8})}) ==
        "cu_seqlens_q cu_seqlens_k");
  CHECK(cells_or_unread("flash_attn_with_kvcache", {{"k", GivenArray{{1, 2, 4, 8}, {}}}}) == "k");
}

TEST_CASE("a mask argument that cannot be read is named, unless it is None") {
  const std::pair<const char*, std::vector<const char*>> calls[] = {
      {"sdpa scaled_dot_product_attention", {"attn_mask"}},
      {"flex flex_attention", {"score_mod", "block_mask"}},
      {"mha multi_head_attention_forward", {"attn_mask"}},
      {"xformers memory_efficient_attention", {"attn_bias"}},
      {"jax dot_product_attention", {"mask"}},
      {"hf sdpa_attention_forward", {"attention_mask", "position_bias"}}};
  for (const auto& [call, names] : calls) {
    const std::string text = call, library = text.substr(0, text.find(' '));
    for (const char* name : names) {
      INFO(call << " " << name);
      const auto unread = [&](const GivenArgument& argument) {
        const Given given = {argument};
        return read_call(lib(library), text.substr(library.size() + 1), given, {3, 5}).unread;
      };
      CHECK(unread({name, GivenArray{{3, 5}, {}}}) == std::vector<std::string>{name});
      CHECK(unread({name, GivenObject{}}) == std::vector<std::string>{name});
      CHECK(unread({name, "None"}).empty());
    }
  }
}

TEST_CASE("the plan() of a wrapper is read as a call of that wrapper") {
  const Given ragged = {numbers("qo_indptr", {0, 3}), numbers("kv_indptr", {0, 5})};
  CHECK(read_call(lib("flashinfer"), "BatchPrefillWithRaggedKVCacheWrapper.plan", ragged, {3, 5})
            .unread.empty());
  for (const char* wrapper :
       {"BatchPrefillWithPagedKVCacheWrapper", "BatchDecodeWithPagedKVCacheWrapper"}) {
    const bool prefill = std::string(wrapper).find("Prefill") != std::string::npos;
    const std::string plan = std::string("flashinfer.") + wrapper + ".plan";
    const auto read = [&](const std::vector<Index>& last, const char* size) {
      const std::string name = prefill ? "paged_kv_" : "";
      Given given = {numbers(name + "indptr", {0, 1, 3}),
                     numbers(name + "last_page_len", last),
                     {"page_size", size}};
      if (prefill) given.push_back(numbers("qo_indptr", {0, 1, 2}));
      return read_call(lib("flashinfer"), plan, given, {2, 9}).mask.count();
    };
    CHECK(read({4, 1}, "4") == 4 + 5);
    CHECK(read({2, 1}, "6") == 2 + 7);
    CHECK_THROWS_AS(read({5, 1}, "4"), Error);
    CHECK_THROWS_AS(read({4}, "4"), Error);
    CHECK_THROWS_AS(read({4, 1}, "0"), Error);
  }
}

TEST_CASE("values that do not fit are errors that name the argument") {
  const auto why = [](const Given& given) {
    try {
      read_call(lib("fa"), "flash_attn_with_kvcache", given, {8, 8});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(why({{"causal", "7"}}) == "causal: expected True or False");
  CHECK(why({numbers("cache_seqlens", {9})}) ==
        "flash_attn_with_kvcache: more are used than the 8 queries and 8 keys that there are");
  CHECK(why({numbers("cache_seqlens", {-1})}).find("cache_seqlens") == 0);
  CHECK_THROWS_AS(read_call(lib("fa"), "flash_attn_combine", {}, {8, 8}), Error);
}

TEST_CASE("each argument of a row has one meaning, and defaults are not reported") {
  for (const Library* library : libraries()) {
    for (const Convention& row : library->calls) {
      if (row.documents || library->shaped || library->methods) continue;
      Given given;
      for (const Argument& argument : row.arguments) {
        INFO(library->name << " " << row.call << " " << argument.name);
        CHECK(std::ranges::count(row.arguments, argument.name, &Argument::name) == 1);
        if (argument.meaning != ArgumentMeaning::kUnread) continue;
        given.push_back({std::string(argument.name), std::string(argument.fallback)});
        CHECK(read_call(*library, row.call, given, {8, 8}).unread.empty());
      }
    }
  }
}

}  // namespace
}  // namespace maskctl
