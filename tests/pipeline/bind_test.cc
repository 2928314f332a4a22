// bind() of every step with every argument.
#include "maskctl/pipeline/steps/bind.h"

#include "maskctl/base/ranges.h"
#include "maskctl/mask/steps/block.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/combine.h"
#include "maskctl/mask/steps/dilated.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/global.h"
#include "maskctl/mask/steps/kv_lengths.h"
#include "maskctl/mask/steps/not.h"
#include "maskctl/mask/steps/pad.h"
#include "maskctl/mask/steps/random.h"
#include "maskctl/mask/steps/scoped.h"
#include "maskctl/mask/steps/slice.h"
#include "maskctl/mask/steps/tokens.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/mask/steps/within.h"
#include "maskctl/pipeline/parse/values.h"
#include "maskctl/tensor/convert.h"
#include "pipeline/pipeline_support.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

using test::bound;

template <typename Rule>
Rule only(const std::string& text) {
  const Chain chain = bound(text);
  REQUIRE(chain.size() == 1);
  REQUIRE(chain[0].is<Rule>());
  return chain[0].as<Rule>();
}

std::vector<Index> values(const NamedArray& array) { return as_int64(array.array, "test"); }

TEST_CASE("bind reads align and offset of causal") {
  const auto plain = only<step::Causal>("causal");
  CHECK(plain.align == Align::kUnset);
  CHECK(plain.offsets.array.elements() == 0);
  CHECK(only<step::Causal>("causal:align=top-left").align == Align::kTopLeft);
  CHECK(only<step::Causal>("causal:align=bottom-right").align == Align::kBottomRight);
  const auto number = only<step::Causal>("causal:offset=-3");
  CHECK(values(number.offsets) == std::vector<Index>{-3});
  CHECK(number.offsets.array.shape() == std::vector<Index>{1});
  const auto file = only<step::Causal>("causal:offset=lens.npy");
  CHECK(values(file.offsets) == std::vector<Index>{3, 4});
  CHECK(file.offsets.text == "lens.npy");
}

TEST_CASE("bind reads the spellings keys, left/right and both of window") {
  using Spelling = step::Window::Spelling;
  const auto left = only<step::Window>("window:left=127");
  CHECK(left.left == 127);
  CHECK_FALSE(left.right);
  CHECK(left.spelling == Spelling::kSides);
  const auto right = only<step::Window>("window:right=0");
  CHECK_FALSE(right.left);
  CHECK(right.right == 0);
  const auto sides = only<step::Window>("window:left=none,right=2,align=top-left,offset=-1");
  CHECK_FALSE(sides.left);
  CHECK(sides.right == 2);
  CHECK(sides.align == Align::kTopLeft);
  CHECK(sides.offset == -1);
  const auto keys = only<step::Window>("window:keys=128");
  CHECK(keys.left == 127);
  CHECK(keys.right == 0);
  CHECK(keys.spelling == Spelling::kKeys);
  const auto both = only<step::Window>("window:both=256");
  CHECK(both.left == 256);
  CHECK(both.right == 256);
  CHECK(both.spelling == Spelling::kBoth);
}

TEST_CASE("bind reads one source, two sources, and lengths of doc") {
  const auto one = only<step::Document>("doc:ids.npy");
  CHECK(one.shared);
  CHECK(one.q.text == "ids.npy");
  CHECK(one.q.array.shape() == std::vector<Index>{2, 4});
  CHECK(one.pad_id == -1);
  const auto two = only<step::Document>("doc:q=ids4.npy,kv=ids6.npy,pad-id=0");
  CHECK_FALSE(two.shared);
  CHECK(two.q.text == "ids4.npy");
  CHECK(two.kv.text == "ids6.npy");
  CHECK(two.kv.array.elements() == 6);
  CHECK(two.pad_id == 0);
  CHECK(only<step::DocumentLengths>("doc:lens=3+0+5").lengths == std::vector<Index>{3, 0, 5});
  CHECK(only<step::DocumentLengths>("doc:lens=3+2*3+1").lengths ==
        std::vector<Index>{3, 2, 2, 2, 1});
  CHECK(only<step::Document>("doc:\"odd =,|{}'name.npy\"").q.text == "odd =,|{}'name.npy");
}

