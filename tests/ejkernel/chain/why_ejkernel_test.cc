// Compares the answers of `why` for a chain of MaskInfo's methods with the masks that the methods
// give.
#include "maskctl/ejkernel/chain/why_ejkernel.h"

#include <algorithm>
#include <string>
#include <vector>

#include "maskctl/ejkernel/chain/ejkernel_chain.h"
#include "pipeline/pipeline_support.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

const Tensor kIds = test::i32({2, 8}, {1, 1, 1, 2, 2, 2, 2, -1, 3, 3, 4, 4, 4, 4, 5, 5});

BindContext context() {
  BindContext out;
  out.read_array = [](const std::string& name) {
    if (name == "types") {
      return test::i32({2, 8}, {1, 1, 2, 2, 0, 0, 3, 3, 1, 1, 1, 1, 2, 2, 2, 0});
    }
    return test::i32({5, 7});
  };
  return out;
}

Why asked(const std::string& text, const Cell& cell) {
  const std::vector<std::string> texts = {text};
  return why_ejkernel(MaskInfo::from_segments(kIds), texts, context(), cell);
}

/// Asks `why` about every cell. Checks whether it is open, whether the cell of the first mask that
/// it comes from was open, and that each step begins where the step before it ended.
void check_all(const std::string& text) {
  INFO(text);
  const std::vector<std::string> texts = {text};
  MaskInfo info = apply_ejkernel(MaskInfo::from_segments(kIds), texts, context());
  const Mask mask = info.attention_mask().mask();
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index q = 0; q < mask.queries(); ++q) {
      for (Index k = 0; k < mask.keys(); ++k) {
        const Why found = asked(text, {b, 0, q, k});
        const auto ids = kIds.as<std::int32_t>();
        const auto id = [&](Index i) { return ids[static_cast<std::size_t>(b * 8 + i)]; };
        const Cell& at = found.source;
        REQUIRE(found.open == is_open(mask, {b, 0, q, k}));
        REQUIRE(found.source_open == (id(at.query) == id(at.key) && id(at.query) >= 0));
        for (std::size_t i = 1; i < found.steps.size(); ++i) {
          REQUIRE(found.steps[i].before == found.steps[i - 1].after);
          REQUIRE(found.steps[i].from == found.steps[i - 1].to);
        }
        const bool opens = text.find("tokens") != std::string::npos;
        if (!opens && found.open) REQUIRE(found.source_open);
      }
    }
  }
}

TEST_CASE("why gives the states of ejkernel's masks, also through methods that slice") {
  check_all("causal");
  check_all("causal | window:both=2");
  check_all("causal | window:both=2,mode=prefill");
  check_all("window:left=2,right=1,mode=decode,index=6");
  check_all("causal | window:both=2,mode=decode,index=lens");
  check_all("causal | kv-lengths:lens,q_len=2");
  check_all("causal | kv-lengths:lens,q_len=2,window=3");
  check_all("causal | kv-lengths:lens,q_len=3,window=4,end=8");
  check_all("chunk:size=3,offset=1 | tokens:types");
}

TEST_CASE("why maps cells of a slice to the positions before the slice") {
  const Why decode = asked("window:both=2,mode=decode,index=lens", {1, 0, 0, 0});
  // The query has index 7. Its slice of 5 keys begins at key 3, the last start at which 5 of 8 keys
  // fit.
  CHECK(decode.source == Cell{1, 0, 7, 3});
  const Why lengths = asked("kv-lengths:lens,q_len=2,window=3", {0, 0, 1, 2});
  CHECK(lengths.source == Cell{0, 0, 4, 4});
  const Why prefill = asked("window:both=2,mode=prefill", {0, 0, 3, 1});
  CHECK(prefill.source == Cell{0, 0, 3, 7});
}

TEST_CASE("why explains that ejkernel's chunk number ignores the offset") {
  const Why found = asked("chunk:size=3,offset=1", {1, 0, 2, 3});
  CHECK(!found.open);
  CHECK(found.steps[0].reason.find("query 2 is in chunk 0, key 3 in chunk 1") == 0);
}

}  // namespace
}  // namespace maskctl
