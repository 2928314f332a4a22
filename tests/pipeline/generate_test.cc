// Masks and segment ids that generate() makes from one step and a size.
#include "maskctl/pipeline/steps/generate.h"

#include <numeric>
#include <set>

#include "pipeline/pipeline_support.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

using test::at;
using test::generate_failure;

Mask mask_of(const std::string& text) { return std::get<Mask>(generate(text, test::context())); }

std::vector<std::int32_t> ids_of(const std::string& text) {
  const Tensor ids = std::get<Tensor>(generate(text, test::context()));
  REQUIRE(ids.dtype() == DType::kInt32);
  const auto values = ids.as<std::int32_t>();
  return {values.begin(), values.end()};
}

TEST_CASE("generate makes a mask from a step and a size") {
  const auto [text, shape, open] = GENERATE(table<std::string, std::string, Index>({
      {"causal:n=4", "[B 1, H 1, Q 4, K 4]", 10},
      {"gen:causal:n=4", "[B 1, H 1, Q 4, K 4]", 10},
      {"causal:q=2,k=4,align=bottom-right", "[B 1, H 1, Q 2, K 4]", 7},
      {"causal:b=2,h=3,n=4", "[B 2, H 3, Q 4, K 4]", 60},
      {"full:n=3", "[B 1, H 1, Q 3, K 3]", 9},
      {"empty:q=3,k=2,b=4", "[B 4, H 1, Q 3, K 2]", 0},
      {"full:q=3,k=2", "[B 1, H 1, Q 3, K 2]", 6},
      {"window:keys=2,n=4", "[B 1, H 1, Q 4, K 4]", 7},
      {"random:sparsity=0,n=4", "[B 1, H 1, Q 4, K 4]", 16},
      // Steps that open cells start from an empty mask; their own argument n= is not the size of
      // the mask.
      {"prefix:n=2,q=3,k=4", "[B 1, H 1, Q 3, K 4]", 6},
      {"sinks:n=1,q=3,k=4,b=2", "[B 2, H 1, Q 3, K 4]", 6},
      {"global:tokens=0,n=4", "[B 1, H 1, Q 4, K 4]", 7},
      {"or:other.npy,n=4", "[B 1, H 1, Q 4, K 4]", 4},
      {"xor:other.npy,n=4", "[B 1, H 1, Q 4, K 4]", 4},
      {"sub:other.npy,n=4", "[B 1, H 1, Q 4, K 4]", 12},
      {"and:other.npy,n=4", "[B 1, H 1, Q 4, K 4]", 4},
      {"heads:1{causal},h=2,n=3", "?", 0},
      {"heads:1,h=2,n=3{causal}", "[B 1, H 2, Q 3, K 3]", 15},
      {"tokens:ids4.npy,n=4", "[B 1, H 1, Q 4, K 4]", 6},
      {"tokens:ids4.npy,n=4,combine=intersect", "[B 1, H 1, Q 4, K 4]", 6},
      {"slice:q=0:2,n=4", "[B 1, H 1, Q 2, K 4]", 8},
      // doc knows the size of the mask.
      {"doc:lens=3+5", "[B 1, H 1, Q 8, K 8]", 34},
      {"doc:lens=1+2,n=4", "[B 1, H 1, Q 4, K 4]", 5},
      {"doc:ids.npy", "[B 2, H 1, Q 4, K 4]", 15},
      {"doc:q=ids4.npy,kv=ids6.npy", "[B 1, H 1, Q 4, K 6]", 8},
  }));
  CAPTURE(text);
  if (shape == "?") {
    CHECK_THROWS_AS(generate(text, test::context()), PipelineError);
  } else {
    CHECK(shape_text(mask_of(text)) == shape);
    CHECK(mask_of(text).count() == open);
  }
}