TEST_CASE("bind reads flags and lengths of pad") {
  const auto lengths = only<step::Pad>("pad:lens.npy,side=left,of=both");
  CHECK(lengths.is_lengths);
  CHECK(lengths.left);
  CHECK(lengths.both);
  const auto list = only<step::Pad>("pad:lens=3+4");
  CHECK(list.is_lengths);
  CHECK_FALSE(list.left);
  CHECK_FALSE(list.both);
  CHECK(list.valid.text == "3+4");
  CHECK(values(list.valid) == std::vector<Index>{3, 4});
  CHECK_FALSE(only<step::Pad>("pad:flags.npy").is_lengths);
  CHECK_FALSE(only<step::Pad>("pad:flags2d.npy,of=kv").is_lengths);
  CHECK_FALSE(only<step::Pad>("pad:lens.npy,side=right").left);
}

TEST_CASE("bind reads the steps that only have numbers") {
  CHECK(only<step::Chunk>("chunk:size=8").size == 8);
  CHECK(only<step::Chunk>("chunk:size=8,offset=-2").offset == -2);
  CHECK(only<step::Dilated>("dilated:stride=3").stride == 3);
  CHECK(only<step::Prefix>("prefix:n=16").n == 16);
  CHECK(only<step::Sinks>("sinks:n=0").n == 0);
  CHECK(only<step::Random>("random:sparsity=0.25").sparsity == 0.25);
  CHECK(only<step::Random>("random:sparsity=0.25").seed == 0);
  CHECK(only<step::Random>("random:sparsity=1e-1,seed=18446744073709551615").seed == UINT64_MAX);
  CHECK(only<step::Global>("global:tokens=0+5-9").tokens == std::vector<Range>{{0, 1}, {5, 10}});
  CHECK(only<step::Chunk>("chunk:size=2147483647").size == 2147483647);
}

TEST_CASE("bind reads the map and the size of block") {
  const auto block = only<step::Block>("block:map.npy,size=64x128");
  CHECK(block.map.text == "map.npy");
  CHECK(block.q_size == 64);
  CHECK(block.k_size == 128);
  CHECK(only<step::Block>("block:map.npy,size=32").k_size == 32);
}

TEST_CASE("bind reads the operation and the mask of binary steps") {
  const auto [name, op] = GENERATE(table<std::string, Op>(
      {{"and", Op::kAnd}, {"or", Op::kOr}, {"xor", Op::kXor}, {"sub", Op::kSub}}));
  const auto rule = only<step::Combine>(name + ":other.npy");
  CHECK(rule.op == op);
  CHECK(rule.text == "other.npy");
  CHECK(rule.mask.count() == 4);
}

TEST_CASE("bind reads the sides and the arguments combine and zero of tokens") {
  using Join = step::Tokens::Join;
  using Zero = step::Tokens::Zero;
  const auto plain = only<step::Tokens>("tokens:ids4.npy");
  CHECK(plain.shared);
  CHECK(plain.join == Join::kUnion);
  CHECK(plain.zero == Zero::kQ);
  const auto two = only<step::Tokens>("tokens:q=ids4.npy,kv=ids6.npy,combine=replace,zero=none");
  CHECK_FALSE(two.shared);
  CHECK(two.kv.text == "ids6.npy");
  CHECK(two.join == Join::kReplace);
  CHECK(two.zero == Zero::kNone);
  CHECK(only<step::Tokens>("tokens:ids4.npy,combine=intersect").join == Join::kIntersect);
  CHECK(only<step::Tokens>("tokens:ids4.npy,combine=union,zero=q").zero == Zero::kQ);
  CHECK(only<step::Tokens>("tokens:ids4.npy,zero=kv").zero == Zero::kKv);
  CHECK(only<step::Tokens>("tokens:ids4.npy,zero=both").zero == Zero::kBoth);
}

