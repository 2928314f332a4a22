// Tests how page_attention finds out the order of axes in its cache: from the shapes where one
// order fits, from the option kv_layout where both do.
#include "attention/small_calls.h"
#include "maskctl/base/error.h"
#include "support/catch_compat.h"
#include "support/contains.h"
#include "support/error_of.h"

namespace page_layout_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention_test;
using maskctl::test::contains;
using maskctl::test::error_of;

/// Makes a call of two sequences of 1 and `longest` tokens, with two pages each.
NamedArguments call_on(Index q_heads, Index a, Index b, std::int32_t longest) {
  NamedArguments call;
  call.arrays["query"] = random_normal({2, q_heads, 8}, 1);
  call.arrays["key_cache"] = random_normal({5, a, b, 8}, 2);
  call.arrays["value_cache"] = random_normal({5, a, b, 8}, 3);
  call.arrays["context_lens"] = i32({1, longest});
  call.arrays["block_tables"] = i32({2, 2}, {1, 0, 3, 4});
  return call;
}

const Operation& page() { return *find_operation("page_attention"); }

NamedResults read_as(NamedArguments call, const char* layout) {
  call.options["kv_layout"] = layout;
  return run(page(), call);
}

TEST_CASE("page layout: if the shapes fit one layout, it is used, as if kv_layout named it") {
  struct Row {
    Index q_heads, a, b;
    std::int32_t longest;
    const char* layout;
  };
  const Row rows[] = {
      // 4 query heads cannot share 16 key heads, so the axis of 16 must be the tokens.
      {4, 16, 2, 20, "tokens_first"},
      {4, 2, 16, 20, "heads_first"},  // again 16 must be the tokens
      {8, 2, 4, 7, "heads_first"},    // two pages of 2 tokens cannot hold 7
      {8, 4, 2, 7, "tokens_first"},
      // With one head and one token the two orders are the same.
      {4, 1, 1, 2, "heads_first"},
      {4, 1, 1, 2, "tokens_first"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.a, row.b, row.layout);
    const NamedArguments call = call_on(row.q_heads, row.a, row.b, row.longest);
    CHECK(same_bits(run(page(), call), read_as(call, row.layout)));
  }
}

TEST_CASE("page layout: if the shapes fit both layouts, the error names both values of kv_layout") {
  for (const auto& [a, b] : {std::pair<Index, Index>{2, 2}, {4, 4}, {2, 4}, {4, 2}, {1, 2}}) {
    CAPTURE(a, b);
    const NamedArguments call = call_on(8, a, b, 2);
    const std::string error = error_of([&] { run(page(), call); });
    CHECK(contains(error, "kv_layout=heads_first"));
    CHECK(contains(error, "kv_layout=tokens_first"));
    CHECK_FALSE(same_bits(read_as(call, "heads_first"), read_as(call, "tokens_first")));
  }
}

}  // namespace

}  // namespace page_layout_cases