TEST_CASE("generate makes ids and padding from given lengths") {
  CHECK(ids_of("segments:lens=3+1,pad=2") == std::vector<std::int32_t>{1, 1, 1, 2, -1, -1});
  CHECK(ids_of("segments:lens=1+0+2") == std::vector<std::int32_t>{1, 3, 3});
  CHECK(ids_of("segments:lens=2,n=3,pad=1,b=2") == std::vector<std::int32_t>{1, 1, -1, 1, 1, -1});
}

TEST_CASE("random documents have ascending ids, are not empty, and depend on the seed") {
  const auto docs = GENERATE(1, 2, 7, 99, 100);
  const std::string text = "segments:n=103,pad=3,b=2,docs=" + std::to_string(docs);
  const auto ids = ids_of(text + ",seed=5");
  REQUIRE(ids.size() == 206);
  for (std::size_t b = 0; b < 2; ++b) {
    const std::vector<std::int32_t> row(ids.begin() + static_cast<int>(103 * b),
                                        ids.begin() + static_cast<int>(103 * b + 100));
    CHECK(std::is_sorted(row.begin(), row.end()));
    CHECK(std::set(row.begin(), row.end()).size() == static_cast<std::size_t>(docs));
    CHECK(row.front() == 1);
    CHECK(row.back() == docs);
    CHECK(ids[103 * b + 100] == -1);
    CHECK(ids[103 * b + 102] == -1);
  }
  CHECK(ids == ids_of(text + ",seed=5"));
  if (docs > 1 && docs < 99) {
    CHECK(ids != ids_of(text + ",seed=6"));
    CHECK_FALSE(std::equal(ids.begin(), ids.begin() + 103, ids.begin() + 103));
  }
}

TEST_CASE("random borders between documents are uniformly distributed") {
  // 2 documents over 5 tokens have one border, at 1 to 4. Of 2000 batches 500 are expected for
  // each, sigma 19.
  const auto ids = ids_of("segments:n=5,docs=2,b=2000,seed=3");
  std::vector<int> borders(5);
  for (std::size_t b = 0; b < 2000; ++b) {
    ++borders[static_cast<std::size_t>(std::count(ids.begin() + static_cast<int>(5 * b),
                                                  ids.begin() + static_cast<int>(5 * b + 5), 1))];
  }
  CHECK(borders[0] == 0);
  for (std::size_t place = 1; place < 5; ++place) {
    CHECK(borders[place] > 400);
    CHECK(borders[place] < 600);
  }
}

TEST_CASE("interleaved documents have a random id for each token") {
  const auto ids = ids_of("segments:n=10000,docs=4,seed=1,interleave=token");
  std::vector<int> counts(5);
  for (const auto id : ids) {
    REQUIRE(id >= 1);
    REQUIRE(id <= 4);
    ++counts[static_cast<std::size_t>(id)];
  }
  for (std::size_t id = 1; id < 5; ++id) {
    CHECK(counts[id] > 2300);  // 2500 are expected, sigma 43
    CHECK(counts[id] < 2700);
  }
  CHECK_FALSE(std::is_sorted(ids.begin(), ids.end()));
  // With the same seed, fewer tokens get the first ids of more tokens.
  const auto shorter = ids_of("segments:n=100,docs=4,seed=1,interleave=token");
  CHECK(std::equal(shorter.begin(), shorter.end(), ids.begin()));
  CHECK(ids_of("segments:n=3,docs=1,pad=1,interleave=token") ==
        std::vector<std::int32_t>{1, 1, -1});
}