TEST_CASE("bind reads ranges and single positions of slice") {
  const auto rule = only<step::Slice>("slice:b=1,h=0:2,q=0:128,k=7:7");
  CHECK(rule.b == Range{1, 2});
  CHECK(rule.h == Range{0, 2});
  CHECK(rule.q == Range{0, 128});
  CHECK(rule.k == Range{7, 7});
  CHECK_FALSE(only<step::Slice>("slice:q=3").k);
}

TEST_CASE("a range is read back from its text, and in Python's spelling") {
  for (Index begin = 0; begin < 12; ++begin) {
    for (Index end = begin; end < 12; ++end) {
      const Range range{begin, end};
      CAPTURE(begin, end);
      CHECK(range_from(range_text(range)) == range);
      CHECK(range_from(std::to_string(begin) + ":" + std::to_string(end)) == range);
    }
  }
  for (const char* text : {"", "-", ":", "3-", "3:", ":3", "-3", "4-3", "4:3", "1-2:3", "1:2:3",
                           "1-2-3", "x", "1 - 2", "+1-2"}) {
    CAPTURE(text);
    CHECK_FALSE(range_from(text));
  }
}

TEST_CASE("bind reads lengths, queries, window and end of kv-lengths") {
  const auto file = only<step::KvLengths>("kv-lengths:lens.npy");
  CHECK(values(file.lengths) == std::vector<Index>{3, 4});
  CHECK_FALSE(file.q_len);
  CHECK_FALSE(file.window);
  CHECK(file.end.array.elements() == 0);
  const auto all = only<step::KvLengths>("kv-lengths:lens=3+4,q_len=1,window=2,end=3");
  CHECK(values(all.lengths) == std::vector<Index>{3, 4});
  CHECK(all.q_len == 1);
  CHECK(all.window == 2);
  CHECK(values(all.end) == std::vector<Index>{3});
  CHECK(only<step::KvLengths>("kv-lengths:lens.npy,end=lens.npy").end.text == "lens.npy");
  CHECK_FALSE(only<step::KvLengths>("kv-lengths:lens.npy,window=none").window);
}

TEST_CASE("bind reads the members and the steps of heads and batch") {
  const auto heads = only<step::Scoped>("heads:0-3+7{causal | batch:0{not}}");
  CHECK(heads.axis == step::Scoped::Axis::kHeads);
  CHECK(heads.members == std::vector<Range>{{0, 4}, {7, 8}});
  REQUIRE(heads.chain.size() == 2);
  CHECK(heads.chain[1].as<step::Scoped>().axis == step::Scoped::Axis::kBatch);
}

TEST_CASE("bind reads lengths of one or both sides, ids, and no steps of within") {
  const auto one = only<step::Within>("within:lens=3+5{chunk:size=2 | causal}");
  CHECK(one.lengths == std::vector<Index>{3, 5});
  CHECK(one.kv_lengths.empty());
  CHECK(one.chain.size() == 2);
  const auto two = only<step::Within>("within:q-lens=1+2,kv-lens=4+6{}");
  CHECK(two.lengths == std::vector<Index>{1, 2});
  CHECK(two.kv_lengths == std::vector<Index>{4, 6});
  CHECK(two.chain.empty());
  const auto ids = only<step::Within>("within:ids4.npy,pad-id=0{causal}");
  CHECK(ids.shared);
  CHECK(ids.pad_id == 0);
  CHECK_FALSE(only<step::Within>("within:q=ids4.npy,kv=ids6.npy{causal}").shared);
  for (const char* text : {"within:lens=3+5{chunk:size=2 | causal}",
                           "within:q-lens=1+2,kv-lens=4+6{}", "within:ids4.npy,pad-id=0{causal}",
                           "within:q=ids4.npy,kv=ids6.npy{window:keys=2,align=bottom-right}"}) {
    CHECK(to_text(bound(text)) == text);
  }
  CHECK(test::bind_failure("within:q-lens=1+2,kv-lens=4{}")
            .find("2 documents of queries and 1 of keys") != std::string::npos);
  CHECK(test::bind_failure("within:lens=1+2,pad-id=0{}").find("not with lens=") !=
        std::string::npos);
  CHECK(test::bind_failure("within:lens=1+2").find("needs a chain in braces") != std::string::npos);
}

