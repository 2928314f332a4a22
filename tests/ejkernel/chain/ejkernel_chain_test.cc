// Tests that pipeline steps applied as calls of MaskInfo's methods give the same object as the
// calls, or are refused.
#include "maskctl/ejkernel/chain/ejkernel_chain.h"

#include <algorithm>
#include <string>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/ejkernel/mask_info/python_error.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/pipeline/steps/bind.h"
#include "maskctl/pipeline/steps/generate.h"
#include "pipeline/pipeline_support.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

const Tensor kIds = i32({2, 8}, {1, 1, 1, 2, 2, 2, 2, -1, 3, 3, 4, 4, 4, 4, 5, 5});
const Tensor kTypes = i32({2, 8}, {1, 1, 2, 2, 0, 0, 3, 3, 1, 1, 1, 1, 2, 2, 2, 0});

BindContext context() {
  BindContext out;
  out.read_array = [](const std::string& name) {
    if (name == "types") return kTypes;
    if (name == "starts") return i32({3, 5});
    throw Error(Errc::kIo, "no array " + name);
  };
  return out;
}

MaskInfo chain(const std::string& text) {
  const std::vector<std::string> texts{text};
  return apply_ejkernel(MaskInfo::from_segments(kIds), texts, context());
}

void check_same(MaskInfo have, MaskInfo want) {
  CHECK(have.repr() == want.repr());
  CHECK(have.baked_in_masks() == want.baked_in_masks());
  const Tensor a = have.attention_mask().tensor(), b = want.attention_mask().tensor();
  REQUIRE(a.shape() == b.shape());
  CHECK(std::ranges::equal(a.bytes(), b.bytes()));
  CHECK(std::ranges::equal(have.q_segment_ids()->bytes(), want.q_segment_ids()->bytes()));
}

TEST_CASE("steps give the MaskInfo that its methods give") {
  MaskInfo info = MaskInfo::from_segments(kIds);
  check_same(chain("causal"), info.apply_causal());
  check_same(chain("causal:offset=2"), info.apply_causal(Index{2}));
  check_same(chain("causal:offset=starts"), info.apply_causal(make_array(i32({3, 5}))));
  check_same(chain("window:both=2"), info.apply_sliding_window(Index{2}));
  check_same(chain("window:keys=3"), info.apply_sliding_window(std::pair<Index, Index>{2, 0}));
  check_same(chain("window:left=1,right=2"),
             info.apply_sliding_window(std::pair<Index, Index>{1, 2}));
  check_same(chain("chunk:size=3,offset=1"), info.apply_chunked(3, 1));
  check_same(chain("causal | chunk:size=4"), info.apply_causal().apply_chunked(4));
}

TEST_CASE("windows for decoding and prefill slice the mask") {
  MaskInfo info = MaskInfo::from_segments(kIds);
  SlidingWindowOptions decode;
  decode.mode = "decode";
  decode.index = make_array(i32({3, 5}));
  MaskInfo cut = chain("window:both=2,mode=decode,index=starts");
  check_same(cut, info.apply_sliding_window(Index{2}, decode));
  CHECK(cut.q_len() == Index{1});
  SlidingWindowOptions prefill;
  prefill.mode = "prefill";
  check_same(chain("window:both=2,mode=prefill"), info.apply_sliding_window(Index{2}, prefill));
}

TEST_CASE("the steps for token types and key lengths accept all of their methods' arguments") {
  MaskInfo info = MaskInfo::from_segments(kIds);
  TokenTypeOptions types;
  types.combine = "intersect";
  types.zero_policy = "both";
  types.update_segment_ids = true;
  check_same(chain("tokens:types,combine=intersect,zero=both,update=yes"),
             info.apply_token_type_ids(kTypes, nullptr, types));
  KvLengthOptions lengths;
  lengths.q_len = 2;
  lengths.sliding_window = 3;
  check_same(chain("kv-lengths:starts,q_len=2,window=3"),
             info.apply_kv_lengths(i32({3, 5}), lengths));
  check_same(chain("kv-lengths:lens=3+5,q_len=2,window=3"),
             info.apply_kv_lengths(i32({3, 5}), lengths));
  CHECK_THROWS_AS(chain("kv-lengths:lens=3+5"), PythonError);
}

TEST_CASE("steps and arguments that MaskInfo lacks are refused with their position") {
  const auto position = [](const std::string& text) {
    try {
      chain(text);
    } catch (const PipelineError& error) {
      return error.position();
    }
    return Index{-1};
  };
  CHECK(position("causal | doc:lens=8") == 9);
  CHECK(position("causal:align=top-left") == 7);
  CHECK(position("window:both=2,mode=decod") == 19);
  CHECK(position("window:left=2") == 0);
  CHECK(position("heads:0{causal}") == 0);
  CHECK(position("cauzal") == 0);
}

TEST_CASE("errors of our own steps name the arguments that only MaskInfo has") {
  CHECK(ejkernel_argument("window", "mode"));
  CHECK(ejkernel_argument("window", "index"));
  CHECK(ejkernel_argument("tokens", "update"));
  CHECK_FALSE(ejkernel_argument("window", "left"));
  CHECK_FALSE(ejkernel_argument("causal", "mode"));
  CHECK_FALSE(ejkernel_argument("doc", "mode"));
  BindContext knowing = context();
  knowing.other_rules = ejkernel_argument;
  CHECK_THROWS_WITH(bind(parse("window:both=2,mode=decode"), knowing),
                    "pipeline: mode= of window is an argument of MaskInfo");
  for (const StepInfo& info : ejkernel_step_infos()) CHECK(find_step(info.name) != nullptr);
}

TEST_CASE("the text of a random step keeps its stream") {
  for (const std::string text :
       {"random:sparsity=0.5", "random:sparsity=0.25,seed=7,stream=numpy"}) {
    CHECK(to_text(bind(parse(text), context())) == text);
  }
  CHECK_THROWS_AS(bind(parse("random:sparsity=0.5,seed=4294967296,stream=numpy"), context()),
                  PipelineError);
}

TEST_CASE("a generated MaskInfo equals that of the matching constructor") {
  const auto repr = [](const char* text) { return generate_ejkernel(text, {}).repr(); };
  const char* random = "gen:random:sparsity=0.25,seed=42,b=2,q=4,k=6";
  CHECK(repr(random) == MaskInfo::from_random(2, 4, 6, 0.25, 42).repr());
  CHECK(generate_ejkernel(random, {}).attention_mask().mask().count() ==
        std::get<Mask>(generate(random, {})).count());
  MaskInfo::DynamicInputs of_ids;
  of_ids.input_ids_shape = {2, 8};
  CHECK(repr("full:b=2,n=8") == MaskInfo::dynamic_init(of_ids).repr());
  CHECK(repr("segments:lens=3+2,pad=1") ==
        MaskInfo::from_segments(std::get<Tensor>(generate("segments:lens=3+2,pad=1", {}))).repr());
  for (const char* text : {"full:q=4,k=6", "full:h=2,n=4", "causal:n=4",
                           "random:sparsity=0.5,h=2,n=4", "random:sparsity=0.5,stream=numpy,n=4"}) {
    const Mask mask = std::get<Mask>(generate(text, {}));
    CHECK(repr(text) == MaskInfo::from_attention_mask(MaskArray(mask)).repr());
  }
}

}  // namespace
}  // namespace maskctl::test