TEST_CASE("the error about a wrong generator has a caret at the mistake") {
  using Row = std::tuple<std::string, std::size_t, std::string>;
  const auto [text, column, message] = GENERATE(table<std::string, std::size_t, std::string>({
      Row{"causal", 0, "causal needs a size: n=, or q= and k="},
      Row{"causal:q=3", 0, "causal needs a size: n=, or q= and k="},
      Row{"prefix:n=4", 0, "prefix needs a size: q= and k= (n= belongs to prefix)"},
      Row{"full", 0, "full needs a size: n=, or q= and k="},
      Row{"tokens:ids4.npy", 0, "tokens needs a size: n= (q= belongs to tokens)"},
      Row{"causal:n=4,q=3", 7, "n= gives queries and keys: it excludes q= and k="},
      Row{"causal:n=0", 9, "n= of the size must be 1 to 2147483647, got 0"},
      Row{"causal:n=x", 9, "n= of the size expects a whole number, got 'x'"},
      Row{"causal:n=4,n=5", 11, "n= of the size is given twice"},
      Row{"prefix:n=2,n=8", 11,
          "n= of prefix is given twice; the size is q= and k= (n= belongs to prefix)"},
      Row{"causal:n=4,offst=5", 11,
          "unknown key 'offst' of causal; did you mean 'offset'? known: align, offset"},
      Row{"full:n=4,x=1", 9, "unknown key 'x' of full; known: n, b, h, q, k"},
      Row{"casual:n=4", 0, "unknown step 'casual'; did you mean 'causal'?"},
      Row{"segment:n=4", 0, "unknown step 'segment'; did you mean 'segments'?"},
      Row{"causal:n=4 | not", 13, "one step makes a mask; give further steps by -t"},
      Row{"causal:b=2147483647,h=2147483647,n=2147483647", 0,
          "a mask of 2147483647 batches, 2147483647 heads, 2147483647 queries and 2147483647 keys "
          "is too large"},
      Row{"segments:n=4", 0, "segments needs docs= or lens=, as in segments:n=1024,docs=4"},
      Row{"segments:docs=4", 9, "segments with docs= needs n= too"},
      Row{"segments:n=4,docs=5", 13,
          "docs=5 of segments: 4 tokens minus 0 of padding hold at most 4"},
      Row{"segments:n=4,docs=1,pad=9", 13,
          "docs=1 of segments: 4 tokens minus 9 of padding hold at most 0"},
      Row{"segments:n=4,lens=3", 9, "n=4 of segments: lens= and pad= add up to 3"},
      Row{"segments:lens=0", 9, "lens= of segments: no tokens"},
      Row{"segments:lens=3,seed=1", 16, "seed= of segments goes with docs=, not with lens="},
      Row{"segments:n=4,docs=1,interleave=all", 31,
          "interleave= of segments expects token, got 'all'"},
      Row{"causal:n=4 x", 11, "expected ',', '|' or end, got 'x'"},
  }));
  CAPTURE(text);
  CHECK(generate_failure(text) == at(text, column, "gen: " + message));
}

TEST_CASE("ids beyond the limit are refused before memory is allocated") {
  BindContext small;
  small.max_bytes = 400;
  CHECK(std::get<Tensor>(generate("segments:n=100,docs=2", small)).elements() == 100);
  CHECK_THROWS_WITH(generate("segments:n=101,docs=2", small),
                    "gen: 1 x 101 segment ids need more than the limit of 400 bytes; a smaller n= "
                    "needs less");
  CHECK_THROWS_AS(generate("segments:n=2147483647,b=2147483647,docs=2", {}), Error);
  CHECK_THROWS_AS(generate("segments:lens=2147483647+2147483647,pad=2147483647", {}), Error);
}

TEST_CASE("the nesting of generators is limited") {
  CHECK(is_generator("gen:causal:n=4"));
  CHECK_FALSE(is_generator("generated.npy"));
  BindContext context;
  context.read_mask = [&](const std::string& source) {
    return std::get<Mask>(generate(source, context));
  };
  CHECK(std::get<Mask>(generate("and:'gen:causal:n=4',n=4", context)).count() == 10);
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "and:gen:";
  CHECK_THROWS_WITH(generate(deep + "not", context),
                    "gen: more than 16 generators inside each other");
}

}  // namespace
}  // namespace maskctl