TEST_CASE("numbers per batch entry are lists or sources, and are printed as they were written") {
  CHECK(values(only<step::Window>("window:keys=2,offset=0+-3").offsets) ==
        std::vector<Index>{0, -3});
  CHECK(values(only<step::Causal>("causal:offset=1+2").offsets) == std::vector<Index>{1, 2});
  CHECK(values(only<step::Prefix>("prefix:n=lens.npy").each) == std::vector<Index>{3, 4});
  CHECK(only<step::Chunk>("chunk:size=4").align == Align::kUnset);
  for (const char* text :
       {"window:keys=2,align=bottom-right,offset=0+-3", "causal:offset=1+2", "prefix:n=16+0",
        "sinks:n=lens.npy", "chunk:size=4,offset=1,align=bottom-right,origin=0+3",
        "chunk:size=4,origin=3", "chunk:size=4+5", "chunk:size=lens.npy", "window:left=3+7",
        "window:right=2+0", "window:left=lens.npy,right=1+2", "window:keys=4+8",
        "window:both=lens.npy,offset=1+2", "chunk:size=4,offset=-2+3", "dilated:stride=2+3",
        "dilated:stride=lens.npy"}) {
    CHECK(to_text(bound(text)) == text);
  }
  CHECK(values(only<step::Window>("window:keys=4+8").lefts) == std::vector<Index>{3, 7});
  CHECK(values(only<step::Window>("window:keys=lens.npy").lefts) == std::vector<Index>{2, 3});
  CHECK(test::bind_failure("window:keys=3+0").find("must be 1 to") != std::string::npos);
  CHECK(test::bind_failure("chunk:size=3+0").find("must be 1 to") != std::string::npos);
  CHECK(test::bind_failure("dilated:stride=3+0").find("must be 1 to") != std::string::npos);
  CHECK(test::bind_failure("prefix:n=3+-1").find("must be 0 to") != std::string::npos);
}

TEST_CASE("a chain keeps the order of its steps, which act from left to right") {
  const Chain chain = bound("window:keys=2 | sinks:n=1 | causal");
  REQUIRE(chain.size() == 3);
  CHECK(chain[0].is<step::Window>());
  CHECK(chain[1].is<step::Sinks>());
  // Each of the 5 queries sees its own key, the key before, and key 0.
  CHECK(maskctl::apply(Mask(full_plane(5, 5)), chain).count() == 1 + 2 + 3 + 3 + 3);
}

TEST_CASE("an exception of a reader is passed on, and a missing reader is an error") {
  CHECK_THROWS_WITH(bound("doc:none.npy"), "none.npy: no such file");
  CHECK_THROWS_WITH(bind(parse("doc:a.npy"), {}), "pipeline: arrays cannot be read here");
  CHECK_THROWS_WITH(bind(parse("or:a.npy"), {}), "pipeline: masks cannot be read here");
  CHECK(bind(parse("causal:offset=2"), {}).size() == 1);
}

TEST_CASE("the text of a bound chain binds to an equal chain") {
  const std::string text = GENERATE(
      as<std::string>{}, "causal", "causal:align=top-left", "causal:align=bottom-right,offset=-3",
      "causal:offset=lens.npy", "window:left=127", "window:right=0", "window:left=3,right=4",
      "window:left=none", "window:keys=128,align=top-left", "window:both=256,offset=2",
      "window:keys=1", "window:both=0", "chunk:size=8", "chunk:size=8,offset=-2", "doc:ids.npy",
      "doc:q=ids4.npy,kv=ids6.npy,pad-id=0", "doc:lens=3+0+5", "doc:\"odd =,|{}'name.npy\"",
      "pad:lens.npy,side=left,of=both", "pad:lens=3+4", "pad:lens=3", "pad:flags.npy",
      "pad:flags2d.npy,of=both", "dilated:stride=3", "block:map.npy,size=64x128",
      "random:sparsity=0.1", "random:sparsity=1e-30,seed=18446744073709551615", "and:other.npy",
      "or:other.npy", "xor:other.npy", "sub:other.npy", "prefix:n=16", "sinks:n=0",
      "global:tokens=0+5-9", "open:q=17,k=3", "close:q=0-3+9", "close:k=8-15", "tokens:ids4.npy",
      "tokens:q=ids4.npy,kv=ids6.npy,combine=replace,zero=none",
      "tokens:ids4.npy,combine=intersect,zero=both", "not", "slice:b=1,h=0-1,q=0-127,k=7:7",
      "kv-lengths:lens.npy", "kv-lengths:lens=3+4,q_len=1,window=2,end=3",
      "kv-lengths:lens.npy,end=lens.npy", "heads:0-3+7{causal | batch:0{not}}",
      "window:keys=128 | sinks:n=4 | causal");
  const Chain chain = bound(text);
  CHECK(to_text(chain) == text);
  CHECK(bound(to_text(chain)) == chain);
  CHECK(parse(to_text(chain)) == parse(text));
}

TEST_CASE("a chain is printed without defaults, in the shortest spelling") {
  const auto [text, canonical] = GENERATE(table<std::string, std::string>({
      {"window:left=none,right=none", "window:left=none"},
      {"window:left=3,right=none,offset=0", "window:left=3"},
      {"doc:ids.npy,pad-id=-1", "doc:ids.npy"},
      {"doc:lens=03+5", "doc:lens=3+5"},
      {"doc:lens=3+1+1*6+1", "doc:lens=3+1*8"},
      {"doc:lens=3+1*7", "doc:lens=3+1+1+1+1+1+1+1"},
      {"doc:lens=4*2,3", "doc:lens=4+4+3"},
      {"pad:lens.npy,side=right,of=kv", "pad:lens.npy"},
      {"block:map.npy,size=64", "block:map.npy,size=64x64"},
      {"random:sparsity=0.50,seed=0", "random:sparsity=0.5"},
      {"slice:q=3:4", "slice:q=3"},
      {"slice:h=0:2,k=0:128", "slice:h=0-1,k=0-127"},
      {"open:q=0:3+9,k=2:5", "open:q=0-2+9,k=2-4"},
      {"batch:0:1{heads:0:2+5{not}}", "batch:0{heads:0-1+5{not}}"},
      {"global:tokens=5-5", "global:tokens=5"},
      {"tokens:ids4.npy,combine=union,zero=q", "tokens:ids4.npy"},
      {"kv-lengths:lens.npy,window=none", "kv-lengths:lens.npy"},
      {"causal:offset=00", "causal:offset=0"},
  }));
  CHECK(to_text(bound(text)) == canonical);
  CHECK(bound(canonical) == bound(text));
}

TEST_CASE("chains that a program made can be printed") {
  CHECK(to_text({}).empty());
  step::Pad pad;
  pad.valid.array = test::i32({3, 4});
  pad.is_lengths = true;
  CHECK(to_text({{pad}}) == "pad:lens=3+4");
  step::Causal causal;
  causal.offsets.array = test::tensor_of<Index>(DType::kInt64, {1}, {5});
  CHECK(to_text({{causal}}) == "causal:offset=5");
  // The spelling "keys" does not fit right = 2, so that both sides are written.
  CHECK(to_text({{step::Window{3, 2, Align::kUnset, 0, step::Window::Spelling::kKeys}}}) ==
        "window:left=3,right=2");
  CHECK(to_text({{step::Slice{}}, {step::Not{}}}) == "not");
  CHECK_THROWS_WITH(to_text({{step::Document{}}}),
                    "step doc: an array without a name cannot be written as text");
}

}  // namespace
}  // namespace maskctl
